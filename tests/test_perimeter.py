"""What a perimeter consists of, in each mode; order and determinism."""

import pytest
from blueprint_factory import blueprint, lock, merged, only, platform, stack

from groundplan.engines.terraform.writer import document, dumps
from groundplan.facts.restricted_services import restricted_services
from groundplan.modules.graph import Reference, Text
from groundplan.modules.perimeter import UNKNOWN_POLICY
from groundplan.stacks.catalog import stacks

PERIMETER = "google_access_context_manager_service_perimeter"
LEVEL = "google_access_context_manager_access_level"
NUMBERS = {"ml-dev": "111", "ml-staging": "222", "ml-prod": "333"}
READ = {
    "from": {
        "identities": ["serviceAccount:x@y.iam.gserviceaccount.com", "group:a@example.com"],
        "sources": ["access_levels/corp", "projects/9"],
    },
    "to": {
        "resources": ["*"],
        "services": {"storage.googleapis.com": {"methods": ["google.storage.objects.get"]}},
    },
}
LEVELS = {"corp": {"any_of": [{"ip_ranges": ["203.0.113.0/24"]}, {"members": ["user:oncall@example.com"]}]}}
IMAGES = {
    "from": {"identity_type": "any"},
    "to": {"resources": ["projects/77"], "services": {"compute.googleapis.com": {}}},
}


def made(
    mode="enforced", env="ml-dev", numbers=NUMBERS, policy="42", foundation=True, network=None, **perimeter
):
    """The graph of an environment with a perimeter."""
    spec = {"perimeter": {"mode": mode, **perimeter}, **({"network": network} if network else {})}
    built = platform(foundation=foundation, **spec)
    kept = lock(built, numbers)
    kept = kept.with_environment(env, kept.environment(env).model_copy(update={"access_policy": policy}))
    return stacks(built, kept, [env])[0].graph


def perimeter(**options):
    return only(made(**options), PERIMETER).attributes


# Modes


def test_there_is_none_unless_it_is_asked_for():
    graph = made(mode="none", access_levels=LEVELS)
    assert not graph.of_type(PERIMETER, LEVEL)
    assert "google_project_service.accesscontextmanager" not in graph


def test_dry_run_and_enforced_differ_in_one_word_and_replace_nothing():
    dry, enforced = perimeter(mode="dry-run"), perimeter(mode="enforced")
    assert dry["use_explicit_dry_run_spec"] is True
    assert "status" not in dry
    assert "spec" not in enforced
    assert "use_explicit_dry_run_spec" not in enforced
    assert dry["spec"] == enforced["status"]
    schema = only(made(), PERIMETER).schema
    for name in {*dry, *enforced}:
        item = schema.block.attributes.get(name) or schema.block.blocks[name]
        assert dry.get(name) == enforced.get(name) or item.force_new is False


def test_a_trial_stands_beside_the_enforced_perimeter():
    found = perimeter(
        ingress={"read": READ}, egress={"images": IMAGES}, access_levels=LEVELS,
        dry_run={"egress": {}, "restricted_services": {"remove": ["storage.googleapis.com"]}},
    )  # fmt: skip
    assert found["use_explicit_dry_run_spec"] is True
    assert [rule["title"] for rule in found["status"]["egress_policies"]] == ["ml-dev images"]
    assert "egress_policies" not in found["spec"]
    assert found["spec"]["ingress_policies"] == found["status"]["ingress_policies"]
    gone = {*found["status"]["restricted_services"]} - {*found["spec"]["restricted_services"]}
    assert gone == {"storage.googleapis.com"}


@pytest.mark.parametrize(
    ("mode", "kind"), [("enforced", f"{PERIMETER}_resource"), ("dry-run", f"{PERIMETER}_dry_run_resource")]
)
def test_u19_somebody_elses_perimeter_gets_the_project_and_no_more(mode, kind):
    graph = made(mode=mode, existing="accessPolicies/1/servicePerimeters/p")
    assert {r.type for r in graph if "access_context" in r.type} == {kind}
    assert only(graph, kind).attributes == {
        "perimeter_name": "accessPolicies/1/servicePerimeters/p", "resource": "projects/111",
    }  # fmt: skip


def test_u35_one_resource_owns_the_perimeter():
    graph = made(ingress={"read": READ}, egress={"images": IMAGES}, access_levels=LEVELS)
    assert {r.type for r in graph if "access_context" in r.type} == {PERIMETER, LEVEL}
    assert only(graph, PERIMETER).attributes["perimeter_type"] == "PERIMETER_TYPE_REGULAR", "never a bridge"
    assert only(graph, PERIMETER).lifecycle.ignore_changes == ()


# Content


def test_the_project_is_inside_by_number():
    assert perimeter()["status"]["resources"] == ["projects/111"]
    graph = made(numbers={})
    (inside,) = only(graph, PERIMETER).attributes["status"]["resources"]
    assert isinstance(inside, Text)
    assert inside.parts == ("projects/", graph["data.google_project.this"]["number"])


def test_names_and_titles_carry_the_environment():
    found = {env: made(env=env, access_levels=LEVELS, ingress={"read": READ}) for env in NUMBERS}
    names = [only(graph, kind).attributes["name"] for graph in found.values() for kind in (PERIMETER, LEVEL)]
    assert names == [
        "accessPolicies/42/servicePerimeters/llm_ml_dev",
        "accessPolicies/42/accessLevels/llm_ml_dev_corp",
        "accessPolicies/42/servicePerimeters/llm_ml_staging",
        "accessPolicies/42/accessLevels/llm_ml_staging_corp",
        "accessPolicies/42/servicePerimeters/llm_ml_prod",
        "accessPolicies/42/accessLevels/llm_ml_prod_corp",
    ]
    titles = [
        rule["title"]
        for graph in found.values()
        for rule in only(graph, PERIMETER).attributes["status"]["ingress_policies"]
    ]
    assert len(set(titles)) == len(titles) == 6
    assert titles[:2] == ["ml-dev automation", "ml-dev read"]


def test_long_names_stay_apart_and_fit():
    names = {f"environment-{'x' * 30}-{number}": {"tier": "development"} for number in range(3)}
    levels = {"c" * 40: LEVELS["corp"]}
    spec = {"perimeter": {"mode": "dry-run", "access_policy": "1", "access_levels": levels}}
    built = blueprint(names, defaults=spec, name="a-long-platform-name")
    graphs = [one.graph for one in stacks(built, lock(built))]
    found = [only(graph, kind).attributes["name"] for graph in graphs for kind in (PERIMETER, LEVEL)]
    last = [name.rpartition("/")[2] for name in found]
    assert len(set(last)) == 6
    assert all(len(name) <= 50 and name.replace("_", "").isalnum() for name in last)


def test_all_that_can_be_protected_is_restricted():
    closed = set(perimeter()["status"]["restricted_services"])
    facts = restricted_services()
    assert set(facts.ga) <= closed
    assert {"iam.googleapis.com", "cloudresourcemanager.googleapis.com"} <= closed, "in preview, and in use"
    assert "dialogflow.googleapis.com" not in closed, "in preview, and not in use"
    graph = made()
    used = {s.attributes["service"] for s in graph.of_type("google_project_service")}
    assert used & facts.supported <= closed
    changed = perimeter(
        restricted_services={"add": ["new.googleapis.com"], "remove": ["spanner.googleapis.com"]}
    )
    assert set(changed["status"]["restricted_services"]) == closed - {"spanner.googleapis.com"} | {
        "new.googleapis.com"
    }


def test_from_inside_only_restricted_services_are_reached():
    assert perimeter()["status"]["vpc_accessible_services"] == {
        "enable_restriction": True, "allowed_services": ["RESTRICTED-SERVICES"],
    }  # fmt: skip


def test_who_plans_and_applies_gets_in():
    (rule,) = perimeter(env="ml-prod")["status"]["ingress_policies"]
    assert rule["ingress_from"] == {
        "identities": [
            "serviceAccount:llm-ml-prod-apply@llm-seed.iam.gserviceaccount.com",
            "serviceAccount:llm-ml-prod-plan@llm-seed.iam.gserviceaccount.com",
        ],
        "sources": [{"access_level": "*"}],
    }
    assert rule["ingress_to"] == {"resources": ["projects/333"], "operations": [{"service_name": "*"}]}
    seed = stack(platform(), "foundation").graph
    accounts = [r for r in seed.of_type("google_service_account") if r.name.startswith("ml-prod_")]
    made_by_foundation = {
        f"serviceAccount:{a.attributes['account_id']}@llm-seed.iam.gserviceaccount.com" for a in accounts
    }
    assert {*rule["ingress_from"]["identities"]} == made_by_foundation
    assert "ingress_policies" not in perimeter(foundation=False)["status"]


def test_rules_are_written_as_access_context_manager_wants_them():
    graph = made(
        access_levels=LEVELS,
        ingress={
            "read": READ,
            "roles": {"from": {"identity_type": "any-user"}, "to": {"resources": ["projects/llm-ml-dev"],
                                                                   "roles": ["roles/storage.objectViewer"]}},
        },
        egress={"images": IMAGES},
    )  # fmt: skip
    level = only(graph, LEVEL)
    status = only(graph, PERIMETER).attributes["status"]
    _, read, by_role = status["ingress_policies"]
    assert read["ingress_from"]["identities"] == sorted(READ["from"]["identities"])
    assert read["ingress_from"]["sources"] == [{"access_level": level["name"]}, {"resource": "projects/9"}]
    assert read["ingress_to"] == {
        "resources": ["*"],
        "operations": [
            {
                "service_name": "storage.googleapis.com",
                "method_selectors": [{"method": "google.storage.objects.get"}],
            }
        ],
    }
    assert by_role["ingress_from"] == {
        "identity_type": "ANY_USER_ACCOUNT", "sources": [{"access_level": "*"}],
    }  # fmt: skip
    assert by_role["ingress_to"] == {"resources": ["projects/111"], "roles": ["roles/storage.objectViewer"]}
    (images,) = status["egress_policies"]
    assert images["egress_from"] == {"identity_type": "ANY_IDENTITY"}
    assert images["egress_to"]["operations"] == [
        {"service_name": "compute.googleapis.com", "method_selectors": [{"method": "*"}]}
    ]


def test_an_egress_rule_can_be_bound_to_a_source():
    rule = merged(IMAGES, {"from": {"sources": ["access_levels/corp"]}})
    graph = made(access_levels=LEVELS, egress={"images": rule})
    (images,) = only(graph, PERIMETER).attributes["status"]["egress_policies"]
    assert images["egress_from"]["source_restriction"] == "SOURCE_RESTRICTION_ENABLED"
    assert images["egress_from"]["sources"] == [{"access_level": only(graph, LEVEL)["name"]}]


def test_projects_of_the_platform_are_named_by_id():
    rule = merged(IMAGES, {"to": {"resources": ["projects/llm-ml-staging"]}})
    (known,) = perimeter(env="ml-prod", egress={"models": rule})["status"]["egress_policies"]
    assert known["egress_to"]["resources"] == ["projects/222"]
    graph = made(env="ml-prod", numbers={"ml-prod": "333"}, egress={"models": rule})
    (looked_up,) = only(graph, PERIMETER).attributes["status"]["egress_policies"]
    (target,) = looked_up["egress_to"]["resources"]
    assert target.parts[1] == graph["data.google_project.llm-ml-staging"]["number"]


def test_conditions_of_access_levels():
    level = only(made(access_levels=LEVELS), LEVEL).attributes["basic"]
    assert level["combining_function"] == "OR"
    assert level["conditions"] == [
        {"ip_subnetworks": ["203.0.113.0/24"]}, {"members": ["user:oncall@example.com"]},
    ]  # fmt: skip
    both = {"corp": {"all_of": [{"regions": ["DE", "FR"], "ip_ranges": ["203.0.113.0/24"]}]}}
    assert only(made(access_levels=both), LEVEL).attributes["basic"]["combining_function"] == "AND"


def test_the_network_of_another_project_is_inside_and_its_project_is_not():
    found = perimeter(network={"existing": {"host_project": "acme-host", "network": "dev"}})
    assert found["status"]["resources"] == [
        "projects/111", "//compute.googleapis.com/projects/acme-host/global/networks/dev",
    ]  # fmt: skip


# The access policy


@pytest.mark.parametrize(
    ("learned", "written", "parent"),
    [
        ("42", None, "accessPolicies/42"),
        ("accessPolicies/42", None, "accessPolicies/42"),
        ("42", "7", "accessPolicies/7"),
        (None, "accessPolicies/7", "accessPolicies/7"),
        (None, None, UNKNOWN_POLICY),
    ],
)
def test_the_policy_is_the_blueprints_else_the_foundations(learned, written, parent):
    assert perimeter(policy=learned, access_policy=written)["parent"] == parent


# Order


def test_u18_it_comes_last_and_goes_first():
    graph = made(access_levels=LEVELS, ingress={"read": READ})
    before = graph.ancestors(only(graph, PERIMETER))
    for kind in ("google_service_account", "google_compute_route", "google_dns_record_set", LEVEL):
        assert graph.of_type(kind)
        assert set(graph.of_type(kind)) <= before
    assert graph["google_project_service.accesscontextmanager"] in before
    assert not [r for r in graph if only(graph, PERIMETER) in graph.ancestors(r)]


def test_access_levels_are_replaced_before_they_go_and_rules_are_not():
    graph = made(access_levels=LEVELS)
    assert only(graph, LEVEL).lifecycle.create_before_destroy is True
    assert only(graph, PERIMETER).lifecycle.create_before_destroy is False


# Determinism


def shuffled(value):
    """The same, with every map and list the other way round and every list's first item twice."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [shuffled(one) for one in [*reversed(value), *value[:1]]]
    return value


def test_u36_order_and_repetition_in_the_blueprint_change_no_byte():
    spec = {
        "perimeter": {
            "mode": "enforced",
            "access_policy": "1",
            "access_levels": {**LEVELS, "abroad": {"all_of": [{"regions": ["FR", "DE"]}]}},
            "ingress": {"read": READ, "roles": merged(READ, {"to": {"resources": ["projects/llm-ml-dev"]}})},
            "egress": {
                "images": IMAGES,
                "again": merged(IMAGES, {"to": {"resources": ["projects/7", "projects/8"]}}),
            },
            "restricted_services": {"add": ["b.googleapis.com", "a.googleapis.com"]},
        },
        "clusters": {"main": {"node_pools": {"system": {"machine": "e2-standard-4", "nodes": 1}}}},
    }
    there, back = (blueprint({"ml-dev": order(spec)}) for order in (dict, shuffled))
    assert len(back.environments["ml-dev"].perimeter.access_levels["corp"].any_of) == 3
    assert dumps(stack(there, "ml-dev", NUMBERS)) == dumps(stack(back, "ml-dev", NUMBERS))


def test_what_is_written_fits_terraform():
    graph = made(
        access_levels=LEVELS, ingress={"read": READ}, egress={"images": IMAGES}, dry_run={"egress": {}}
    )
    assert isinstance(only(graph, PERIMETER)["name"], Reference)
    built = platform(perimeter={"mode": "dry-run", "access_policy": "1"})
    text = str(document(stack(built, "ml-prod", NUMBERS))["resource"][PERIMETER])
    assert "projects/333" in text
    assert "ml-dev" not in text
