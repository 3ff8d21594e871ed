"""Keys of an environment's own: for everything, in its place, granted before use, never destroyed."""

import pytest
from blueprint_factory import L4, SYSTEM, blueprint, dev, lock, platform, stack

from groundplan.engines.terraform.writer import document
from groundplan.stacks.catalog import stacks

GRANT = "google_kms_crypto_key_iam_member"
KEY = "google_kms_crypto_key"
CMEK = {
    "encryption": {"mode": "cmek"},
    "storage": {"bigquery": {"features": {"location": "EU"}}},
    "secrets": {"hf-token": {}},
    "registry": {"images": {"location": "us"}},
}
#: type → attribute path that names the key.
ENCRYPTED = {
    "google_artifact_registry_repository": ("kms_key_name",),
    "google_bigquery_dataset": ("default_encryption_configuration", "kms_key_name"),
    "google_container_cluster": ("database_encryption", "key_name"),
    "google_container_node_pool": ("node_config", "boot_disk_kms_key"),
    "google_pubsub_topic": ("kms_key_name",),
    "google_secret_manager_secret": (
        "replication", "user_managed", "replicas", "customer_managed_encryption", "kms_key_name",
    ),
    "google_storage_bucket": ("encryption", "default_kms_key_name"),
}  # fmt: skip


@pytest.fixture(scope="module")
def graph():
    return dev(**CMEK)


def key_of(resource):
    value = resource.attributes
    for step in ENCRYPTED[resource.type]:
        value = value[step]
    return value


@pytest.mark.parametrize("type", ENCRYPTED)
def test_u28_agent_then_grant_then_resource(graph, type):
    found = graph.of_type(type)
    assert found
    for resource in found:
        key = key_of(resource).resource
        grants = [one for one in graph.of_type(GRANT) if one.attributes["crypto_key_id"].resource is key]
        assert len(grants) == 1
        assert grants[0] in graph.ancestors(resource), "encrypting before the grant fails"
        assert grants[0].attributes["role"] == "roles/cloudkms.cryptoKeyEncrypterDecrypter"


def test_each_service_encrypts_as_its_own_agent(graph):
    agents = {}
    for grant in graph.of_type(GRANT):
        member = grant.attributes["member"]
        source = getattr(member, "resource", None)
        agents[grant.name] = source.address if source else member.parts[-1]
    assert agents == {
        "europe_bigquery": "data.google_bigquery_default_service_account.bigquery",
        "us-central1_buckets": "data.google_storage_project_service_account.storage",
        "us-central1_clusters": "google_project_service_identity.clusters",
        "us-central1_disks": "@compute-system.iam.gserviceaccount.com",
        "us-central1_secrets": "google_project_service_identity.secrets",
        "us-central1_topics": "google_project_service_identity.topics",
        "us_registry": "google_project_service_identity.registry",
    }
    assert all(r.provider == "google-beta" for r in graph.of_type("google_project_service_identity"))


def test_keys_are_where_the_data_are_and_rotate(graph):
    for key in graph.of_type(KEY):
        location, use = key.name.split("_")
        assert key.attributes["key_ring"].resource.attributes["location"] == location
        assert key.attributes["name"] == use
        assert int(key.attributes["rotation_period"].rstrip("s")) <= 90 * 86400
    rings = {r.attributes["location"]: r.attributes["name"] for r in graph.of_type("google_kms_key_ring")}
    assert rings == {"europe": "llm-europe", "us": "llm-us", "us-central1": "llm-us-central1"}


def test_keys_are_never_destroyed():
    for env, protected in (("ml-dev", False), ("ml-prod", True)):
        graph = stack(platform(**CMEK), env).graph
        for key in graph.of_type(KEY):
            assert key.attributes["deletion_policy"] == "ABANDON"
            assert key.lifecycle.prevent_destroy is protected
        assert {r.lifecycle.prevent_destroy for r in graph.of_type("google_kms_key_ring")} == {protected}


def test_environments_share_no_key():
    made = platform(**CMEK)
    for env in made.environments:
        graph = stack(made, env).graph
        for type in ENCRYPTED:
            for resource in graph.of_type(type):
                assert key_of(resource).resource in list(graph)
        assert graph.project == f"llm-{env}"


def test_without_cmek_there_is_no_key_and_no_agent():
    graph = dev(secrets={"a": {}}, registry={"b": {}})
    assert not graph.of_type(KEY, GRANT, "google_kms_key_ring", "google_project_service_identity")
    services = {r.attributes["service"] for r in graph.of_type("google_project_service")}
    assert "cloudkms.googleapis.com" not in services


def test_existing_keys_are_used_and_granted_only_where_they_are_the_environments_own():
    def path(project):
        return f"projects/{project}/locations/us-central1/keyRings/r/cryptoKeys/k"

    foreign = dev(encryption={"mode": "cmek", "keys": {"us-central1": path("acme-keys")}})
    assert not foreign.of_type(KEY, GRANT)
    assert key_of(foreign["google_storage_bucket.datasets"]) == path("acme-keys")
    own = dev(encryption={"mode": "cmek", "keys": {"us-central1": path("llm-ml-dev")}})
    assert not own.of_type(KEY)
    assert {r.attributes["crypto_key_id"] for r in own.of_type(GRANT)} == {path("llm-ml-dev")}


def test_a_second_cluster_elsewhere_adds_keys_and_changes_none():
    def graph(clusters):
        made = blueprint({"ml-dev": {"clusters": clusters, "encryption": {"mode": "cmek"}}})
        return stacks(made, lock(made), ["ml-dev"])[0]

    main = {"main": {"node_pools": {"system": SYSTEM, "l4": L4}}}
    few = document(graph(main))["resource"][KEY]
    many = document(graph({"far": {"region": "us-east1", "node_pools": {"system": SYSTEM}}, **main}))
    assert few.items() <= many["resource"][KEY].items()
    assert set(many["resource"][KEY]) - set(few) == {
        "us-east1_clusters", "us-east1_disks", "us-east1_topics",
    }  # fmt: skip
