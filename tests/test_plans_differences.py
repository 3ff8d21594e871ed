import pytest
from plan_factory import change, plan, real

from groundplan.plans.differences import differences, may_replace


def texts(address, name="changed"):
    return [str(d) for d in differences(real(name).by_address[address])]


def of(*args, **rest):
    return differences(plan(change(*args, **rest)).changes[0])


def test_an_update_of_a_real_cluster():
    assert texts("google_container_cluster.main") == [
        "maintenance_policy.recurring_window.end_time: 2026-01-10T15:00:00Z → 2026-01-09T13:00:00Z",
        "maintenance_policy.recurring_window.recurrence: "
        "FREQ=WEEKLY;BYDAY=SA,SU → FREQ=WEEKLY;BYDAY=FR,SA,SU",
        "maintenance_policy.recurring_window.start_time: 2026-01-10T07:00:00Z → 2026-01-09T07:00:00Z",
        "release_channel.channel: STABLE → REGULAR",
        "terraform_labels.team: ml → ml-platform",
    ]


def test_a_real_replacement_names_what_forces_it_and_not_what_is_computed_anew():
    found = differences(real("changed").by_address["google_container_node_pool.main_train"])
    assert [d.attribute for d in found if d.forces_replacement] == [
        "node_config.ephemeral_storage_local_ssd_config.local_ssd_count",
        "node_config.guest_accelerator.type",
    ]
    assert {d.attribute for d in found if not d.forces_replacement} == {
        "node_config.machine_type", "node_config.resource_labels",
    }  # fmt: skip
    assert not any(d.after.is_unknown for d in found)


def test_a_create_gives_what_is_set():
    found = {d.path: d for d in differences(real("first").by_address["google_container_node_pool.main_old"])}
    assert found["node_config.machine_type"].after == "g2-standard-8"
    assert all(d.before.is_absent for d in found.values())
    # Empty blocks, computed attributes, copies of labels: nobody set them.
    assert not {"id", "version", "node_config.fast_socket", "effective_labels", "terraform_labels"} & set(
        found
    )


def test_a_reference_to_something_new_is_shown_as_unknown():
    after = {"name": "r", "network": None}
    (network,) = [
        d
        for d in of("google_compute_route.r", "create", None, after, {"network": True, "id": True})
        if d.path != "name"
    ]
    assert (network.path, network.after.is_unknown) == ("network", True)


def test_what_forces_a_replacement_is_shown_though_it_is_computed():
    before, unknown = {"subnetwork": "old", "endpoint": "10.0.0.2"}, {"subnetwork": True, "endpoint": True}
    found = of(
        "google_container_cluster.c", "delete+create", before, {}, unknown, replace_paths=[["subnetwork"]]
    )
    assert [str(d) for d in found] == ["subnetwork: old → (known after apply) (forces replacement)"]


def test_an_update_that_makes_a_value_unknown_is_shown():
    found = of(
        "google_compute_route.r", "update", {"network": "a"}, {}, {"network": True, "next_hop_network": True}
    )
    assert [str(d) for d in found] == ["network: a → (known after apply)"]


@pytest.mark.parametrize("action", ["delete", "no-op", "forget", "read"])
def test_other_actions_have_no_differences(action):
    assert of("google_storage_bucket.b", action, {"name": "b"}, None) == []


def test_a_sample_without_a_schema():
    assert texts("terraform_data.a", "builtin_second") == [
        "input: plain → plain2", "output: plain → (known after apply)",
    ]  # fmt: skip
    assert texts('terraform_data.d["ml.prod"]', "builtin_second") == [
        "triggers_replace.ml-dev: 1 → not set (forces replacement)"
    ]


def test_noise_is_left_out():
    before = {"description": "", "etag": "a", "self_link": "x", "labels": {}, "effective_labels": {"a": "1"}}
    after = {
        "description": None,
        "etag": "b",
        "self_link": "y",
        "labels": None,
        "effective_labels": {"a": "2"},
    }
    assert of("google_compute_network.n", "update", before, after) == []
    # A type without facts, as of another provider.
    counters = {"etag": "a", "fingerprint": "b", "name": "c"}
    found = of("other_thing.n", "update", counters, {"etag": "x", "fingerprint": "y", "name": "z"})
    assert [d.path for d in found] == ["name"]


def test_labels_stand_once():
    labels = {"labels": {"team": "b"}, "terraform_labels": {"team": "b"}, "effective_labels": {"team": "b"}}
    old = {key: {"team": "a"} for key in labels}
    assert [d.path for d in of("google_storage_bucket.b", "update", old, labels)] == ["labels.team"]
    # Labels of the provider reach no resource's own ``labels``.
    found = of("google_storage_bucket.b", "update", old, labels | {"labels": {"team": "a"}})
    assert [d.path for d in found] == ["terraform_labels.team"]


def test_an_element_more_in_a_set_is_one_difference():
    block = lambda cidr: {"cidr_block": cidr, "display_name": ""}  # noqa: E731
    path = lambda *cidrs: {"master_authorized_networks_config": [{"cidr_blocks": [block(c) for c in cidrs]}]}  # noqa: E731
    found = of("google_container_cluster.c", "update", path("b", "c"), path("a", "b", "c"))
    assert [str(d) for d in found] == ["master_authorized_networks_config.cidr_blocks[0].cidr_block: a"]
    found = of("google_container_cluster.c", "update", path("a", "b"), path("b"))
    assert [str(d) for d in found] == [
        "master_authorized_networks_config.cidr_blocks[0].cidr_block: a → not set"
    ]


def test_keys_of_maps_are_told_from_attributes():
    labels = lambda value: {"node_config": [{"labels": {"example.com/role": value}}]}  # noqa: E731
    (found,) = of("google_container_node_pool.p", "update", labels("a"), labels("b"))
    assert found.path == 'node_config.labels["example.com/role"]'
    assert (found.attribute, found.key) == ("node_config.labels", "example.com/role")


def test_sensitive_values_differ_without_being_shown():
    marks = {"before_sensitive": {"shared_secret": True}, "after_sensitive": {"shared_secret": True}}
    old, new = {"shared_secret": "old-secret"}, {"shared_secret": "new-secret"}
    (found,) = of("google_compute_vpn_tunnel.t", "update", old, new, **marks)
    assert str(found) == "shared_secret: (sensitive) → (sensitive)"


def test_where_the_facts_do_not_know_whether_an_update_replaces():
    unknown = {"best_effort_provisioning": [{"enabled": True}]}
    pool = change("google_container_node_pool.p", "update", {"best_effort_provisioning": []}, unknown)
    assert may_replace(plan(pool).changes[0]) == ("best_effort_provisioning.enabled",)
    assert not any(may_replace(c) for c in real("changed").changes)


def test_an_attribute_that_only_google_beta_has_is_known_there():
    pool = change(
        "google_container_node_pool.p", "update", {"node_config": []}, {"node_config": [{"spot": True}]}
    )
    beta = {**pool, "provider_name": "registry.opentofu.org/hashicorp/google-beta"}
    assert [d.attribute for d in differences(plan(beta).changes[0])] == ["node_config.spot"]
