"""A Cloud Storage on the loopback: the part of its API that Terraform's ``backend "gcs"`` uses.

::

    with CloudStorage("state") as storage:
        subprocess.run(["terraform", "init"], env={**os.environ, **storage.environment})
        storage.buckets.get("state", "ml-dev/default.tfstate").content

Served are the JSON API (objects: get, list, insert by multipart and resumable upload, delete, media) and the
plain ``GET /BUCKET/OBJECT`` that Google's Go client reads with. Faults make it fail, hang up or be slow.
"""

from __future__ import annotations

import email
import email.policy
import http.server
import itertools
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.buckets import Buckets, Refusal

API, UPLOAD = "/storage/v1/b/", "/upload/storage/v1/b/"


@dataclass(frozen=True)
class Call:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def bucket(self) -> str:
        """The bucket that it is about."""
        return self._target[0]

    @property
    def object(self) -> str:
        """The name of the object that it is about; empty for a list."""
        return self.query.get("name") or unquote(self._target[1])

    @property
    def plain(self) -> bool:
        """Is it outside of the JSON API?"""
        return not self.path.startswith((API, UPLOAD))

    @property
    def _target(self) -> tuple[str, str]:
        path = self.path.removeprefix("/upload").removeprefix(API.rstrip("/")).lstrip("/")
        bucket, _, name = path.partition("/")
        return bucket, name if self.plain else name.removeprefix("o").removeprefix("/")


class Answer(NamedTuple):
    """What goes back."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


@dataclass
class Fault:
    """A made-up failure: strikes ``times`` of the calls that match, after ``after`` of them have passed."""

    method: str = ""
    object: str = ""  #: a part of the object's name
    status: int = 0
    drop: Literal["before", "after", ""] = ""  #: hang up before, or after, the call takes effect
    delay_seconds: float = 0
    until: threading.Event | None = None  #: wait for it, a minute at most
    after: int = 0
    times: int = 1

    def matches(self, call: Call) -> bool:
        """Does it concern this call?"""
        return call.method.startswith(self.method) and self.object in call.object


@dataclass
class Upload:
    """A resumable upload that is on its way."""

    call: Call  #: the call that began it
    settings: Mapping[str, Any]
    content: bytearray = field(default_factory=bytearray)


class CloudStorage:
    """The server and what is in it, for as long as the ``with`` block lasts.

    Args:
        names: the buckets that exist.
        versioning: do they keep noncurrent generations?
    """

    def __init__(self, *names: str, versioning: bool = True) -> None:
        self.buckets = Buckets(*names, versioning=versioning)
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._uploads: dict[str, Upload] = {}
        self._upload_ids = itertools.count(1)
        handler = type("Handler", (_Handler,), {"storage": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> CloudStorage:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What ``storage_custom_endpoint`` wants."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/storage/v1/"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that lead the backend here, with a token that opens nothing else."""
        return {"GOOGLE_STORAGE_CUSTOM_ENDPOINT": self.url, "GOOGLE_OAUTH_ACCESS_TOKEN": "loopback"}

    def strike(self, call: Call) -> Fault:
        """Remember the call, and give the fault that it meets."""
        with self._lock:
            self.calls.append(call)
            for fault in self.faults:
                if fault.matches(call) and fault.times:
                    if not fault.after:
                        fault.times -= 1
                        return fault
                    fault.after -= 1
        return Fault()

    def answer(self, call: Call) -> Answer:
        """Do what the call asks for."""
        try:
            if not call.headers.get("Authorization"):
                raise Refusal(401, "required", "Anonymous caller does not have storage.objects access.")
            match call.method:
                case "GET":
                    return self._list(call) if not call.object else self._get(call)
                case "DELETE":
                    self.buckets.delete(call.bucket, call.object, call.query)
                    return Answer(204)
                case "POST" | "PUT" if "upload_id" in call.query:
                    return self._continue_upload(call)
                case "POST" if call.query.get("uploadType") == "resumable":
                    return self._begin_upload(call)
                case _:
                    return self._insert(call, *_parts(call))
        except Refusal as refusal:
            return _refused(refusal)

    def _list(self, call: Call) -> Answer:
        items, prefixes = self.buckets.list(
            call.bucket,
            prefix=call.query.get("prefix", ""),
            delimiter=call.query.get("delimiter", ""),
            versions=call.query.get("versions") == "true",
        )
        listing = {"kind": "storage#objects", "items": [o.resource() for o in items], "prefixes": prefixes}
        return _json(listing)

    def _get(self, call: Call) -> Answer:
        found = self.buckets.get(call.bucket, call.object, call.query)
        if not call.plain and call.query.get("alt") != "media":
            return _json(found.resource())
        headers = {
            "Content-Type": "application/octet-stream",
            "X-Goog-Generation": str(found.generation),
            "X-Goog-Metageneration": "1",
            "X-Goog-Hash": f"md5={found.md5}",
            "X-Goog-Stored-Content-Length": str(len(found.content)),
        }
        return Answer(200, found.content, headers)

    def _insert(self, call: Call, settings: Mapping[str, Any], content: bytes) -> Answer:
        name = call.object or settings["name"]
        return _json(self.buckets.insert(call.bucket, name, content, call.query, settings).resource())

    def _begin_upload(self, call: Call) -> Answer:
        upload_id = str(next(self._upload_ids))
        self._uploads[upload_id] = Upload(call, json.loads(call.body or b"{}"))
        host = self.url.removesuffix(API.removesuffix("b/"))
        return Answer(200, headers={"Location": f"{host}{call.path}?upload_id={upload_id}"})

    def _continue_upload(self, call: Call) -> Answer:
        """One part; ``bytes */TOTAL`` only asks how far it came, ``bytes 0-9/*`` says that more follows."""
        upload = self._uploads[call.query["upload_id"]]
        form = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", call.headers["Content-Range"])
        assert form, call.headers["Content-Range"]
        if form[1]:
            upload.content[int(form[1]) :] = call.body
        if form[2] != "*" and len(upload.content) >= int(form[2]):
            return self._insert(upload.call, upload.settings, bytes(upload.content))
        here = {"Range": f"bytes=0-{len(upload.content) - 1}"} if upload.content else {}
        if call.headers.get("X-GUploader-No-308"):
            return Answer(200, headers={"X-Http-Status-Code-Override": "308", **here})
        return Answer(308, headers=here)


class _Server(http.server.ThreadingHTTPServer):
    """A server that does not mind a client that ends in the middle of a connection."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Engines that fail do not hang up properly."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for the client's acknowledgement
    storage: CloudStorage

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the calls are remembered."""

    def serve(self) -> None:
        """Answer one call, or not."""
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        call = Call(self.command, url.path, query, self.headers, self._body())
        fault = self.storage.strike(call)
        time.sleep(fault.delay_seconds)
        if fault.until is not None:
            fault.until.wait(60)
        if fault.drop == "before":
            self._hang_up()
            return
        answer = _refused(Refusal(fault.status, "madeUp", "A made-up failure.")) if fault.status else None
        answer = answer or self.storage.answer(call)
        if fault.drop == "after":
            self._hang_up()
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = serve  # noqa: N815 - the server's names

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(content)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _json(document: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode(), {"Content-Type": "application/json; charset=UTF-8"})


def _refused(refusal: Refusal) -> Answer:
    error = {"message": refusal.message, "domain": "global", "reason": refusal.reason}
    return _json(
        {"error": {"code": refusal.status, "message": refusal.message, "errors": [error]}}, refusal.status
    )


def _parts(call: Call) -> tuple[Mapping[str, Any], bytes]:
    """The two parts of a multipart upload: the object's settings, and its content."""
    head = f"Content-Type: {call.headers['Content-Type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + call.body, policy=email.policy.HTTP)
    settings, content = (part.get_payload(decode=True) for part in message.get_payload())
    return json.loads(settings), content
