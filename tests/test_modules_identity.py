from blueprint_factory import SYSTEM, dev, platform, stack

from groundplan.modules.graph import Text

GRANT = "google_storage_bucket_iam_member"
CLUSTER = "google_container_cluster"


def grants(graph):
    """(workload, bucket) → role."""
    return {tuple(r.name.split("_")): r.attributes["role"] for r in graph.of_type(GRANT)}


def test_reading_and_writing_give_different_roles_on_single_buckets():
    assert grants(dev()) == {
        ("trainer", "datasets"): "roles/storage.objectViewer",
        ("trainer", "checkpoints"): "roles/storage.objectUser",
        ("server", "checkpoints"): "roles/storage.objectViewer",
    }


def test_who_writes_also_reads_with_one_role():
    both = {"reads": ["buckets/datasets"], "writes": ["buckets/datasets"]}
    assert grants(dev(workloads={"trainer": both}))["trainer", "datasets"] == "roles/storage.objectUser"


def test_principals_are_kubernetes_service_accounts_without_one_of_google():
    graph = stack(platform(foundation=False), "ml-dev", {"ml-dev": "1234567890"}).graph
    member = graph[f"{GRANT}.trainer_checkpoints"].attributes["member"]
    assert member == (
        "principal://iam.googleapis.com/projects/1234567890/locations/global/workloadIdentityPools/"
        "llm-ml-dev.svc.id.goog/subject/ns/training/sa/trainer"
    )
    assert "data.google_project.this" not in graph
    (nodes,) = graph.of_type("google_service_account")
    assert nodes.name == "main_nodes"


def test_the_project_number_is_looked_up_until_the_lock_knows_it():
    graph = dev(workloads={"server": {"service_account": "vllm", "namespace": "serving"}})
    member = graph[f"{GRANT}.server_checkpoints"].attributes["member"]
    assert isinstance(member, Text)
    assert member.parts[1] == graph["data.google_project.this"]["number"]
    assert member.parts[2].endswith("/subject/ns/serving/sa/vllm")


def test_u26_grants_to_workloads_wait_for_the_clusters():
    graph = dev(clusters={"second": {"node_pools": {"system": SYSTEM}}})
    clusters = set(graph.of_type(CLUSTER))
    assert len(clusters) == 2
    for grant in graph.of_type(GRANT):
        assert clusters <= graph.ancestors(grant)


def test_u27_nodes_have_no_role_on_buckets():
    graph = dev()
    account = graph["google_service_account.main_nodes"]
    for grant in graph.of_type(GRANT):
        assert account not in graph.references(grant)
        assert "serviceAccount:" not in str(
            getattr(grant.attributes["member"], "parts", grant.attributes["member"])
        )
    roles = [r.attributes["role"] for r in graph.of_type("google_project_iam_member")]
    assert roles == ["roles/container.defaultNodeServiceAccount"]


def test_every_cluster_has_a_node_account_of_its_own():
    graph = dev(clusters={"second": {"node_pools": {"system": SYSTEM}}})
    accounts = {r.attributes["node_config"]["service_account"].resource for r in graph.of_type(CLUSTER)}
    assert accounts == set(graph.of_type("google_service_account"))
    assert len(accounts) == 2


def test_without_a_cluster_there_is_no_pool_of_identities_to_grant_to():
    made = platform(
        {"ml-dev": {}},
        foundation=False,
        clusters={"main": {"existing": "somebody-elses"}},
    )
    graph = stack(made).graph
    assert not graph.of_type(GRANT, CLUSTER, "google_compute_network")
    assert graph.of_type("google_storage_bucket")


def test_a_renamed_workload_or_bucket_keeps_its_grants():
    graph = stack(
        platform(
            {
                "ml-dev": {
                    "workloads": {"fitter": {"renamed_from": "tuner", "writes": ["buckets/models"]}},
                    "storage": {"buckets": {"models": {"renamed_from": "weights"}}},
                }
            },
            foundation=False,
        )
    ).graph
    assert graph.moves == {
        f"{GRANT}.tuner_weights": f"{GRANT}.fitter_models",
        "google_storage_bucket.weights": "google_storage_bucket.models",
    }
    assert graph["google_storage_bucket.models"].attributes["name"] == "llm-ml-dev-weights"
