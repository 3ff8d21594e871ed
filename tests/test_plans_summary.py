import json

import pytest
from plan_factory import change, origins, plan, real

from groundplan.plans.layout import ROLES, SCREEN
from groundplan.plans.summary import Counts, Header, resource_lines, summarize

OFFLINE = Header("ml-prod", "production", False, True, "google 8.7.0", "terraform 1.15.5 (embedded)")
REAL = Header("ml-prod", "production", True, engine="terraform 1.15.5")
POOL = "google_container_node_pool"
BUCKET = "google_storage_bucket"

CHANGED = """\
ml-prod (production) · offline, facts of google 8.7.0 · terraform 1.15.5 (embedded)

  clusters/main
    ± node pool train     replace: local_ssd
                          (node_config.ephemeral_storage_local_ssd_config.local_ssd_count) and gpu
                          type (node_config.guest_accelerator.type) force it; local_ssd 8 → 16; gpu
                          type nvidia-tesla-a100 → nvidia-h100-80gb; machine a2-highgpu-8g →
                          a3-highgpu-8g; and 1 more
                          16 × a3-highgpu-8g, 128 × H100
    - node pool old       its nodes are drained and deleted
    ~ maintenance window  sat,sun 07:00 8h → fri,sat,sun 07:00 6h (UTC)
    ~ release channel     stable → regular
    ~ labels team         ml → ml-platform
    ~ node pool serving   labels team ml → ml-platform; was node pool serve
    ~ node pool system    nodes.max 3 → 6; labels team ml → ml-platform
    + node pool eval      0–4 × g2-standard-12, 0–4 × L4, Spot
  storage
    - bucket scratch      its objects are deleted
    ~ bucket datasets     soft_delete 7d → 14d; labels team ml → ml-platform
    + bucket checkpoints  soft delete 7d
  workloads
    ~ trainer             may now write buckets/checkpoints; may no longer write buckets/scratch
    + server              may read buckets/checkpoints
  services
    + 1 API enabled       aiplatform

  4 to add, 5 to change, 1 to replace, 2 to destroy (14 resources; --resources lists them)
  Replacing train drains 16 nodes. Not knowable offline: free capacity, quota, permissions."""

FIRST = """\
ml-prod (production) · offline, facts of google 8.7.0 · terraform 1.15.5 (embedded)

  clusters/main
    + cluster           us-central1, stable channel
    + node pool old     2 × g2-standard-8, 2 × L4
    + node pool serve   0–4 × g2-standard-12, 0–4 × L4, Spot
    + node pool system  1–3 × e2-standard-4
    + node pool train   16 × a2-highgpu-8g, 128 × A100 40GB
  storage
    + bucket datasets
    + bucket scratch
  workloads
    + trainer           may read buckets/datasets, write buckets/scratch
  network
    + network           with 1 route
  services
    + 13 APIs enabled   binaryauthorization, cloudresourcemanager, compute, container, and 9 more

  10 to add, 0 to change, 0 to replace, 0 to destroy (29 resources; --resources lists them)
  Not knowable offline: free capacity, quota, permissions."""


def said(name, header=OFFLINE):
    where, what = origins(name)
    return summarize(real(name), header, origins=where, describe=what)


def only_line(*changes, header=REAL, **kwargs):
    """The only line of a plan as ``sign label: text``, and the line."""
    summary = summarize(plan(*changes), header, **kwargs)
    (line,) = [line for group in summary.groups for line in group.lines]
    return f"{line.sign} {line.label}: {line.text}", line


@pytest.mark.parametrize(("name", "expected"), [("changed", CHANGED), ("first", FIRST)])
def test_a_real_plan_as_a_person_sees_it(name, expected):
    assert "\n".join(said(name).lines(100)) == expected


def test_nothing_to_do_is_one_line():
    same = [change(f"{BUCKET}.{n}", "no-op", {"name": n}, {"name": n}) for n in "ab"]
    assert summarize(plan(*same), REAL).lines(80) == [
        "ml-prod (production, protected) · terraform 1.15.5 · nothing to do, "
        "2 resources are as the blueprint says"
    ]


def test_the_same_as_json():
    found = said("changed").as_json()
    assert json.loads(json.dumps(found)) == found
    assert found["things"] == {"add": 4, "change": 5, "replace": 1, "destroy": 2, "keep": 0}
    assert found["resources"] == {"add": 5, "change": 5, "replace": 1, "destroy": 3, "keep": 0}
    assert (found["stack"], found["offline"], found["unchanged"]) == ("ml-prod", True, 20)
    train = found["groups"][0]["lines"][0]
    assert (train["action"], train["label"], train["precious"]) == ("replace", "node pool train", True)
    assert train["resources"] == [f"{POOL}.main_train"]
    everything = [a for g in found["groups"] for line in g["lines"] for a in line["resources"]]
    actual = {c.address for c in real("changed").actual}
    # A topic with the cluster's new label says nothing new, so it has no line.
    assert actual - set(everything) == {"google_pubsub_topic.main_events"}


def test_no_line_is_wider_than_the_terminal():
    for width in (60, 80, 100, 200):
        assert max(map(len, said("changed").lines(width))) <= max(width, 83)  # the heading is never broken


def test_colours_do_not_change_the_text():
    seen = set()

    def colour(text, role):
        seen.add(role)
        return f"<{role}>{text}</{role}>"

    coloured = "\n".join(said("changed").lines(100, colour))
    for role in seen:
        coloured = coloured.replace(f"<{role}>", "").replace(f"</{role}>", "")
    assert "\n".join(line.rstrip() for line in coloured.splitlines()) == CHANGED
    assert seen <= set(ROLES) and {"danger", "add", "delete", "change", "heading", "group", "dim"} <= seen


def test_500_resources_fit_a_screen():
    changes = [
        change(f"{type}.x{n}", "create", None, {"name": f"x{n}"})
        for type, number in {
            "google_project_service": 30,
            "google_compute_firewall": 150,
            BUCKET: 200,
            "google_service_account": 120,
        }.items()
        for n in range(number)
    ]
    lines = summarize(plan(*changes), REAL).lines(100)
    assert len(lines) <= SCREEN + 5
    text = "\n".join(lines)
    assert "+ 30 APIs enabled" in text
    assert "more (--resources lists them)" in text
    assert "(500 resources; --resources lists them)" in text
    assert len(resource_lines(plan(*changes))) >= 500


def test_nothing_precious_is_hidden_among_the_rest():
    others = ("google_compute_firewall", "google_service_account", "google_monitoring_alert_policy", BUCKET)
    changes = [
        *(change(f"{type}.x{n}", "create", None, {"name": f"x{n}"}) for type in others for n in range(100)),
        *(change(f"{BUCKET}.z{n}", "delete", {"name": f"z{n}", "force_destroy": True}) for n in range(18)),
    ]
    lines = summarize(plan(*changes), REAL).lines(100)
    # Their group comes first, and they come first in it.
    assert lines[2] == "  storage"
    assert [line for line in lines if "its objects are deleted" in line] == lines[3:21]


def test_a_group_in_which_something_is_lost_comes_first():
    changes = [
        change(f"{POOL}.main_a", "create", None, {"name": "a"}),
        change("google_kms_crypto_key.k", "delete", {"name": "k"}),
    ]
    assert [group.name for group in summarize(plan(*changes), REAL).groups] == ["keys", "clusters/main"]


def test_lesser_resources_of_a_thing_are_told_by_kind():
    where = {f"google_compute_firewall.{n}": ("network",) for n in "abc"}
    where |= {"google_compute_route.r": ("network",), "google_compute_router.q": ("network",)}
    where |= {"google_compute_network.main": ("network",)}
    changes = [
        change("google_compute_network.main", "update", {"mtu": 1460}, {"mtu": 8896}),
        *(change(f"google_compute_firewall.{n}", "create", None, {"name": n}) for n in "abc"),
        change("google_compute_route.r", "create", None, {"name": "r"}),
        change("google_compute_router.q", "update", {"description": "x"}, {"description": "y"}),
    ]
    (group,) = summarize(plan(*changes), REAL, origins=where).groups
    assert [f"{line.sign} {line.label}: {line.text}" for line in group.lines] == [
        "~ network: mtu 1460 → 8896",
        "~ router q: description x → y",
        "+ 3 firewall rules: a, b, c",
        "+ route r: ",
    ]


def test_very_much_that_is_precious_is_counted():
    changes = [change(f"{BUCKET}.z{n}", "delete", {"name": f"z{n}"}) for n in range(60)]
    text = "\n".join(summarize(plan(*changes), REAL).lines(100))
    assert "… and 22 more, 22 of them replace or delete (--resources lists them)" in text


def test_unknown_and_sensitive_values_are_named_not_shown():
    disk = lambda secret, labels: {"disk_encryption_key": [{"raw_key": secret}], "labels": labels}  # noqa: E731
    before, after = disk("old-secret-key", {"a": "1"}), disk("new-secret-key", {})
    marks = {"disk_encryption_key": [{"raw_key": True}]}
    key = change(
        "google_compute_disk.d",
        "update",
        before,
        after,
        {"labels": {"a": True}},
        before_sensitive=marks,
        after_sensitive=marks,
    )
    summary = summarize(plan(key), REAL)
    text = "\n".join([*summary.lines(200), *resource_lines(plan(key)), json.dumps(summary.as_json())])
    assert "secret-key" not in text
    assert "disk_encryption_key.raw_key (sensitive) → (sensitive)" in text
    assert "labels a 1 → (known after apply)" in text


def test_a_replacement_names_the_attribute_in_both_languages():
    before, after = ({"node_config": [{"disk_type": kind}]} for kind in ("pd-ssd", "hyperdisk-balanced"))
    forced = change(
        f"{POOL}.main_train", "delete+create", before, after, replace_paths=[["node_config", 0, "disk_type"]]
    )
    text, line = only_line(forced)
    assert text == (
        "± node pool train: replace: boot_disk.type (node_config.disk_type) forces it; "
        "pd-ssd → hyperdisk-balanced"
    )
    assert line.precious


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("replace_because_tainted", "it is marked as damaged (tainted)"),
        ("replace_by_request", "it was asked for (-replace)"),
        ("something new", "Terraform does not say why"),
    ],
)
def test_a_replacement_without_an_attribute_says_why(reason, words):
    text, _ = only_line(change(f"{BUCKET}.b", "create+delete", {}, {}, action_reason=reason))
    assert text == f"± bucket b: replace: {words}"


def test_where_the_facts_do_not_know_the_line_says_so():
    pool = change(
        f"{POOL}.main_a",
        "update",
        {"best_effort_provisioning": []},
        {"best_effort_provisioning": [{"enabled": True}]},
    )
    text, line = only_line(pool, header=OFFLINE)
    assert "update or replacement: not known offline (best_effort_provisioning.enabled)" in text
    assert not line.precious
    # A protected tier treats it as a replacement; a real plan knows.
    assert only_line(pool, header=Header("x", "production", True, True))[1].precious
    assert "not known" not in only_line(pool, header=REAL)[0]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (change(f"{BUCKET}.b", "forget", {"name": "b"}), "= bucket b: no longer managed; the object stays"),
        (
            change(f"{BUCKET}.b", "no-op", {}, {}, previous_address=f"{BUCKET}.a"),
            "= bucket b: the same object, was bucket a",
        ),
        (
            change(f"{BUCKET}.b", "no-op", {}, {}, previous_address=f"{BUCKET}.a[0]"),
            f"= bucket b: the same object, was {BUCKET}.a[0]",
        ),
        (change(f"{BUCKET}.b", "no-op", {}, {}, importing={"id": "b"}), "= bucket b: adopted as it is"),
        (
            change(f"{BUCKET}.b", "update", {"location": "A-B"}, {"location": "C-D"}, importing={"id": "b"}),
            "~ bucket b: location a-b → c-d; adopted",
        ),
        (
            change(f"{BUCKET}.b", "update", {"etag": "1"}, {"etag": "2"}),
            "~ bucket b: only values that the provider computes",
        ),
        (
            change(f"{BUCKET}.b", "delete", {"name": "b"}, deposed="1a2b"),
            "- bucket b: left over from an interrupted replacement",
        ),
        (
            change(f"{BUCKET}.b", "delete", {"name": "b", "force_destroy": False}),
            "- bucket b: it must be empty, else Cloud Storage refuses",
        ),
        (change(f"{BUCKET}.b", "delete", {"deletion_policy": "ABANDON"}), "- bucket b: "),
    ],
)
def test_what_else_can_happen(made, words):
    assert only_line(made)[0] == words


def test_deleted_resources_are_placed_by_type_and_name():
    summary = summarize(
        plan(
            change(f"{POOL}.main_old", "delete", {"name": "old", "node_count": 2}),
            change("google_kms_key_ring.env", "delete", {"name": "env"}),
            change("google_unheard_of.x", "delete", {"name": "x"}),
            change("module.a.google_storage_bucket.b", "delete", {"name": "cloud-name"}, index="k"),
        ),
        REAL,
    )
    assert {group.name: [line.label for line in group.lines] for group in summary.groups} == {
        "clusters/main": ["node pool old"],
        "keys": ["key ring env"],
        "storage": ["bucket cloud-name"],
        "others": ["unheard of x"],
    }


def grant(name, role, bucket, action="create", member="serviceAccount:a@p.iam.gserviceaccount.com", **rest):
    held = {"bucket": bucket, "role": role, "member": member, **rest}
    sides = (None, held) if action == "create" else (held, None if action == "delete" else held)
    return change(f"{BUCKET}_iam_member.{name}", action, *sides)


def test_grants_are_sentences():
    kubernetes = "principal://iam.googleapis.com/projects/1/x/subject/ns/training/sa/trainer"
    viewer, user = "roles/storage.objectViewer", "roles/storage.objectUser"
    assert only_line(grant("g", viewer, "other-bucket", member=kubernetes))[0] == (
        "+ trainer: may read bucket other-bucket"
    )
    lines = only_line(grant("g", viewer, "x"), grant("h", viewer, "y"), grant("i", user, "z"))[0]
    assert lines == "+ a: may read bucket x and bucket y, write bucket z"
    both = grant("g", viewer, "x", "delete", kubernetes), grant("h", user, "x", member=kubernetes)
    assert only_line(*both)[0] == "~ trainer: may now write bucket x; may no longer read bucket x"
    kept = grant("k", viewer, "y", "no-op", kubernetes)
    assert only_line(kept, both[1])[0] == "~ trainer: may now write bucket x"
    assert only_line(grant("g", "roles/storage.admin", "x", condition=[{"title": "t"}]))[0] == (
        "+ a: may use roles/storage.admin on bucket x on a condition"
    )


def test_a_grant_to_somebody_unknown_is_called_by_its_name():
    held = {"bucket": "x", "role": "roles/storage.objectViewer", "condition": []}
    made = change(f"{BUCKET}_iam_member.mine", "create", None, held, {"member": True})
    assert only_line(made)[0] == "+ mine: may read bucket x"


def test_roles_on_a_project_are_named():
    held = {"project": "p", "role": "roles/artifactregistry.reader", "member": "group:ml@example.com"}
    made = change("google_project_iam_member.g", "create", None, held)
    assert (
        only_line(made)[0] == "+ group:ml@example.com: may use roles/artifactregistry.reader on the project"
    )


def test_services_of_an_environment_are_one_line_there():
    where = {f"google_project_service.s{n}": ("environments", "ml-dev") for n in range(30)}
    changes = [change(address, "create", None, {"service": "x.googleapis.com"}) for address in where]
    summary = summarize(plan(*changes), Header("foundation"), origins=where)
    assert [(g.name, [line.label for line in g.lines]) for g in summary.groups] == [
        ("environments/ml-dev", ["30 APIs enabled"])
    ]
    assert summary.things == Counts(add=1) and summary.resources == Counts(add=30)


def test_notes_say_what_a_plan_does_not_tell():
    deferred = {"reason": "absent_prereq", "resource_change": change(f"{BUCKET}.b", "create", None, {})}
    assert summarize(plan(errored=True, complete=False), REAL).notes == (
        "Planning failed half-way: this is not the whole plan.",
    )
    assert summarize(plan(complete=False, deferred_changes=[deferred]), REAL).notes == (
        "Terraform leaves 1 change for a later plan.",
    )
    assert summarize(real("drift"), REAL).notes == ("Changed outside of Terraform: cluster llm-main.",)
    output = {"actions": ["create"], "before": None, "after": 1}
    assert summarize(plan(output_changes={"endpoint": output}), REAL).notes == (
        "Only outputs change: endpoint.",
    )


@pytest.mark.parametrize(
    ("before", "drains"),
    [
        ({"node_count": 16, "node_locations": ["a"]}, "16 nodes"),
        ({"node_count": 2, "node_locations": ["a", "b"]}, "4 nodes"),
        ({"autoscaling": [{"total_max_node_count": 8}], "node_locations": ["a", "b"]}, "up to 8 nodes"),
        ({"autoscaling": [{"max_node_count": 1, "total_max_node_count": 0}]}, "up to 1 node"),
        ({}, "it"),
    ],
)  # fmt: skip
def test_how_many_nodes_a_replacement_drains(before, drains):
    made = change(f"{POOL}.main_a", "delete+create", {"name": "a", **before}, {"name": "a"})
    assert summarize(plan(made), REAL).notes == (f"Replacing a drains {drains}.",)


def test_resources_in_terraforms_words():
    lines = resource_lines(real("changed"))
    assert lines[lines.index(f"± {POOL}.main_train") + 1] == (
        "    node_config.ephemeral_storage_local_ssd_config.local_ssd_count: 8 → 16 (forces replacement)"
    )
    assert f"~ {POOL}.main_serving (was {POOL}.main_serve)" in lines
    adopted = change(f"{BUCKET}.b", "no-op", {}, {}, importing={"id": "b"})
    assert resource_lines(plan(adopted)) == [f"= {BUCKET}.b (adopted)"]


CLUSTER = "google_container_cluster.main"


def recurring(end, days):
    start = "2026-01-10T02:00:00-05:00"
    return {
        "recurring_window": [{"start_time": start, "end_time": f"2026-01-10T{end}-05:00", "recurrence": days}]
    }


WINDOW = {
    "recurrence": "FREQ=WEEKLY;BYDAY=MO",
    "window_duration": "14400s",
    "window_start_time": [{"hours": 3, "minutes": 30}],
}
LAUNCH = {
    "exclusion_name": "launch",
    "start_time": "2026-12-15T00:00:00Z",
    "end_time": "2027-01-05T00:00:00Z",
}


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            recurring("10:00:00", "FREQ=WEEKLY;BYDAY=SA,SU"),
            recurring("08:30:00", "FREQ=DAILY"),
            "~ maintenance window: sat,sun 02:00 8h → daily 02:00 390m (UTC-05:00)",
        ),
        (
            {"recurring_maintenance_window": []},
            {"recurring_maintenance_window": [WINDOW]},
            "~ maintenance window: none → mon 03:30 4h (UTC)",
        ),
        (
            {"maintenance_exclusion": []},
            {"maintenance_exclusion": [LAUNCH]},
            "~ maintenance exclusions: none → launch 2026-12-15 to 2027-01-05",
        ),
        (
            {"maintenance_exclusion": [LAUNCH]},
            {"maintenance_exclusion": [LAUNCH, {**LAUNCH, "exclusion_name": "sale", "end_time": ""}]},
            "~ maintenance exclusions: +sale 2026-12-15 to end of support",
        ),
    ],
)
def test_maintenance_in_the_blueprints_words(before, after, line):
    sides = ({"maintenance_policy": [side]} for side in (before, after))
    assert only_line(change(CLUSTER, "update", *sides))[0] == line


def test_a_change_from_nothing_and_to_nothing():
    spot = lambda value: {"node_config": [{"spot": value}]}  # noqa: E731
    assert only_line(change(f"{POOL}.main_a", "update", spot(False), spot(True)))[0] == (
        "~ node pool a: capacity on-demand → spot"
    )
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    taints = lambda *values: {"node_config": [{"taint": list(values)}]}  # noqa: E731
    two = taints(taint, {**taint, "key": "dedicated"})
    assert only_line(change(f"{POOL}.main_a", "update", taints(taint), two))[0] == (
        "~ node pool a: node_taints +dedicated=present:NoSchedule"
    )
    protect = only_line(
        change(CLUSTER, "update", {"deletion_protection": True}, {"deletion_protection": False})
    )
    assert protect[0] == "~ protect: true → false"


def test_a_crossing_is_called_by_its_key_also_while_nobody_knows_the_readers_number():
    address = "google_storage_bucket_iam_member.crossing_promote_ml-prod_job"
    grant = change(address, "create", None, {"bucket": "raw", "role": "roles/storage.objectViewer"})
    said, _ = only_line(grant, origins={address: ("crossings", "promote")})
    assert said.startswith("+ crossing promote: may read")
