"""What a plan says of a perimeter: one word for the mode, and what comes, goes or means something else."""

from plan_factory import change, plan

from groundplan.plans.words import topics

ADDRESS = "google_access_context_manager_service_perimeter.main"
LEVEL = "google_access_context_manager_access_level.corp"


def config(*services, **rules):
    return {
        "resources": ["projects/1"],
        "restricted_services": list(services),
        "ingress_policies": [
            {"title": f"ml-prod {key}", "ingress_from": [{"identities": who}]} for key, who in rules.items()
        ],
        "egress_policies": [],
    }


def said(before, after, unknown=None):
    (one,) = plan(change(ADDRESS, "update", before, after, unknown)).changes
    return [(topic.key, topic.text) for topic in topics(one)]


def perimeter(status=None, spec=None, **more):
    return {"status": [status] if status else [], "spec": [spec] if spec else [], **more}


def test_enforcing_a_dry_run_is_one_word():
    content = config("a", "b", read=["user:a@example.com"])
    dry, enforced = perimeter(spec=content, use_explicit_dry_run_spec=True), perimeter(status=content)
    assert said(dry, enforced) == [("mode", "dry-run → enforced")]
    assert said(enforced, dry) == [("mode", "enforced → dry-run")]


def test_what_changes_beside_it_is_named():
    before = perimeter(spec=config("a", "b", read=["user:a@example.com"], gone=["user:a@example.com"]))
    after = perimeter(status=config("b", "c", read=["user:b@example.com"], new=["user:a@example.com"]))
    assert said(before, after) == [
        ("mode", "dry-run → enforced"),
        ("restricted_services", "+c, -a"),
        ("ingress", "+ml-prod new, -ml-prod gone, ~ml-prod read"),
    ]


def test_a_trial_comes_changes_and_goes():
    enforced = config("a", "b")
    none, trial = perimeter(status=enforced), perimeter(status=enforced, spec=enforced)
    other = perimeter(status=enforced, spec=config("a", "b", "c"))
    assert said(none, trial) == [("dry_run", "off → on")]
    assert said(trial, none) == [("dry_run", "on → off")]
    assert said(trial, other) == [("dry_run.restricted_services", "+c")]


def test_what_is_not_known_yet_is_no_reason_to_fail():
    before, after = perimeter(spec=config("a")), perimeter(status={**config("a"), "resources": None})
    found = said(before, after, {"status": [{"resources": True}]})
    assert found[0] == ("mode", "dry-run → enforced")


def test_another_title_is_told_in_terraforms_words():
    content = perimeter(status=config("a"))
    assert said({**content, "title": "x"}, {**content, "title": "y"}) == [("title", "x → y")]


def test_access_levels_say_what_they_ask_for():
    def basic(function, *conditions):
        return {"basic": [{"combining_function": function, "conditions": list(conditions)}]}

    germany = {"regions": ["DE"], "ip_subnetworks": ["203.0.113.0/24", "198.51.100.0/24"]}
    before, after = (
        basic("AND", {"regions": ["DE"]}),
        basic("OR", germany, {"members": ["user:a@example.com"]}),
    )
    (one,) = plan(change(LEVEL, "update", before, after)).changes
    assert [topic.text for topic in topics(one)] == [
        "all_of → any_of",
        "+DE and 203.0.113.0/24 or 198.51.100.0/24, +user:a@example.com, -DE",
    ]
