"""The provider's facts: whole, free of contradictions, and right where the project leans on them most."""

import json
import re

import msgspec
import pytest

from groundplan.facts import schema
from groundplan.facts.schema import Attribute, NestedBlock, lookup, resource_type, walk

ROLES = {
    (True, False, False),  # required
    (False, True, False),  # optional
    (False, True, True),  # optional, the provider fills it in
    (False, False, True),  # read-only
}
FILES = sorted(schema.DATA.rglob("*.json"))


def every_type():
    """All types as each provider sees them, data sources and the provider's configuration."""
    for provider in schema.PROVIDERS:
        for name in sorted(schema.type_names(provider)):
            yield provider, resource_type(name, provider)
    for name in sorted(schema.data_source_names()):
        yield "google", schema.data_source(name)
    yield "google", schema.provider_config()


def members(of):
    for provider, resource in every_type():
        for path, member in walk(resource.block):
            if isinstance(member, of):
                yield f"{provider} {resource.type} {path}", resource, member


def test_there_is_a_file_for_every_type_and_a_type_for_every_file():
    index = schema.index()
    names = [*index.google, *index.google_beta]
    assert len(set(names)) == len(names)
    expected = {f"{name}.json" for name in [*names, "index", "provider"]}
    assert {file.name for file in schema.DATA.glob("*.json")} == expected
    assert len(names) >= 384
    assert len(schema.data_source_names()) >= 10


def test_files_hold_nothing_that_the_schema_does_not_know_and_no_defaults():
    for file in FILES:
        if file.name == "index.json":
            continue
        raw = file.read_bytes()
        resource = msgspec.json.decode(raw, type=schema.ResourceType)
        assert json.loads(raw) == json.loads(msgspec.json.encode(resource)), file.name


def test_a_file_holds_the_type_it_is_named_after():
    for provider in schema.PROVIDERS:
        for name in schema.type_names(provider):
            assert resource_type(name, provider).type == name


def test_the_facts_are_small_and_hold_no_descriptions():
    texts = [file.read_text() for file in FILES]
    assert sum(len(text.encode()) for text in texts) < 3_000_000
    # "description" is an attribute of many types: it has facts in braces, or is a string; never a text.
    assert not [text for text in texts if re.search(r'"(description|doc|docs)":"(?!string")', text)]


def test_every_attribute_has_exactly_one_role():
    wrong = [
        where
        for where, _, a in members(Attribute)
        if (a.required, a.optional, a.computed) not in ROLES or (a.write_only and a.computed)
    ]
    assert not wrong


def test_types_are_written_as_terraform_writes_them():
    def known(cty):
        if isinstance(cty, str):
            return cty in {"string", "number", "bool", "dynamic"}
        kind, of = cty
        if kind == "object":
            return all(known(member) for member in of.values())
        return kind in {"list", "set", "map"} and known(of)

    assert not [where for where, _, a in members(Attribute) if not known(a.type)]


def test_defaults_are_of_their_type_and_lie_within_their_limits():
    python = {"string": str, "number": (int, float), "bool": bool}
    wrong = []
    for where, _, a in members(Attribute):
        if a.default is None:
            continue
        low, high = a.range or (None, None)
        # Nothing else than "" can stand for "not set" among the values of security_policy's versioned_expr.
        in_enum = not a.enum or a.default in a.enum or a.default == ""
        ok = (
            isinstance(a.default, python[a.type])
            and a.optional
            and in_enum
            and (low is None or a.default >= low)
            and (high is None or a.default <= high)
        )
        wrong += [] if ok else [where]
    assert not wrong


def test_patterns_compile_and_limits_are_in_order():
    for where, _, a in members(Attribute):
        for pattern in (*a.regex, *a.not_regex, *a.element_regex):
            re.compile(pattern)
        for limits in (a.range, a.length, (a.min_items or None, a.max_items)):
            if limits and None not in limits:
                assert limits[0] <= limits[1], where


def test_blocks_have_sensible_limits():
    for where, _, b in members(NestedBlock):
        assert b.max_items is None or b.max_items >= max(b.min_items, 1), where
        assert (b.nesting == "single") == (where.rpartition(" ")[2] == "timeouts"), where


def test_members_of_groups_exist():
    wrong = []
    for provider, resource in every_type():
        paths = dict(walk(resource.block)).keys()
        for path, facts in resource.groups:
            of_group = (
                *facts.conflicts_with,
                *facts.exactly_one_of,
                *facts.at_least_one_of,
                *facts.required_with,
            )
            missing = set(of_group) - paths
            wrong += [f"{provider} {resource.type} {path}: {missing}"] if missing else []
    assert not wrong


def test_every_source_is_named_with_a_version_and_a_date():
    sources = schema.index().sources
    named = {member.source for _, _, member in members((Attribute, NestedBlock))}
    named |= {resource.source for _, resource in every_type()}
    assert named - {None} == sources.keys() - {"source"}
    assert {"bindings", "source"} <= sources.keys()
    for text in sources.values():
        assert re.search(r"\d{4}-\d\d-\d\d", text), text
    assert schema.index().provider_version in sources["bindings"]
    versions = {resource.provider_version for _, resource in every_type()}
    assert versions == {schema.index().provider_version}


def test_unknown_replacement_is_rare_and_says_where_the_fact_ends():
    unknown = [(where, m) for where, _, m in members((Attribute, NestedBlock)) if m.force_new is None]
    assert all(member.source for _, member in unknown)
    assert not [where for where, m in unknown if isinstance(m, Attribute) and not (m.required or m.optional)]
    everything = sum(1 for _ in members((Attribute, NestedBlock)))
    assert len(unknown) < 0.03 * everything


def test_a_type_that_cannot_be_updated_is_replaced_by_every_change():
    wrong = [
        f"{resource.type} {name}"
        for provider, resource in every_type()
        if resource.no_update
        for name, member in (resource.block.attributes | resource.block.blocks).items()
        if name not in {"id", "deletion_policy", "timeouts"}
        and not (isinstance(member, Attribute) and not (member.required or member.optional))
        and member.force_new is False
        and not resource.labels_from
    ]
    assert not wrong


def test_plan_defaults_and_shrinking_paths_name_attributes():
    for _, resource in every_type():
        names = [*resource.plan_defaults, *resource.force_new_if_shrinks]
        names += [name for name in (resource.labels_from, resource.annotations_from) if name]
        assert not [name for name in names if lookup(resource.block, name) is None], resource.type


def test_google_beta_has_every_type_and_member_of_google():
    assert schema.type_names("google") < schema.type_names("google-beta")
    for name in schema.type_names("google"):
        ours = dict(walk(resource_type(name).block))
        beta = dict(walk(resource_type(name, "google-beta").block))
        assert ours.keys() <= beta.keys()
        assert {path for path in beta if path not in ours} == {
            path for path, member in beta.items() if member.provider == "google-beta"
        }


def test_a_type_only_in_google_beta_is_not_found_in_google():
    name = "google_compute_future_reservation"
    assert resource_type(name, "google-beta").provider == "google-beta"
    with pytest.raises(KeyError):
        resource_type(name)
    with pytest.raises(KeyError):
        schema.data_source("google_nothing")


def test_lookup_finds_attributes_blocks_and_nothing():
    block = resource_type("google_container_node_pool").block
    assert isinstance(lookup(block, "name"), Attribute)
    assert isinstance(lookup(block, "node_config"), NestedBlock)
    assert lookup(block, "node_config.spot") is block.blocks["node_config"].block.attributes["spot"]
    for nothing in ("nonsense", "node_config.nonsense", "name.inside", "nonsense.spot", ""):
        assert lookup(block, nothing) is None


REPLACES = {
    "google_container_node_pool": [
        "name",
        "cluster",
        "node_config.guest_accelerator.type",
        "node_config.guest_accelerator.count",
        "node_config.reservation_affinity.consume_reservation_type",
        "node_config.spot",
        "placement_policy.policy_name",
        "queued_provisioning.enabled",
    ],
    "google_container_cluster": ["name", "location", "network", "enable_autopilot"],
    "google_compute_subnetwork": ["name", "network", "region"],
    "google_compute_disk": ["name", "zone", "type"],
    "google_storage_bucket": ["name", "location"],
    "google_project": ["project_id"],
    "google_service_account": ["account_id"],
}
UPDATES = {
    "google_container_node_pool": ["node_count", "autoscaling.max_node_count", "version"],
    "google_container_cluster": ["deletion_protection", "resource_labels", "release_channel.channel"],
    "google_compute_disk": ["labels", "size"],
    "google_storage_bucket": ["versioning.enabled", "labels", "storage_class"],
    "google_project": ["name", "billing_account", "labels"],
}


@pytest.mark.parametrize(("expected", "by_type"), [(True, REPLACES), (False, UPDATES)])
def test_what_a_change_does(expected, by_type):
    for name, paths in by_type.items():
        for path in paths:
            found = lookup(resource_type(name).block, path)
            assert found is not None, f"{name} {path}"
            assert found.force_new is expected, f"{name} {path}"


@pytest.mark.parametrize(
    ("name", "template"),
    [
        (
            "google_service_account",
            "projects/{{project}}/serviceAccounts/{{account_id}}@{{project}}.iam.gserviceaccount.com",
        ),
        ("google_storage_bucket", "{{name}}"),
        ("google_container_cluster", "projects/{{project}}/locations/{{location}}/clusters/{{name}}"),
        (
            "google_container_node_pool",
            "projects/{{project}}/locations/{{location}}/clusters/{{cluster}}/nodePools/{{name}}",
        ),
        ("google_project", "projects/{{project_id}}"),
        ("google_compute_network", "projects/{{project}}/global/networks/{{name}}"),
        (
            "google_kms_crypto_key",
            "{{key_ring}}/cryptoKeys/{{name}}",
        ),
    ],
)
def test_ids(name, template):
    assert resource_type(name).id == template


def test_host_maintenance_policy_is_only_in_google_beta():
    path = "node_config.host_maintenance_policy"
    assert lookup(resource_type("google_container_node_pool").block, path) is None
    found = lookup(resource_type("google_container_node_pool", "google-beta").block, path)
    assert isinstance(found, NestedBlock)
    assert found.provider == "google-beta"
    assert found.force_new is True


def test_deletion_is_guarded_where_the_provider_guards_it():
    cluster = resource_type("google_container_cluster")
    assert cluster.deletion_protection is True
    protection = lookup(cluster.block, "deletion_protection")
    assert isinstance(protection, Attribute)
    assert protection.default is True
    project = resource_type("google_project")
    assert project.plan_defaults["deletion_policy"] == "PREVENT"
    assert project.deletion_policy == schema.DeletionPolicy(default="PREVENT", set_by="plan")
    assert resource_type("google_storage_bucket").deletion_protection is None


def test_required_blocks_and_shrinking_disks():
    assert "size" in resource_type("google_compute_disk").force_new_if_shrinks
    assert "ip_cidr_range" in resource_type("google_compute_subnetwork").force_new_if_shrinks
    guest = lookup(resource_type("google_container_node_pool").block, "node_config.guest_accelerator")
    assert isinstance(guest, NestedBlock)
    assert guest.nesting == "list"
    perimeter = lookup(
        resource_type("google_access_context_manager_service_perimeter_ingress_policy").block, "perimeter"
    )
    assert isinstance(perimeter, Attribute)
    assert perimeter.required


def test_iam_types_say_what_they_bind():
    kinds = {resource.iam for _, resource in every_type()}
    assert kinds == {None, "member", "binding", "policy", "audit_config"}
    assert resource_type("google_storage_bucket_iam_member").iam == "member"
