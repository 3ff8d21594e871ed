import pytest
from plan_factory import DATA, change, origins, plan, real

from groundplan.errors import PolicyError
from groundplan.policies.protection import dangerous, explain_prevent_destroy, guard, protected

BUCKET, POOL, CLUSTER = "google_storage_bucket", "google_container_node_pool", "google_container_cluster"


def addresses(findings):
    return [finding.address for finding in findings]


def test_a_real_destroy_is_refused_whole_with_the_list():
    with pytest.raises(PolicyError) as caught:
        guard(real("destroy"), "ml-prod")
    error = caught.value
    assert error.exit_code == 3
    assert error.message == "ml-prod is not touched: the plan deletes 2 protected things"
    assert error.hint == "If that is meant, apply `protect: false` first, then destroy."
    assert error.detail.splitlines() == [
        "clusters/main (google_container_cluster.main): deletion_protection is true",
        "google_project.main: deletion_policy is PREVENT",
    ]


def test_a_plan_that_deletes_nothing_protected_goes_on():
    guard(real("changed"), "ml-prod")
    guard(real("first"), "ml-prod", environment_protected=True)


@pytest.mark.parametrize("action", ["delete", "delete+create", "create+delete"])
@pytest.mark.parametrize(
    ("type", "held", "reason"),
    [
        (CLUSTER, {"deletion_protection": True}, "deletion_protection is true"),
        ("google_project", {"deletion_policy": "PREVENT"}, "deletion_policy is PREVENT"),
        (
            "google_filestore_instance",
            {"deletion_protection_enabled": True},
            "deletion_protection_enabled is true",
        ),
    ],
)
def test_what_refuses_deletion(type, held, reason, action):
    after = None if action == "delete" else {"deletion_protection": False}
    (finding,) = protected(plan(change(f"{type}.x", action, held, after)))
    assert finding.reason == reason and "protect: false" in finding.hint


@pytest.mark.parametrize(
    "harmless",
    [
        change(f"{CLUSTER}.x", "delete", {"deletion_protection": False}),
        change(f"{CLUSTER}.x", "update", {"deletion_protection": True}, {"deletion_protection": False}),
        change(f"{CLUSTER}.x", "forget", {"deletion_protection": True}),
        change(f"{CLUSTER}.x", "create+forget", {"deletion_protection": True}, {}),
        change(f"{CLUSTER}.x", "create", None, {"deletion_protection": True}),
    ],
)
def test_what_does_not_delete_is_not_refused(harmless):
    assert protected(plan(harmless)) == []


def test_a_protected_environment_does_not_let_data_go():
    made = real("changed")
    assert addresses(protected(made, environment_protected=True)) == [f"{BUCKET}.scratch"]
    kept = plan(
        change(f"{BUCKET}.a", "delete", {"deletion_policy": "ABANDON"}),
        change(f"{POOL}.main_b", "delete+create", {}, {}),
        change(f"{BUCKET}_iam_member.c", "delete", {}),
    )
    assert protected(kept, environment_protected=True) == []


def test_findings_point_at_the_blueprint():
    where, _ = origins("changed")
    found = {f.address: f for f in dangerous(real("changed"), origins=where)}
    assert found[f"{POOL}.main_train"].origin == ("clusters", "main", "node_pools", "train")
    # No longer in the blueprint: its name says where it was.
    assert found[f"{POOL}.main_old"].origin == ("clusters", "main", "node_pools", "old")


def test_replacing_a_gpu_pool_needs_confirmation():
    found = {f.address: f for f in dangerous(real("changed"))}
    assert set(found) == {f"{POOL}.main_old", f"{POOL}.main_train", f"{BUCKET}.scratch"}
    reason = found[f"{POOL}.main_train"].reason
    assert reason.startswith("the plan replaces it, since ")
    assert "gpu type (node_config.guest_accelerator.type)" in reason
    assert reason.endswith("its nodes are drained and deleted (16 nodes)")
    assert found[f"{POOL}.main_old"].hint == "To keep it, leave its key in the blueprint."


@pytest.mark.parametrize(
    "type",
    [
        CLUSTER, POOL, BUCKET,
        "google_compute_disk", "google_project", "google_kms_key_ring", "google_kms_crypto_key",
    ],
)  # fmt: skip
def test_what_is_dangerous(type):
    assert addresses(dangerous(plan(change(f"{type}.x", "delete", {})))) == [f"{type}.x"]
    assert addresses(dangerous(plan(change(f"{type}.x", "create+delete", {}, {})))) == [f"{type}.x"]
    assert dangerous(plan(change(f"{type}.x", "update", {}, {"name": "b"}))) == []


def test_offline_a_doubtful_update_is_dangerous_too():
    pool = change(
        f"{POOL}.main_a",
        "update",
        {"best_effort_provisioning": []},
        {"best_effort_provisioning": [{"enabled": True}]},
    )
    (finding,) = dangerous(plan(pool), offline=True)
    assert finding.reason == "update or replacement: not known offline (best_effort_provisioning.enabled)"
    assert dangerous(plan(pool)) == []


@pytest.mark.parametrize("name", ["prevent_destroy.txt", "prevent_destroy_framed.txt"])
def test_terraforms_own_refusal_is_explained(name):
    found = explain_prevent_destroy((DATA / name).read_text())
    assert addresses(found) == ["terraform_data.pd", 'terraform_data.pd2["x.y"]']
    assert all(f.reason == "it is protected, and the plan deletes or replaces it" for f in found)


def test_the_plan_with_the_error_says_why():
    text = f"Resource {POOL}.main_train has lifecycle.prevent_destroy set, but the plan\ncalls for"
    where, _ = origins("changed")
    (finding,) = explain_prevent_destroy(text, real("changed"), origins=where)
    assert finding.origin == ("clusters", "main", "node_pools", "train")
    assert "the plan replaces it, since local_ssd" in finding.reason
    assert str(finding).startswith(f"clusters/main/node_pools/train ({POOL}.main_train): it is protected")


def test_a_refusal_that_the_frame_breaks_is_explained():
    frame = "\x1b[31m│\x1b[0m"
    text = f"{frame} Resource {POOL}.main_train has\n{frame} lifecycle.prevent_destroy set, but"
    assert addresses(explain_prevent_destroy(text)) == [f"{POOL}.main_train"]


def test_other_errors_are_not_explained():
    assert explain_prevent_destroy("Error: Reference to undeclared resource") == []
