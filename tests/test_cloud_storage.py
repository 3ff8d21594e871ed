"""The double of Cloud Storage keeps its promises; that Terraform can live with it, other tests show."""

import http.client
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.buckets import Buckets, Refusal
from tests.support.cloud_storage import CloudStorage, Fault


@pytest.fixture
def storage():
    with CloudStorage("state") as storage:
        yield storage


def call(storage, method, path, body=None, **headers):
    """Status, headers and content of one call; ``path`` is below the server's root."""
    host, slash, _ = storage.url.removeprefix("http://").partition("/")
    headers = {"Authorization": "Bearer x", **{k.replace("_", "-"): v for k, v in headers.items()}}
    request = urllib.request.Request(f"http://{host}{slash}{path}", body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers, refused.read()


def test_only_one_of_many_writers_that_want_no_object_succeeds():
    buckets = Buckets("state")

    def write(number):
        try:
            return buckets.insert("state", "lock", str(number).encode(), {"ifGenerationMatch": "0"})
        except Refusal as refusal:
            return refusal.status

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(write, range(50)))
    (winner,) = [result for result in results if not isinstance(result, int)]
    assert results.count(412) == 49
    assert buckets.get("state", "lock") is winner


def test_generations_grow_and_guard_writes_and_deletions():
    buckets = Buckets("state")
    first = buckets.insert("state", "a", b"1")
    second = buckets.insert("state", "a", b"2", {"ifGenerationMatch": str(first.generation)})
    assert second.generation > first.generation
    stale = {"ifGenerationMatch": str(first.generation)}
    for write in (
        lambda: buckets.insert("state", "a", b"3", stale),
        lambda: buckets.insert("state", "new", b"3", {"ifGenerationNotMatch": "0"}),
        lambda: buckets.delete("state", "a", stale),
    ):
        with pytest.raises(Refusal, match="pre-conditions"):
            write()
    assert buckets.get("state", "a").content == b"2"
    assert buckets.get("state", "a", {"generation": str(first.generation)}).content == b"1"


def test_versions_stay_only_in_a_versioned_bucket():
    for versioning, kept in ((True, [b"1", b"2"]), (False, [])):
        buckets = Buckets("state", versioning=versioning)
        buckets.insert("state", "a", b"1")
        buckets.insert("state", "a", b"2")
        buckets.delete("state", "a")
        assert buckets.list("state") == ([], [])
        assert [item.content for item in buckets.list("state", versions=True)[0]] == kept
        with pytest.raises(Refusal, match="No such object"):
            buckets.delete("state", "a")


def test_lists_cut_names_at_the_delimiter():
    buckets = Buckets("state")
    for name in ("dev/default.tfstate", "dev/sub/x", "dev/sub/y", "prod/default.tfstate"):
        buckets.insert("state", name, b"")
    items, prefixes = buckets.list("state", prefix="dev/", delimiter="/")
    assert ([item.name for item in items], prefixes) == (["dev/default.tfstate"], ["dev/sub/"])


def test_resumable_upload_in_parts(storage):
    """Terraform's client does this with states of more than 16 MB."""
    query = "uploadType=resumable&name=dev/default.tfstate&ifGenerationMatch=0"
    settings = json.dumps({"contentType": "application/json"}).encode()
    _, headers, _ = call(storage, "POST", f"upload/storage/v1/b/state/o?{query}", settings)
    part = headers["Location"].partition("/upload")[2]
    more = {"Content_Range": "bytes 0-3/*", "X_GUploader_No_308": "yes"}
    status, headers, _ = call(storage, "POST", f"upload{part}", b"0123", **more)
    assert (status, headers["X-Http-Status-Code-Override"], headers["Range"]) == (200, "308", "bytes=0-3")
    status, _, _ = call(storage, "PUT", f"upload{part}", b"", Content_Range="bytes */10")
    assert status == 308
    status, _, body = call(storage, "PUT", f"upload{part}", b"456789", Content_Range="bytes 4-9/10")
    assert (status, json.loads(body)["size"]) == (200, "10")
    stored = json.loads(call(storage, "GET", "storage/v1/b/state/o/dev%2Fdefault.tfstate")[2])
    assert stored["contentType"] == "application/json"
    assert call(storage, "GET", "storage/v1/b/state/o/dev%2Fdefault.tfstate?alt=media")[2] == b"0123456789"
    assert call(storage, "GET", "state/dev/default.tfstate")[1]["X-Goog-Generation"] == stored["generation"]


def test_refusals_look_like_those_of_google(storage):
    status, _, body = call(storage, "GET", "storage/v1/b/other/o")
    assert (status, json.loads(body)["error"]["errors"][0]["reason"]) == (404, "notFound")
    assert call(storage, "GET", "storage/v1/b/state/o", Authorization="")[0] == 401


def test_faults_strike_in_their_turn(storage):
    storage.buckets.insert("state", "a", b"")
    storage.faults = [Fault("GET", "a", status=503, after=1, times=2), Fault("DELETE", drop="after")]
    path = "storage/v1/b/state/o/a"
    assert [call(storage, "GET", path)[0] for _ in range(4)] == [200, 503, 503, 200]
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        call(storage, "DELETE", path)
    assert call(storage, "GET", path)[0] == 404, "it was done, only the answer was lost"
