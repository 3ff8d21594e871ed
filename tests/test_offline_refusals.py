"""What Google Cloud and the provider refuse, the stand-in refuses in the same words."""

import pytest
from offline_factory import NETWORK, TYPES, Root, cluster_root, project_root

from groundplan.engines.terraform.offline.session import Standin
from groundplan.engines.terraform.offline.values import project_number, service_agent

pytestmark = pytest.mark.terraform


@pytest.fixture
def standin(tmp_path):
    with Standin(tmp_path / "cloud", tmp_path / "standin.log", types=TYPES) as standin:
        yield standin
    assert "Traceback" not in (tmp_path / "standin.log").read_text()


@pytest.fixture
def root(tmp_path, standin):
    return Root(tmp_path / "root", standin, tmp_path / "cloud")


def test_project_and_its_api(root):
    root.write(project_root(resources={"google_compute_network": {"vpc": {"name": "vpc"}}}))
    (refusal,) = root.refused()
    number = project_number("ml")
    assert f"Error 403: Compute Engine API has not been used in project {number} before" in refusal.summary
    assert refusal.address == "google_compute_network.vpc"
    assert root.state("google_project.env")["number"] == number

    root.write(project_root("compute", resources={"google_compute_network": {"vpc": {"name": "vpc"}}}))
    assert root.apply().keys() == {"google_compute_network.vpc", "google_project_service.compute"}

    root.apply(destroy=True)
    assert list(root.cloud.glob("google_*/*.json")) == []


def test_a_deleted_project_keeps_its_id_for_thirty_days(tmp_path, monkeypatch):
    cloud = tmp_path / "cloud"

    def on(day, name, action):
        monkeypatch.setenv("GROUNDPLAN_OFFLINE_NOW", f"{day}T12:00:00Z")
        with Standin(cloud, types=TYPES) as standin:
            root = Root(tmp_path / name, standin, cloud)
            root.write(project_root())
            return action(root)

    def make_and_delete(root):
        root.apply()
        root.apply(destroy=True)

    on("2026-01-01", "first", make_and_delete)
    (refusal,) = on("2026-01-30", "early", Root.refused)
    assert "Error 409" in refusal.summary and "until 2026-01-31" in refusal.detail
    assert on("2026-02-01", "late", Root.apply) == {"google_project.env": "create"}


def test_folders_of_one_parent_differ_in_their_names(tmp_path):
    folder = {"parent": "organizations/1", "display_name": "ml"}
    cloud = tmp_path / "cloud"
    with Standin(cloud, types={"google_folder"}) as standin:
        root = Root(tmp_path / "root", standin, cloud)
        root.write({"google_folder": {"a": folder, "b": folder | {"parent": "organizations/2"}}})
        root.apply()
        root.write({"google_folder": {"a": folder, "b": folder | {"parent": "organizations/2"}, "c": folder}})
        (refusal,) = root.refused()
    assert "violates display name uniqueness within the parent" in refusal.summary
    assert refusal.address == "google_folder.c"


def test_a_deleted_project_takes_everything_along(root):
    root.write(project_root("compute", resources=NETWORK))
    root.apply()
    (root.path / "terraform.tfstate").unlink()
    root.write(project_root(), **{"import": [{"to": "google_project.env", "id": "ml"}]})
    root.apply()
    root.apply(destroy=True)
    assert list(root.cloud.glob("google_*/*.json")) == []


def test_protected_project(root):
    root.write(project_root(deletion_policy="PREVENT"))
    root.apply()
    (refusal,) = root.refused(destroy=True)
    assert refusal.summary == "Cannot destroy project as deletion_policy is set to PREVENT."
    root.write(project_root(deletion_policy="ABANDON"))
    root.apply()
    root.apply(destroy=True)
    assert root.object("google_project")[1]["id"] == "projects/ml"


def test_what_exists_cannot_be_created_again(tmp_path, standin):
    grant = {"project": "ml", "role": "roles/viewer", "member": "group:a@example.com"}
    both = {"google_pubsub_topic": {"t": {"name": "t"}}, "google_project_iam_member": {"m": grant}}
    for name in ("one", "two"):
        root = Root(tmp_path / name, standin, tmp_path / "cloud")
        root.write(both)
        if name == "one":
            root.apply()
    (refusal,) = root.refused()
    assert "Error 409: Requested entity 'projects/ml/topics/t' already exists" in refusal.summary
    assert root.terraform.state_list() == ["google_project_iam_member.m"]  # a grant may exist already


def grant(member):
    return {"google_project_iam_member": {"m": {"project": "ml", "role": "roles/viewer", "member": member}}}


def cluster(**body):
    return {"google_container_cluster": {"c": {"name": "c", "location": "us-central1", **body}}}


POOL = {"name": "p", "cluster": "gone", "location": "us-central1"}


LINK = "https://www.googleapis.com/compute/v1/projects/ml/global/networks/gone"


POOLS = "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools"
AGENT = service_agent("pubsub.googleapis.com", project_number("ml"))
SUBNETWORK = {"name": "s", "network": LINK, "ip_cidr_range": "10.0.0.0/24"}


@pytest.mark.parametrize(
    ("resources", "code", "what"),
    [
        (
            grant("serviceAccount:gone@ml.iam.gserviceaccount.com"),
            400,
            "gone@ml.iam.gserviceaccount.com does not",
        ),
        (
            grant("serviceAccount:ml.svc.id.goog[ns/ksa]"),
            400,
            "Identity Pool does not exist (ml.svc.id.goog)",
        ),
        (grant(f"serviceAccount:{AGENT}"), 400, f"{AGENT} does not exist"),
        (grant(f"{POOLS}/ml.svc.id.goog/subject/ns/n/sa/ksa"), 400, "Pool does not exist (ml.svc.id.goog)"),
        (cluster(subnetwork="gone"), 404, "'projects/ml/regions/us-central1/subnetworks/gone' was not found"),
        ({"google_container_node_pool": {"p": POOL}}, 404, "us-central1/clusters/gone' was not found"),
        ({"google_compute_subnetwork": {"s": SUBNETWORK}}, 404, "'projects/ml/global/networks/gone' was not"),
    ],
    ids=[
        "service account",
        "workload pool",
        "service agent",
        "principal",
        "subnetwork",
        "cluster",
        "network",
    ],
)
def test_named_things_must_exist(root, resources, code, what):
    root.write(project_root("container", "compute", resources=resources))
    (found,) = root.refused()
    assert f"Error {code}" in found.summary and what in found.summary


def test_a_network_in_use_cannot_be_deleted(root):
    root.write(cluster_root(protected=False))
    root.apply()
    del_network = cluster_root(protected=False)
    del_network["google_compute_network"] = {}
    del_network["google_compute_subnetwork"]["nodes"]["network"] = "projects/ml/global/networks/ml"
    del_network["google_container_cluster"]["gke"]["network"] = "projects/ml/global/networks/ml"
    root.write(del_network)
    (refusal,) = root.refused()
    assert "already being used by 'projects/ml/regions/us-central1/subnetworks/nodes'" in refusal.summary
