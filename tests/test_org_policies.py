"""Organization policies: what presets and overrides become, in which order, and what they cannot go with."""

import json
from dataclasses import replace

import pytest
from blueprint_factory import blueprint, platform, stack
from blueprint_texts import cut, found, one

from groundplan.blueprints.model import OrgPolicies
from groundplan.blueprints.org_policies import effective
from groundplan.facts.org_policies import covers, org_policies, preset
from groundplan.modules.graph import Text

POLICY = "google_org_policy_policy"
CONSTRAINT = "google_org_policy_custom_constraint"
ENV = "ml-dev"


def foundation(environments=None, **changes):
    return stack(platform(environments, **changes), "foundation").graph


def policies(preset="none", **override):
    """The foundation with one environment that has a preset and overrides (dots are written __)."""
    written = {name.replace("__", "."): value for name, value in override.items()}
    return foundation({ENV: {"org_policies": {"preset": preset, "override": written}}})


def rule(graph, constraint, env=ENV):
    (rule,) = graph[f"{POLICY}.{env}_{constraint.replace('.', '-')}"].attributes["spec"]["rules"]
    return rule


def test_starter_is_part_of_hardened_and_every_constraint_is_explained():
    facts = org_policies()
    starter, hardened = preset("starter"), preset("hardened")
    assert preset("none") == {}
    assert starter.items() <= hardened.items()
    assert len(starter) < len(hardened)
    for name, value in hardened.items():
        assert facts.constraints[name].why
        assert isinstance(value, bool) == (facts.constraints[name].kind == "boolean"), name
    assert not set(facts.left_out) & set(hardened)
    assert set(facts.custom) == {name for name in facts.constraints if name.startswith("custom.")}


@pytest.mark.parametrize("name", ["starter", "hardened"])
def test_a_preset_becomes_a_policy_for_each_constraint_on_the_folder(name):
    graph = policies(name)
    made = graph.of_type(POLICY)
    assert len(made) == len(preset(name))
    for policy in made:
        assert policy.attributes["parent"] == graph[f"google_folder.{ENV}"]["name"]
        parent, literal, *_ = policy.attributes["name"].parts
        assert (parent, literal.startswith("/policies/")) == (policy.attributes["parent"], True)


def test_u38_flags_are_texts():
    graph = policies("starter", compute__requireOsLogin=False, compute__trustedImageProjects="allow-all")
    assert rule(graph, "compute.skipDefaultNetworkCreation") == {"enforce": "TRUE"}
    assert rule(graph, "compute.requireOsLogin") == {"enforce": "FALSE"}
    assert rule(graph, "compute.vmExternalIpAccess") == {"deny_all": "TRUE"}
    assert rule(graph, "compute.trustedImageProjects") == {"allow_all": "TRUE"}


def test_single_constraints_are_overridden_added_and_taken_out():
    graph = policies(
        "starter",
        compute__vmExternalIpAccess="unset",
        gcp__restrictServiceUsage={"deny": ["b.googleapis.com", "a.googleapis.com", "b.googleapis.com"]},
        gcp__restrictTLSVersion={"deny": ["TLS_VERSION_1"]},
    )
    assert f"{POLICY}.{ENV}_compute-vmExternalIpAccess" not in graph
    assert rule(graph, "gcp.restrictServiceUsage") == {
        "values": {"denied_values": ["a.googleapis.com", "b.googleapis.com"]}
    }
    assert rule(graph, "gcp.restrictTLSVersion") == {"values": {"denied_values": ["TLS_VERSION_1"]}}


def test_u35_policies_of_one_parent_are_made_one_after_the_other():
    graph = foundation({"ml-dev": {}, "ml-prod": {}}, org_policies={"preset": "hardened"})
    for env in ("ml-dev", "ml-prod"):
        names = {p for p in graph.of_type(POLICY) if p.name.startswith(f"{env}_")}
        ahead = sorted(len(graph.ancestors(policy) & names) for policy in names)
        assert ahead == list(range(len(names)))
        first = next(policy for policy in names if not graph.ancestors(policy) & names)
        assert "google_project_service.foundation_orgpolicy" in {r.address for r in graph.ancestors(first)}


def test_u31_a_new_project_is_made_under_the_policies_and_its_network_is_left_to_them():
    graph = policies("starter")
    project = graph[f"google_project.{ENV}"]
    assert "auto_create_network" not in project.attributes
    assert set(graph.of_type(POLICY)) <= graph.ancestors(project)
    seed = graph["google_project.foundation"]
    assert seed.attributes["auto_create_network"] is False
    without = policies("starter", compute__skipDefaultNetworkCreation="unset")
    assert without[f"google_project.{ENV}"].attributes["auto_create_network"] is False


def test_policies_of_an_existing_project_are_on_the_project():
    spec = {"project": {"existing": "acme-ml-dev"}, "org_policies": {"preset": "starter"}}
    graph = foundation({ENV: spec})
    made = graph.of_type(POLICY)
    assert len(made) == len(preset("starter"))
    number = graph[f"data.google_project.{ENV}"]["number"]
    for policy in made:
        assert policy.attributes["parent"] == Text(("projects/", number))


def test_a_constraint_of_our_own_is_made_once_in_the_organization():
    graph = foundation({"ml-dev": {}, "ml-prod": {}}, org_policies={"preset": "hardened"})
    (constraint,) = graph.of_type(CONSTRAINT)
    assert constraint.attributes["parent"] == "organizations/123456789012"
    assert constraint.attributes["name"] == "custom.llmGkeNodeAutoRepair"
    assert constraint.attributes["action_type"] == "DENY"
    for env in ("ml-dev", "ml-prod"):
        policy = graph[f"{POLICY}.{env}_custom-gkeNodeAutoRepair"]
        assert constraint["name"] in policy.attributes["name"].parts
    assert not policies("starter").of_type(CONSTRAINT)
    named = blueprint(
        {"ml-dev": {"org_policies": {"preset": "hardened"}}},
        name="my-own-llm",
        organization="1",
        foundation={"project": "llm-seed"},
    )
    (constraint,) = stack(named, "foundation").graph.of_type(CONSTRAINT)
    assert constraint.attributes["name"] == "custom.myOwnLlmGkeNodeAutoRepair"


def test_locations_follow_from_the_regions_in_use():
    other = {"region": "europe-west4", "node_pools": {"system": {"machine": "e2-standard-4", "nodes": 1}}}
    made = platform({ENV: {"org_policies": {"preset": "hardened"}, "clusters": {"eu": other}}})
    assert effective(made.environments[ENV])["gcp.resourceLocations"].allow == (
        "in:europe-west4-locations", "in:us-central1-locations",
    )  # fmt: skip


def test_no_policy_without_a_preset():
    assert not foundation().of_type(POLICY, CONSTRAINT)


@pytest.mark.parametrize(
    ("value", "location", "expected"),
    [
        ("in:us-locations", "us-central1", True),
        ("in:us-locations", "US", True),
        ("in:us-locations", "europe-west4", False),
        ("in:eu-locations", "EU", True),
        ("in:us-central1-locations", "us-central1", True),
        ("in:us-central1-locations", "US", False),
        ("us-central1", "us-central1", True),
        ("us", "us-central1", False),
        ("in:low-carbon-locations", "us-central1", None),
    ],
)
def test_what_a_value_of_resource_locations_covers(value, location, expected):
    assert covers(value, location) is expected


# What a blueprint cannot ask for under a policy

SYSTEM_POOL = "system: {machine: e2-standard-4, nodes: {min: 1, max: 3}}"


def clusters(pool="", cluster=""):
    pools = f"{SYSTEM_POOL}, x: {{{pool}}}" if pool else SYSTEM_POOL
    return f"clusters: {{main: {{{cluster}node_pools: {{{pools}}}}}}}"


FLEX = clusters("machine: a3-highgpu-8g, capacity: flex-start, nodes: {min: 0, max: 2}", "zones: [a], ")
PRELOAD = clusters("machine: g2-standard-4, nodes: 1, preload: [projects/llm-images/global/images/trainer]")
KEY = "projects/acme-kms/locations/us-central1/keyRings/r/cryptoKeys/k"

#: constraint and value, and a body that it refuses with the place; then a body that it allows.
CLASHES = [
    ("custom.gkeNodeAutoRepair: true", FLEX, "flex-start", FLEX.replace("flex-start", "spot")),
    (
        "gcp.restrictServiceUsage: {allow: [compute.googleapis.com]}",
        "apis: [tpu]",
        "tpu",
        "apis: [compute]",
    ),
    (
        "gcp.restrictServiceUsage: {deny: [bigquery.googleapis.com]}",
        "storage: {bigquery: {features: {}}}",
        "bigquery",
        "storage: {buckets: {a: {}}}",
    ),
    (
        "gcp.restrictNonCmekServices: {deny: [storage.googleapis.com]}",
        "storage: {buckets: {a: {}}}\nencryption: {mode: google}",
        "google",
        "storage: {buckets: {a: {}}}\nencryption: {mode: cmek}",
    ),
    (
        "container.managed.enableSecretsEncryption: true",
        f"{clusters()}\nencryption: {{mode: google}}",
        "google",
        "encryption: {mode: google}",
    ),
    (
        'gcp.resourceLocations: {allow: ["in:us-central1-locations"]}',
        "storage: {buckets: {a: {location: US}}}",
        "US",
        "storage: {buckets: {a: {location: us-central1}}}",
    ),
    (
        'gcp.resourceLocations: {allow: ["in:eu-locations"]}',
        "region: us-central1",
        "us-central1",
        "region: europe-west4",
    ),
    (
        'gcp.resourceLocations: {deny: ["in:us-locations"]}',
        "region: europe-west4\n" + clusters(cluster="region: us-east4, "),
        "us-east4",
        "region: europe-west4",
    ),
    ("compute.restrictCloudNATUsage: deny-all", "network: {nat: true}", "true", "network: {nat: false}"),
    (
        "compute.trustedImageProjects: {allow: [projects/cos-cloud]}",
        PRELOAD,
        "projects/llm-images/global/images/trainer",
        PRELOAD.replace("llm-images", "cos-cloud"),
    ),
    (
        "iam.disableServiceAccountKeyCreation: true",
        'access: {grants: {"group:a@example.com": [roles/iam.serviceAccountKeyAdmin]}}',
        "roles/iam.serviceAccountKeyAdmin",
        'access: {grants: {"group:a@example.com": [roles/monitoring.viewer]}}',
    ),
    ("iam.disableServiceAccountCreation: true", clusters(), "main", "storage: {buckets: {a: {}}}"),
    ("container.managed.enableGoogleGroupsRBAC: true", clusters(), "main", "apis: [tpu]"),
    (
        "gcp.restrictCmekCryptoKeyProjects: {allow: [projects/other]}",
        f"encryption: {{mode: cmek, keys: {{us-central1: {KEY}}}}}",
        KEY,
        f"encryption: {{mode: cmek, keys: {{us-central1: {KEY.replace('acme-kms', 'other')}}}}}",
    ),
    (
        "compute.restrictSharedVpcHostProjects: {allow: [projects/acme-other]}",
        "network: {existing: {host_project: acme-net, network: shared}}",
        "acme-net",
        "network: {existing: {host_project: acme-other, network: shared}}",
    ),
]


TOP = 'organization: "123456789012"\nfoundation: {project: llm-seed}\n'


def text_of(policy, body):
    return TOP + one(f"org_policies: {{override: {{{policy}}}}}\n{body}")


def clashes(text):
    return [problem for problem in found(text) if problem.code == "OP003"]


@pytest.mark.parametrize(("policy", "body", "at", "allowed"), CLASHES, ids=lambda value: str(value)[:40])
def test_what_a_policy_refuses_is_found_before_with_both_lines(policy, body, at, allowed):
    text = text_of(policy, body)
    (problem,) = clashes(text)
    ((label, position),) = problem.related
    constraint, _, value = policy.partition(": ")
    assert cut(text, problem) == at
    assert (label, cut(text, replace(problem, position=position))) == ("the policy", value)
    assert constraint in problem.message
    assert constraint in problem.hint
    assert not clashes(text_of(policy, allowed))


def test_a_preset_is_the_other_line_where_nothing_overrides_it():
    body = f"org_policies: {{preset: hardened}}\nencryption: {{mode: cmek}}\n{FLEX}"
    text = one(body)
    (problem,) = [p for p in clashes(TOP + text) if "auto-repair" in p.message]
    ((_, position),) = problem.related
    assert cut(TOP + text, replace(problem, position=position)) == "hardened"
    assert "`custom.gkeNodeAutoRepair` refuses" in problem.message
    assert not clashes(TOP + text.replace("hardened", "starter"))


def test_hardened_allows_a_plain_platform_with_its_own_keys():
    body = f"org_policies: {{preset: hardened}}\nencryption: {{mode: cmek}}\n{clusters()}"
    assert not clashes(TOP + one(f"{body}\nstorage: {{buckets: {{a: {{}}}}}}"))


@pytest.mark.parametrize("value", ["yes", "[a]", "{}", "{allow: []}", "{enforce: true}"])
def test_other_values_are_refused_where_they_stand(value):
    text = text_of(f"compute.requireOsLogin: {value}", "region: us-central1")
    assert [p.severity for p in found(text) if "requireOsLogin" in p.path] == ["error"], found(text)


def test_what_is_written_is_read_back_the_same():
    written = {
        "a.enforced": True,
        "a.off": False,
        "a.open": "allow-all",
        "a.shut": "deny-all",
        "a.unset": "unset",
        "a.listed": {"allow": ["x"]},
        "a.banned": {"deny": ["y", "z"]},
    }
    made = OrgPolicies.model_validate({"preset": "starter", "override": written})
    again = json.loads(made.model_dump_json())
    assert again == {"preset": "starter", "override": written}
    assert OrgPolicies.model_validate(again) == made
