"""Secrets, repositories, datasets, images that may run, and what workloads may do with them."""

import re

import pytest
from blueprint_factory import dev, only, platform, stack

from groundplan.facts.roles import JOB_USER
from groundplan.facts.schema import type_names
from groundplan.modules.identity import grantable

CLUSTER = "google_container_cluster"
THINGS = {
    "storage": {"bigquery": {"feature-store": {}, "old": {"existing": "acme-data.clicks"}}},
    "secrets": {"hf-token": {}, "shared": {"existing": "projects/acme-common/secrets/wandb"}},
    "registry": {
        "images": {},
        "wheels": {"format": "python"},
        "base": {"existing": "projects/acme-images/locations/us/repositories/base"},
    },
    "workloads": {
        "trainer": {
            "namespace": "training",
            "reads": ["secrets/hf-token", "secrets/shared", "bigquery/old", "registry/wheels"],
            "writes": ["buckets/checkpoints", "bigquery/feature-store", "registry/images"],
            "roles": ["roles/monitoring.viewer"],
        }
    },
}


@pytest.fixture(scope="module")
def graph():
    return dev(**THINGS)


def granted(graph, type, name="trainer"):
    return {
        r.name: (r.attributes["role"].removeprefix("roles/"), {
            key: value for key, value in r.attributes.items() if isinstance(value, str) and key != "role"
        })
        for r in graph.of_type(type)
        if r.name.startswith((name, f"workload_{name}"))
    }  # fmt: skip


def test_a_secret_is_a_container_and_nothing_of_its_value_is_anywhere(graph):
    secret = only(graph, "google_secret_manager_secret")
    assert secret.attributes["secret_id"] == "hf-token"
    assert secret.attributes["replication"] == {"user_managed": {"replicas": {"location": "us-central1"}}}
    payload = re.compile(r"secret_version|regional_secret_version|secret_data")
    used = {r.type for made in (graph, stack(platform(**THINGS), "foundation").graph) for r in made}
    assert any(payload.search(name) for name in type_names("google")), "there are types that would hold one"
    assert not [name for name in used if payload.search(name)]
    assert not [r for r in graph if any(payload.search(key) for key in r.attributes)]


def test_workloads_are_granted_on_the_single_thing(graph):
    secrets = granted(graph, "google_secret_manager_secret_iam_member")
    assert secrets["trainer_hf-token"][0] == "secretmanager.secretAccessor"
    assert secrets["trainer_shared"][1] == {"project": "acme-common", "secret_id": "wandb"}
    datasets = granted(graph, "google_bigquery_dataset_iam_member")
    assert datasets["trainer_feature-store"][0] == "bigquery.dataEditor"
    assert datasets["trainer_old"] == (
        "bigquery.dataViewer", {"project": "acme-data", "dataset_id": "clicks"},
    )  # fmt: skip
    images = granted(graph, "google_artifact_registry_repository_iam_member")
    assert {name: role for name, (role, _) in images.items()} == {
        "trainer_wheels": "artifactregistry.reader",
        "trainer_images": "artifactregistry.writer",
    }
    for r in graph.of_type("google_secret_manager_secret_iam_member", "google_bigquery_dataset_iam_member"):
        assert set(graph.of_type(CLUSTER)) <= graph.ancestors(r), (
            "the pool of identities is made by a cluster"
        )


def test_who_queries_may_run_jobs_and_roles_of_a_workload_are_on_the_project(graph):
    project = granted(graph, "google_project_iam_member")
    assert {role for role, _ in project.values()} == {"bigquery.jobUser", "monitoring.viewer"}
    assert not granted(graph, "google_project_iam_member", "server")


def test_writing_a_secret_adds_versions_and_reads_them():
    made = dev(secrets={"out": {}}, workloads={"trainer": {"writes": ["secrets/out"]}})
    roles = {role for role, _ in granted(made, "google_secret_manager_secret_iam_member").values()}
    assert roles == {"secretmanager.secretAccessor", "secretmanager.secretVersionAdder"}


def test_the_pipeline_may_grant_what_workloads_ask_for_and_nothing_else():
    made = platform({"ml-dev": THINGS, "ml-prod": {}})
    for name, more in {"ml-dev": {JOB_USER, "roles/monitoring.viewer"}, "ml-prod": set()}.items():
        condition = next(
            r.attributes["condition"]["expression"]
            for r in stack(made, "foundation").graph.of_type("google_project_iam_member")
            if r.name == f"{name}_apply_resourcemanager-projectIamAdmin"
        )
        allowed = set(re.findall(r"'(roles/[^']+)'", condition))
        assert allowed == set(grantable(made.environments[name]))
        assert more <= allowed
        assert name == "ml-dev" or "roles/monitoring.viewer" not in allowed
        granted_here = {
            r.attributes["role"] for r in stack(made, name).graph.of_type("google_project_iam_member")
        }
        assert granted_here <= allowed


def test_u27_a_mounted_bucket_gets_a_role_made_for_it():
    profile = {"profile": "training"}
    made = dev(
        workloads={
            "trainer": {"mounts": {"buckets/datasets": profile, "buckets/checkpoints": profile}},
            "server": {"mounts": {}},
        }
    )
    custom = {r.name: r.attributes for r in made.of_type("google_project_iam_custom_role")}
    assert set(custom) == {"mounted-read", "mounted-write"}
    reading, writing = (set(custom[name]["permissions"]) for name in ("mounted-read", "mounted-write"))
    assert reading < writing
    assert "storage.buckets.get" in reading
    assert not any(verb in p for p in reading for verb in ("create", "delete", "update", "setIamPolicy"))
    grants = {r.name: r.attributes["role"] for r in made.of_type("google_storage_bucket_iam_member")}
    assert grants["trainer_datasets"] == made["google_project_iam_custom_role.mounted-read"]["name"]
    assert grants["trainer_checkpoints"] == made["google_project_iam_custom_role.mounted-write"]["name"]
    assert grants["server_checkpoints"] == "roles/storage.objectViewer"


def test_nodes_pull_images_from_each_repository_of_images_and_nothing_else(graph):
    repository = graph["google_artifact_registry_repository.images"]
    assert repository.attributes["format"] == "DOCKER"
    nodes = granted(graph, "google_artifact_registry_repository_iam_member", "main_nodes")
    assert set(nodes) == {"main_nodes_images", "main_nodes_base"}
    assert nodes["main_nodes_base"][1] == {
        "project": "acme-images", "location": "us", "repository": "base",
    }  # fmt: skip
    assert {role for role, _ in nodes.values()} == {"artifactregistry.reader"}


def test_datasets_have_no_hyphens_and_keep_what_is_in_them_where_protected():
    for made, protected in ((dev(**THINGS), False), (stack(platform(**THINGS), "ml-prod").graph, True)):
        dataset = only(made, "google_bigquery_dataset")
        assert dataset.attributes["dataset_id"] == "feature_store"
        assert dataset.attributes["delete_contents_on_destroy"] is not protected
        assert dataset.lifecycle.prevent_destroy is protected


def test_each_api_is_enabled_before_what_needs_it(graph):
    for r in graph.of_type(
        "google_secret_manager_secret", "google_artifact_registry_repository", "google_bigquery_dataset"
    ):
        apis = {one.attributes.get("service") for one in graph.ancestors(r)}
        assert r.schema.service in apis


def test_images_may_come_from_anywhere_until_somebody_says_where_from():
    policy = only(dev(), "google_binary_authorization_policy").attributes
    assert policy["default_admission_rule"]["evaluation_mode"] == "ALWAYS_ALLOW"
    assert policy["global_policy_evaluation_mode"] == "ENABLE"
    cluster = only(dev(), CLUSTER).attributes
    assert cluster["binary_authorization"] == {"evaluation_mode": "PROJECT_SINGLETON_POLICY_ENFORCE"}


@pytest.mark.parametrize(
    ("env", "mode"),
    [("ml-dev", "DRYRUN_AUDIT_LOG_ONLY"), ("ml-prod", "ENFORCED_BLOCK_AND_AUDIT_LOG")],
)
def test_with_a_registry_other_images_are_logged_and_in_production_blocked(env, mode):
    made = platform(registry={"images": {}})
    made = made.model_copy(
        update={"external": made.external.model_copy(update={"projects": ("acme-images",)})}
    )
    policy = only(stack(made, env).graph, "google_binary_authorization_policy").attributes
    assert policy["default_admission_rule"] == {"evaluation_mode": "ALWAYS_DENY", "enforcement_mode": mode}
    assert [p["name_pattern"] for p in policy["admission_whitelist_patterns"]] == sorted(
        [
            f"us-central1-docker.pkg.dev/llm-{env}/images/**",
            "us-central1-docker.pkg.dev/acme-images/**",
            "us-docker.pkg.dev/acme-images/**",
        ]
    )
