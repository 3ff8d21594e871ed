import re
import time

import pytest
from blueprint_factory import L4, SYSTEM, blueprint, dev, lock, only, platform, stack

from groundplan.engines.terraform.writer import document, dumps
from groundplan.errors import InternalError, UsageError
from groundplan.facts.roles import roles
from groundplan.modules.graph import GcsState, Graph, LocalState, Reference
from groundplan.modules.services import add_services
from groundplan.stacks.catalog import owns, stack_names, stacks
from groundplan.stacks.descriptions import descriptions

SERVICE = "google_project_service"
MEMBERS = (
    "google_project_iam_member",
    "google_storage_bucket_iam_member",
    "google_storage_managed_folder_iam_member",
)

#: Served by what enables everything else, or made before there is anything that could be enabled.
FIRST = {"google_project.foundation", f"{SERVICE}.foundation_serviceusage", f"{SERVICE}.serviceusage"}


def everything(**changes):
    made = platform(**changes)
    return stacks(made, lock(made))


def addresses(graph):
    return {resource.address for resource in graph}


def projects(resource):
    """The project of a foundation's resource, as the name of the google_project that made it."""
    project = resource.attributes.get("project")
    return project.resource.name if isinstance(project, Reference) else None


# Order


@pytest.mark.parametrize("name", ["foundation", "ml-dev", "ml-prod"])
def test_u04_every_resource_comes_after_the_api_that_serves_it(name):
    graph = stack(platform(network={"nat": True}), name).graph
    for resource in graph.of_type(*{r.type for r in graph}):
        api = resource.schema.service
        assert api, resource.address
        if resource.address in FIRST or resource.address.endswith("_serviceusage"):
            continue
        before = graph.ancestors(resource)
        enabled = [s for s in before if s.type == SERVICE and s.attributes["service"] == api]
        assert enabled, f"{resource.address} does not wait for {api}"
        if name == "foundation" and resource.type != SERVICE and projects(resource):
            assert projects(resource) in {projects(service) for service in enabled}


@pytest.mark.parametrize("name", ["foundation", "ml-dev"])
def test_u04_service_usage_and_resource_manager_come_first(name):
    graph = stack(platform(), name).graph
    for service in graph.of_type(SERVICE):
        first = {
            s.attributes["service"]
            for s in graph.ancestors(service)
            if s.type == SERVICE and projects(s) == projects(service)
        }
        if service.attributes["service"] == "serviceusage.googleapis.com":
            assert not first
        elif service.attributes["service"] == "cloudresourcemanager.googleapis.com":
            assert first == {"serviceusage.googleapis.com"}
        else:
            assert first == {"serviceusage.googleapis.com", "cloudresourcemanager.googleapis.com"}


def test_u33_apis_are_never_switched_off():
    for made in everything():
        services = made.graph.of_type(SERVICE)
        assert services
        for service in services:
            assert service.attributes["disable_on_destroy"] is False
            assert service.attributes["disable_dependent_services"] is False
        assert len({(projects(s), s.attributes["service"]) for s in services}) == len(services)


def test_apis_follow_from_what_is_used_and_from_the_blueprint():
    def apis(**changes):
        return {
            s.attributes["service"].removesuffix(".googleapis.com") for s in dev(**changes).of_type(SERVICE)
        }

    assert {"compute", "container", "storage", "pubsub", "dns", "iamcredentials"} <= apis()
    assert apis(apis=["aiplatform", "file.googleapis.com"]) == apis() | {"aiplatform", "file"}
    empty = stack(blueprint({"ml-dev": {}})).graph
    assert {s.name for s in empty.of_type(SERVICE)} == {"serviceusage", "cloudresourcemanager"}


def test_an_api_that_nothing_enables_is_a_mistake_of_ours():
    services = add_services(Graph(), [])
    with pytest.raises(InternalError, match=r"nothing enables compute\.googleapis\.com"):
        services.needs("compute")


# Identity over time


def test_u44_inserting_a_pool_changes_no_other_address():
    before = dev(clusters={"main": {"node_pools": {"last": L4}}})
    pools = {"first": L4, "system": SYSTEM, "middle": SYSTEM, "l4": L4, "last": L4}
    spec = {"clusters": {"main": {"zones": ["a", "b"], "node_pools": pools}}}
    after = stack(blueprint({"ml-dev": spec})).graph
    pool = "google_container_node_pool"
    assert {r.address for r in after.of_type(pool)} - addresses(before) == {
        f"{pool}.main_first",
        f"{pool}.main_middle",
    }
    assert {r.address for r in before.of_type(pool)} <= addresses(after)
    for name in ("main_system", "main_l4", "main_last"):
        assert after[f"{pool}.{name}"].attributes["name"] == before[f"{pool}.{name}"].attributes["name"]


def test_u44_order_in_the_file_changes_nothing_at_all():
    def reversed_maps(value):
        if isinstance(value, dict):
            return {key: reversed_maps(value[key]) for key in reversed(value)}
        return value

    spec = {
        "clusters": {"main": {"zones": ["b", "a"], "node_pools": {"system": SYSTEM, "l4": L4, "x": SYSTEM}}},
        "storage": {"buckets": {"a": {}, "b": {"hierarchical": True}}},
        "workloads": {"w": {"reads": ["buckets/a"], "writes": ["buckets/b"]}, "v": {"reads": ["buckets/b"]}},
    }
    there, back = (
        blueprint(order({"ml-dev": spec, "ml-prod": spec}), foundation={"project": "llm-seed"})
        for order in (lambda same: same, reversed_maps)
    )
    ranges = lock(there)
    for name in ("foundation", "ml-dev", "ml-prod"):
        assert dumps(stacks(there, ranges, [name])[0]) == dumps(stacks(back, ranges, [name])[0])


def test_u44_another_environment_changes_no_address_of_the_foundation():
    few = stack(platform({"ml-dev": {}, "ml-prod": {}}), "foundation").graph
    many = stack(platform({"ml-dev": {}, "ml-eval": {"tier": "staging"}, "ml-prod": {}}), "foundation").graph
    assert addresses(few) < addresses(many)
    assert all("ml-eval" in address for address in addresses(many) - addresses(few))


def test_u21_long_names_stay_apart_and_stay_short():
    name = "a-very-long-platform"
    environments = {
        f"environment-{word}": {"tier": "development"} for word in ("development", "staging", "production")
    }
    spec = {"clusters": {"the-training-cluster-of-all": {"node_pools": {"system": SYSTEM}}}}
    made, again = (
        blueprint(
            environments, defaults=spec, name=name, organization="1", foundation={"project": "llm-seed"}
        )
        for _ in range(2)
    )
    graphs = {s.name: s.graph for s in stacks(made, lock(made))}
    ids = [r.attributes["project_id"] for r in graphs["foundation"].of_type("google_project")]
    accounts = [r.attributes["account_id"] for r in graphs["foundation"].of_type("google_service_account")]
    folders = [r.attributes["display_name"] for r in graphs["foundation"].of_type("google_folder")]
    assert (len(ids), len(accounts), len(folders)) == (4, 6, 3)
    for found in (ids, accounts, folders):
        assert len(set(found)) == len(found)
        assert all(re.fullmatch(r"[a-z][-a-z0-9]{4,28}[a-z0-9]", one) for one in found), found
    nodes = only(graphs["environment-staging"], "google_service_account").attributes["account_id"]
    cluster = only(graphs["environment-staging"], "google_container_cluster").attributes["name"]
    assert 6 <= len(nodes) <= 30
    assert len(cluster) <= 40
    assert [dumps(s) for s in stacks(made, lock(made))] == [dumps(s) for s in stacks(again, lock(again))]


# The foundation


def test_the_foundation_makes_a_project_and_a_folder_for_each_environment():
    graph = stack(platform(), "foundation").graph
    for name, protected in {"ml-dev": False, "ml-staging": True, "ml-prod": True}.items():
        project, folder = graph[f"google_project.{name}"], graph[f"google_folder.{name}"]
        assert project.attributes["project_id"] == f"llm-{name}"
        assert project.attributes["folder_id"] == folder["name"]
        assert project.attributes["deletion_policy"] == ("PREVENT" if protected else "DELETE")
        assert project.lifecycle.prevent_destroy is protected
        assert project.attributes["billing_account"] == "01AB23-CD45EF-678901"
        assert project.attributes["labels"] == {
            "environment": name, "managed-by": "groundplan", "platform": "llm", "team": "ml",
        }  # fmt: skip
        assert "tags" not in project.attributes, "an edit would replace the project"
        assert folder.attributes["parent"] == "folders/345678901234"
        assert folder.attributes["deletion_protection"] is protected
        assert project.origin == ("environments", name)


def test_u31_projects_start_without_a_default_network():
    for project in stack(platform(), "foundation").graph.of_type("google_project"):
        assert project.attributes["auto_create_network"] is False


def test_u32_default_accounts_lose_their_role_and_are_not_deleted():
    graph = stack(platform(), "foundation").graph
    found = graph.of_type("google_project_default_service_accounts")
    assert {r.name for r in found} == {"foundation", "ml-dev", "ml-staging", "ml-prod"}
    for accounts in found:
        assert accounts.attributes["action"] == "DEPRIVILEGE"
        compute = [
            s for s in graph.ancestors(accounts) if s.attributes.get("service") == "compute.googleapis.com"
        ]
        assert projects(accounts) in {projects(s) for s in compute}, "there is no account before that"


def test_an_existing_project_is_used_and_left_as_it_is():
    made = platform({"ml-prod": {"project": {"existing": "acme-ml-prod"}}})
    graph = stack(made, "foundation").graph
    assert "google_project.ml-prod" not in graph
    assert "google_folder.ml-prod" not in graph
    assert "google_project_default_service_accounts.ml-prod" not in graph
    found = graph["data.google_project.ml-prod"]
    assert found.attributes == {"project_id": "acme-ml-prod"}
    assert graph.outputs["project_numbers"].value == {"ml-prod": found["number"]}
    assert stack(made, "ml-prod").graph.project == "acme-ml-prod"


def test_states_are_kept_safe():
    graph = stack(platform(), "foundation").graph
    buckets = graph.of_type("google_storage_bucket")
    assert {b.attributes["name"] for b in buckets} == {
        f"llm-seed-state-{name}" for name in ("foundation", "ml-dev", "ml-staging", "ml-prod")
    }
    for bucket in buckets:
        assert bucket.attributes["versioning"] == {"enabled": True}
        assert bucket.attributes["uniform_bucket_level_access"] is True
        assert bucket.attributes["public_access_prevention"] == "enforced"
        assert bucket.attributes["force_destroy"] is False


def test_u05_only_additive_members_grant_roles():
    for made in everything():
        iam = {r.type for r in made.graph if "iam" in r.type and r.mode == "managed"}
        assert iam <= set(MEMBERS)


@pytest.mark.parametrize("shared", [False, True])
def test_identities_reach_one_project_and_one_state(shared):
    made = platform()
    if shared:
        made = made.model_copy(update={"state": made.state.model_copy(update={"bucket": "acme-states"})})
    graph = stack(made, "foundation").graph
    for grant in graph.of_type(*MEMBERS):
        account = grant.attributes["member"].resource
        name, task = account.name.split("_")
        if grant.type == "google_project_iam_member":
            assert projects(grant) == name
            assert grant.attributes["role"] in getattr(roles(), task)
        else:
            place = grant.attributes["managed_folder" if shared else "bucket"].resource
            assert place.name == f"state_{name}"
            assert grant.attributes["role"] == roles().state[task]
    accounts = graph.of_type("google_service_account")
    assert {projects(account) for account in accounts} == {"foundation"}
    assert len(accounts) == 6
    assert len(graph.of_type("google_storage_managed_folder")) == (4 if shared else 0)


def test_no_identity_is_owner_or_editor_or_may_make_itself_so():
    granted = {
        *roles().plan,
        *roles().apply,
        *roles().node,
        *roles().state.values(),
        *(role for kind in roles().things.values() for granted in kind.values() for role in granted),
    }
    assert not granted & {"roles/owner", "roles/editor", "roles/viewer"}
    assert not any("organization" in role or "folder" in role for role in granted)
    graph = stack(platform(), "foundation").graph
    (admin, *others) = [
        r
        for r in graph.of_type("google_project_iam_member")
        if r.attributes["role"] == "roles/resourcemanager.projectIamAdmin"
    ]
    for grant in (admin, *others):
        allowed = re.findall(r"'(roles/[^']+)'", grant.attributes["condition"]["expression"])
        assert set(allowed) >= set(roles().grantable)
        assert len(allowed) <= 10, "hasOnly takes no more"


def test_what_an_environment_grants_on_its_project_its_identity_may_grant():
    for made in everything(network={"nat": True}):
        if made.name != "foundation":
            granted = {r.attributes["role"] for r in made.graph.of_type("google_project_iam_member")}
            assert granted <= set(roles().grantable)


def test_the_foundation_tells_what_others_need():
    outputs = stack(platform(), "foundation").graph.outputs
    assert set(outputs) == {
        "access_policies",
        "federation",
        "folders",
        "identities",
        "project_numbers",
        "state_buckets",
    }
    assert set(outputs["project_numbers"].value) == {"ml-dev", "ml-staging", "ml-prod"}
    assert set(outputs["identities"].value["ml-dev"]) == {"plan", "apply"}
    assert set(outputs["state_buckets"].value) == {"foundation", "ml-dev", "ml-staging", "ml-prod"}


def test_without_an_organization_or_folder_projects_stand_alone():
    made = blueprint({"ml-dev": {}}, foundation={"project": "llm-seed"})
    graph = stack(made, "foundation").graph
    assert not graph.of_type("google_folder")
    for project in graph.of_type("google_project"):
        assert not {"org_id", "folder_id"} & set(project.attributes)
    assert graph.outputs["folders"].value == {}


# Isolation


def test_an_environment_names_nothing_of_another():
    for made in everything():
        if made.name != "foundation":
            others = {"ml-dev", "ml-staging", "ml-prod", "llm-seed"} - {made.name}
            content = document(made)
            text = str({key: content[key] for key in content if key != "terraform"})
            assert not [other for other in others if other in text]


# Stacks


def test_the_foundation_comes_first_and_then_tier_by_tier():
    made = platform({"ml-prod": {}, "eval": {"tier": "development"}, "ml-staging": {}, "ml-dev": {}})
    names = ("foundation", "eval", "ml-dev", "ml-staging", "ml-prod")
    assert stack_names(made) == names
    assert tuple(s.name for s in stacks(made, lock(made))) == names
    chosen = stacks(made, lock(made), ["ml-prod", "foundation"])
    assert [s.name for s in chosen] == ["foundation", "ml-prod"]
    assert stack_names(platform({"ml-dev": {}}, foundation=False)) == ("ml-dev",)


def test_a_stack_that_does_not_exist_is_refused():
    made = platform({"ml-dev": {}}, foundation=False)
    with pytest.raises(UsageError, match="no environment foundation, ml-prd"):
        stacks(made, lock(made), ["ml-prd", "foundation", "ml-dev"])


def test_every_stack_owns_its_project():
    assert owns(platform()) == {
        "llm-seed": "foundation",
        "llm-ml-dev": "ml-dev",
        "llm-ml-staging": "ml-staging",
        "llm-ml-prod": "ml-prod",
    }


def test_u41_no_two_stacks_share_a_state():
    made = platform()
    assert stack(made, "ml-dev").state == GcsState("llm-seed-state-ml-dev", "llm/ml-dev")
    shared = made.model_copy(update={"state": made.state.model_copy(update={"bucket": "acme-states"})})
    local = made.model_copy(update={"state": made.state.model_copy(update={"local": True})})
    for one in (made, shared):
        assert len({s.state for s in stacks(one, lock(one))}) == 4
    assert stack(shared, "ml-dev").state == GcsState("acme-states", "llm/ml-dev")
    assert {s.state for s in stacks(local, lock(local))} == {LocalState()}
    assert not stack(local, "foundation").graph.of_type("google_storage_bucket")
    assert stack(platform({"ml-dev": {}}, foundation=False)).state == LocalState()


def test_versions_come_from_the_blueprint():
    made = blueprint({"ml-dev": {}}, engine={"version": ">= 1.13"}, providers={"google": "~> 8.8"})
    assert stack(made).engine_version == ">= 1.13"
    assert stack(made).providers == {"google": "~> 8.8", "google-beta": "~> 8.8"}


# What is written


def known(block, values, path):
    for key, value in values.items():
        assert key in block.attributes or key in block.blocks, f"{path}.{key}"
        if key in block.blocks:
            for item in value:
                known(block.blocks[key].block, item, f"{path}.{key}")


def test_u43_nothing_is_written_that_the_provider_does_not_know():
    for made in everything(
        network={"nat": True}, clusters={"main": {"node_pools": {"l4": {"host_maintenance": "periodic"}}}}
    ):
        content = document(made)["resource"]
        for resource in made.graph.of_type(*content):
            body = dict(content[resource.type][resource.name])
            for meta in ("provider", "depends_on", "lifecycle"):
                body.pop(meta, None)
            known(resource.schema.block, body, resource.address)


def test_writing_nothing_is_never_an_empty_block_that_the_cloud_fills_in():
    """An empty list for an optional and computed block means unset, hence unknown in every plan."""
    for made in everything():
        for resource in made.graph:
            assert [] not in resource.attributes.values(), resource.address


def test_three_environments_are_built_in_no_time():
    pools = {f"p{number}": L4 for number in range(12)}
    buckets = {f"b{number}": {} for number in range(10)}
    workloads = {f"w{number}": {"reads": [f"buckets/b{number}"]} for number in range(10)}
    made = platform(
        clusters={"main": {"node_pools": pools}}, storage={"buckets": buckets}, workloads=workloads
    )
    ranges = lock(made)
    stacks(made, ranges)
    began = time.process_time()
    built = stacks(made, ranges)
    spent = time.process_time() - began
    assert min(len(s.graph) for s in built) >= 60
    assert spent < 0.15


def test_a_plan_can_say_in_few_words_what_a_resource_is():
    made = platform(
        {
            "ml-dev": {
                "clusters": {
                    "main": {
                        "release_channel": "stable",
                        "min_version": "1.34",
                        "node_pools": {
                            "h100": {"machine": "a3-highgpu-8g", "nodes": 2},
                            "l4": {"nodes": {"min": 1, "max": 4}},
                        },
                    }
                },
                "storage": {
                    "buckets": {"raw": {"location": "EU", "hierarchical": True, "soft_delete": "0s"}}
                },
            }
        },
        foundation=False,
    )
    env = made.environments["ml-dev"]
    assert descriptions(env, stack(made).graph) == {
        "google_container_cluster.main": "us-central1, stable channel, 1.34 or later",
        "google_container_node_pool.main_h100": "2 × a3-highgpu-8g, 16 × H100",
        "google_container_node_pool.main_l4": "1–4 × g2-standard-12, 1–4 × L4, Spot",
        "google_container_node_pool.main_system": "1–3 × e2-standard-4",
        "google_storage_bucket.checkpoints": "soft delete 7d",
        "google_storage_bucket.raw": "EU, hierarchical, no soft delete",
    }
