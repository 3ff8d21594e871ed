"""Mistakes: every one is found in one run, at its place, in our words."""

import os
from pathlib import Path

import pytest
from blueprint_texts import TOP, codes, cut, document, found, one, only
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundplan.blueprints.diagnostics import render
from groundplan.blueprints.files import discover
from groundplan.blueprints.model import Environment
from groundplan.blueprints.provisioned import provisioned_later
from groundplan.blueprints.reader import read
from groundplan.errors import BlueprintError, GroundplanError, InputError

DATA = Path(__file__).parent / "data" / "blueprints"
REFRESH = "GROUNDPLAN_REFRESH=1 pytest tests/test_blueprint_reader.py"


def test_the_smallest_file():
    made = document("environments: {ml-dev: {}}").blueprint
    env = made.environments["ml-dev"]
    assert isinstance(env, Environment)
    assert (made.api_version, made.name, made.organization) == ("groundplan/v1", "llm", None)
    assert (env.name, env.platform, env.tier, env.protect) == ("ml-dev", "llm", "development", False)
    assert (env.project_id, env.bucket_names, env.region) == ("llm-ml-dev", {}, "us-central1")


def test_environments_are_complete():
    made = document("""
        organization: 123456789012
        names: {bucket: "{project}-data-{key}"}
        environments:
          ml-staging:
            storage: {buckets: {raw: {existing: acme-raw}, a: {generation: 2}, b: {renamed_from: old}}}
          ml-prod:
            protect: false
            project: {existing: acme-prod}
            storage: {buckets: {x: {name: acme-x}, y: {}}}
          eval: {tier: production}
    """).blueprint
    staging, prod, other = made.environments.values()
    assert made.organization == "123456789012"
    assert staging.bucket_names == {
        "raw": "acme-raw", "a": "llm-ml-staging-data-a-g2", "b": "llm-ml-staging-data-old",
    }  # fmt: skip
    assert (staging.tier, staging.protect) == ("staging", True)
    assert (prod.tier, prod.protect, prod.project_id) == ("production", False, "acme-prod")
    assert prod.bucket_names == {"x": "acme-x", "y": "acme-prod-data-y"}
    assert (other.tier, other.protect, other.project_id) == ("production", True, "llm-eval")


def test_source_text_reaches_the_models():
    text = one("""
        folder: 345678901234
        automation: {github: a/b, branch: no}
        labels: {version: 1_30, cost: 007}
        clusters: {main: {min_version: 1.30, node_pools: {s: {machine: e2-standard-4, nodes: 1}}}}
    """)
    env = document(text).blueprint.environments["ml-dev"]
    assert (env.folder, env.automation.branch) == ("345678901234", "no")
    assert env.labels == {"version": "1_30", "cost": "007"}
    assert env.clusters["main"].min_version == "1.30"


def main(body):
    return f"clusters: {{main: {{{body}}}}}"


def pool(body):
    return main(f"node_pools: {{x: {{machine: e2-standard-4, {body}}}}}")


def window(body):
    return main(f"maintenance: {{window: {{{body}}}}}")


def exclusion(body):
    return main(f"maintenance: {{exclusions: {{x: {{{body}}}}}}}")


#: What stands in `ml-dev`, and of the only error: code, what it points at, parts of its message and its hint.
PAID = "billing_account: 01AB23-CD45EF-678901\n"
MISTAKES = [
    ("regoin: us-central1", "BP001", "regoin", "unknown key `regoin` in an environment", "`region`"),
    ("zones: [a]", "BP001", "zones", "in an environment", "a cluster, a node pool or a disk"),
    ("machine: e2-standard-4", "BP001", "machine", "unknown key", "or a node pool"),
    (main("node_pool: {}"), "BP001", "node_pool", "in a cluster", "`node_pools`"),
    ("network: {nats: true}", "BP001", "nats", "in `network`", "`nat`"),
    ("bukets: {}", "BP001", "bukets", "unknown key", "`buckets`, which belongs to `storage`"),
    (pool("nodes: 1, capacity: {reservaton: h}"), "BP001", "reservaton", "unknown key", "`reservation`"),
    (pool("nodes: 1, capacity: {kind: spot}"), "BP001", "kind", "unknown key", ""),
    (window('start: "02:00", duration: 8h'), "BP002", "window", "`days` is missing in `window`", "Days"),
    (main("node_pools: {x: {nodes: 1}}"), "BP002", "x", "`machine` is missing in `x`", "e2-standard-4"),
    (pool("nodes: {min: 1}"), "BP002", "nodes", "`max` is missing in `nodes`", "Most nodes"),
    (pool("nodes: 1, node_taints: [{value: a}]"), "BP002", "{value: a}", "`key` is missing", "Key"),
    ("network: {nat: yes}", "BP003", "yes", "`nat` cannot be `yes`", "true or false"),
    ("protect: 1", "BP003", "1", "`protect` cannot be `1`", "true or false"),
    ("tier: prod", "BP003", "prod", "`tier` cannot be `prod`", "Did you mean `production`?"),
    ("tier: Staging", "BP003", "Staging", "cannot be", "Did you mean `staging`?"),
    ("region: US-Central1", "BP003", "US-Central1", "`region` cannot be", "us-central1"),
    ("folder: folders/12", "BP003", "folders/12", "`folder` cannot be", "digits"),
    ("billing_account: 1-2-3", "BP003", "1-2-3", "cannot be", "01AB23-CD45EF-678901"),
    ("network: {address_space: 10.1.2.3/10}", "BP003", "10.1.2.3/10", "`address_space`", "10.0.0.0/10"),
    ("network: {address_space: 10.64.0.0}", "BP003", "10.64.0.0", "cannot be", "10.64.0.0/20"),
    ("network: {address_space: fd00::/8}", "BP003", "fd00::/8", "cannot be", "IPv4"),
    ("network: true", "BP003", "true", "`network` wants a map, not `true`", "address_space, nat"),
    ("clusters: [main]", "BP003", "[main]", "`clusters` wants a map, not a list", ""),
    (main("zones: a"), "BP003", "a", "`zones` wants a list, not `a`", "`zones: [a]`"),
    ("labels: {team: [a]}", "BP003", "[a]", "`team` wants one value, not a list", ""),
    ("clusters: {Main: {}}", "BP003", "Main", "`Main` cannot be a key", "lower-case"),
    ("contacts: {securty: [a]}", "BP003", "securty", "`securty` cannot be a key", "`security`"),
    ("storage: {buckets: {a: {soft_delete: 7 days}}}", "BP003", "7 days", "cannot be `7 days`", "90m, 3d"),
    ("storage: {buckets: {a: {soft_delete: 7}}}", "BP003", "7", "`soft_delete` cannot be `7`", "90m, 3d"),
    ("storage: {filestore: {h: {tier: zonal, capacity: 1TB}}}", "BP003", "1TB", "`capacity` cannot", "1TiB"),
    ("storage: {lustre: {s: {capacity: 1TiB, throughput_per_tib: 5}}}", "BP003", "5", "cannot be", "MiB/s"),
    ('storage: {buckets: {a: {location: ""}}}', "BP003", '""', "`location` cannot be ``", "not empty"),
    (main("node_pools: {x: {machine: e2, nodes: 1}}"), "BP003", "e2", "`machine` cannot be `e2`", "e2-"),
    (main("min_version: v1.34"), "BP003", "v1.34", "`min_version` cannot be", "1.34"),
    (pool("nodes: five"), "BP003", "five", "`nodes` cannot be `five`", "{min: 0, max: 4}"),
    (pool("nodes: -1"), "BP003", "-1", "`nodes` cannot be `-1`", "{min: 0, max: 4}"),
    (pool("nodes: {max: -1}"), "BP003", "-1", "`max` cannot be `-1`", "at least 0"),
    (pool("nodes: {max: 0x10}"), "BP003", "0x10", "`max` cannot be `0x10`", "whole number"),
    (pool("nodes: 1, capacity: sport"), "BP003", "sport", "`capacity` cannot be", "Did you mean `spot`?"),
    (pool("nodes: 1, capacity: {spot: {}, queued: {}}"), "CO003", "{spot: {}, queued: {}}",
     "spot and queued exclude each other", "`capacity: spot`"),
    (pool("nodes: 1, boot_disk: {size: 5GiB}"), "BP003", "5GiB", "`size` cannot be `5GiB`", "at least 10GiB"),
    (window('days: [sun, saturday], start: "02:00", duration: 8h'), "BP003", "saturday", "`days[1]`", "sat"),
    (window('days: [], start: "02:00", duration: 8h'), "BP003", "[]", "`days` cannot be this", "at least 1"),
    (window("days: [sat], start: 2:00, duration: 8h"), "BP003", "2:00", "`start` cannot be `2:00`", "02:00"),
    (exclusion("start: 2026-12-15, end: end-of-support"), "BP003", "2026-12-15", "`start` cannot be", "zone"),
    (exclusion("start: 2026-12-15T00:00:00Z, end: never"), "BP003", "never", "`end`", "end-of-support"),
    ("budget: {monthly: 5e3}", "BP003", "5e3", "`monthly` cannot be `5e3`", "whole number"),
    (PAID + "budget: {monthly: 50, alerts: [half]}", "BP003", "half", "`alerts[0]` cannot be `half`", "0.5"),
    (PAID + "budget: {monthly: 50, alerts: [nan]}", "BP003", "nan", "`alerts[0]` cannot be `nan`", ""),
    (PAID + "budget: {monthly: 50, alerts: [0]}", "BP003", "0", "`alerts[0]` cannot be `0`", "more than 0"),
    ("access: {operators: [ops@a.com]}", "BP003", "ops@a.com", "`operators[0]` cannot be", "group:"),
    ("access: {grants: {bob: [roles/viewer]}}", "BP003", "bob", "`bob` cannot be a key", "group:"),
    ("workloads: {w: {roles: [viewer]}}", "BP003", "viewer", "`roles[0]` cannot be", "roles/"),
    ("automation: {github: ml}", "BP003", "ml", "`github` cannot be `ml`", "OWNER/REPOSITORY"),
    ("region:", "BP006", "region", "`region` is left blank", "Write a value"),
    (pool("nodes: "), "BP006", "nodes", "`nodes` is left blank", ""),
    (pool("nodes: 1, capacity: {flex-start: {}, reservation: h}"), "CO005",
     "{flex-start: {}, reservation: h}", "flex-start cannot consume a reservation", "`capacity: flex-start`"),
    (pool("nodes: 1, capacity: {spot: {}, reservation: h}"), "CO004",
     "{spot: {}, reservation: h}", "spot cannot consume a reservation", ""),
    (pool("nodes: 1, capacity: {any-reservation: {}, reservation: h}"), "CO001",
     "{any-reservation: {}, reservation: h}", "any-reservation cannot consume", ""),
    (pool("nodes: 1, capacity: {reservation: {nmae: h}}"), "BP001", "nmae", "in `reservation`", "`name`"),
    (main("node_pools: {x: {machin: e2-standard-4, nodes: 1}}"), "BP001", "machin", "a node pool", ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "at", "message", "hint"), MISTAKES)
def test_one_mistake(body, code, at, message, hint):
    text = one(body)
    (diagnostic,) = [one for one in found(text) if one.severity == "error"]
    assert (diagnostic.code, cut(text, diagnostic)) == (code, at)
    assert message in diagnostic.message
    assert hint in diagnostic.hint
    everything = diagnostic.message + diagnostic.hint
    assert not [
        jargon for jargon in ("pydantic", "Input should", "Value error", "dictionary") if jargon in everything
    ]
    assert render(diagnostic)


@pytest.mark.parametrize(
    ("top", "code", "at", "message"),
    [
        ("apiVersion: groundplan/v1\n", "BP002", "apiVersion", "`name` is missing"),
        ("name: llm\n", "BP002", "name", "`apiVersion` is missing"),
        (
            "apiVersion: groundplan/v2\nname: llm\n",
            "BP003",
            "groundplan/v2",
            "`apiVersion` cannot be `groundplan/v2`",
        ),
        ("apiVersion: groundplan/v1\nname: my_llm\n", "BP003", "my_llm", "`name` cannot be `my_llm`"),
        (f"apiVersion: groundplan/v1\nname: {'a' * 21}\n", "BP003", "a" * 21, "`name` cannot be"),
        (
            f"{TOP}organisation: 12\n",
            "BP001",
            "organisation",
            "unknown key `organisation` at the top of the file",
        ),
        (f"{TOP}foundation: {{}}\n", "BP002", "foundation", "`project` is missing in `foundation`"),
        (
            f"{TOP}foundation: {{project: null}}\n",
            "BP002",
            "foundation",
            "`project` is missing in `foundation`",
        ),
        (f"{TOP}engine: {{name: terrafrom}}\n", "BP003", "terrafrom", "`name` cannot be `terrafrom`"),
    ],
)
def test_one_mistake_at_the_top(top, code, at, message):
    text = "environments: {ml-dev: {}}\n"
    (diagnostic,) = found(text, top)
    assert (diagnostic.code, cut(text, diagnostic, top)) == (code, at)
    assert message in diagnostic.message


@pytest.mark.parametrize("body", ["", "environments:\n", "environments: {}\n", "environments: null\n"])
def test_there_are_environments(body):
    assert only(body).message == "there are no environments"


@pytest.mark.parametrize("text", ["[a]\n", "hello\n", "42\n", '"x"\n'])
def test_a_blueprint_is_a_map(text):
    (diagnostic,) = found(text, top="")
    assert diagnostic.code == "BP003"
    assert "wants a map" in diagnostic.message


def test_the_name_of_an_environment():
    assert (
        only("environments: {ML-Dev: {tier: staging}}").message
        == "`ML-Dev` cannot be the name of an environment"
    )
    diagnostic = only("environments: {eval: {}}")
    assert (diagnostic.code, diagnostic.message) == ("BP004", "the environment `eval` has no tier")
    assert "ml-dev, ml-staging and ml-prod" in diagnostic.hint


class TestDefaults:
    def test_a_mistake_in_the_defaults_is_one_mistake(self):
        text = """
            defaults:
              network: {nat: yes}
              labels: {Team: x}
              clusters: {main: {node_pools: {x: {nodes: 1}}}}
              workloads: {w: {reads: [buckets/no]}}
            environments: {ml-dev: {}, ml-staging: {}, ml-prod: {}}
        """
        assert [(one.code, one.path) for one in found(text)] == [
            ("BP003", "defaults.network.nat"),
            ("LB001", "defaults.labels.Team"),
            ("BP002", "defaults.clusters.main.node_pools.x.machine"),
            ("RF001", "defaults.workloads.w.reads[0]"),
        ]

    def test_what_only_some_heirs_have_says_whose_it_is(self):
        diagnostic = only("""
            defaults:
              workloads: {w: {reads: [buckets/raw]}}
            environments:
              ml-dev: {}
              ml-staging: {storage: {buckets: {raw: {}}}}
              ml-prod: {}
        """)
        assert diagnostic.message == "there is no `buckets/raw` (in ml-dev and ml-prod)"

    def test_a_mistake_that_every_environment_replaces_is_still_one(self):
        assert (
            only("""
            defaults: {region: nowhere}
            environments: {ml-dev: {region: us-central1}}
        """).path
            == "defaults.region"
        )

    def test_a_part_that_an_environment_completes_is_no_mistake(self):
        assert not found("""
            defaults: {clusters: {main: {node_pools: {x: {nodes: 1}}}}}
            environments: {ml-dev: {clusters: {main: {node_pools: {x: {machine: e2-standard-4}}}}}}
        """)


class TestAllAtOnce:
    def test_mistakes_do_not_hide_each_other_and_cause_no_others(self):
        text = """
            defaults:
              clusters:
                main:
                  node_pools:
                    system: {machine: 7, nodes: {min: 1, max: 3}}
                    l4: {machine: g2-standard-4, nodes: x, boot_disk: {size: 200GB}}
            environments:
              ml-dev:
                storage: {buckets: {raw: {soft_delete: never}, data: [1]}}
                workloads: {w: {reads: [buckets/raw, buckets/data], runs_on: [l4, system, l5]}}
        """
        assert codes(text) == ["BP003", "BP003", "BP003", "BP003", "BP003", "RF002"]

    def test_one_bad_environment_does_not_hide_the_rules_of_others(self):
        text = """
            environments:
              ml-dev: {tier: nothing}
              ml-prod: {labels: {A: b}, clusters: {main: {endpoint: {authorized_networks: [10.0.0.0/8]}}}}
        """
        assert codes(text) == ["BP003", "LB001", "ND003", "EP001"]

    def test_a_wrong_name_at_the_top_does_not_hide_the_rest(self):
        assert codes("environments: {ml-dev: {labels: {A: b}}}", "apiVersion: groundplan/v1\nname: X\n") == [
            "BP003",
            "LB001",
        ]

    def test_ten_mistakes_in_one_file(self):
        source = DATA / "ten-mistakes.yaml"
        with pytest.raises(BlueprintError) as caught:
            read(source.name, text=source.read_text())
        text = "\n\n".join(render(one) for one in caught.value.diagnostics) + "\n"
        golden = source.with_suffix(".txt")
        if os.environ.get("GROUNDPLAN_REFRESH"):
            golden.write_text(text)
        assert text == golden.read_text(), f"refresh with: {REFRESH}"
        assert sum(one.severity == "error" for one in caught.value.diagnostics) >= 10
        positions = [one.position for one in caught.value.diagnostics]
        assert positions == sorted(positions)


class TestLater:
    TEXT = """
        defaults: {terraform: {files: [a.tf]}}
        environments:
          ml-dev: {storage: {buckets: {x: {}}}}
          ml-prod:
            terraform: {patch: {a.b: {c: 1}}}
            workloads: {w: {}}
            storage: {buckets: {y: {anywhere_cache: [a]}}}
    """

    def test_what_is_not_provisioned_yet_is_a_warning(self):
        assert [(one.severity, one.code, one.message) for one in found(self.TEXT)] == [
            ("warning", "LT001", "`terraform.files` is not provisioned yet"),
            ("warning", "LT001", "`terraform.patch` is not provisioned yet"),
            ("warning", "LT001", "`anywhere_cache` is not provisioned yet"),
        ]

    def test_a_real_plan_refuses_it_in_the_environments_it_plans(self):
        made = document(self.TEXT)
        dev = [one.message for one in provisioned_later(made, ["ml-dev"])]
        assert dev == ["`terraform.files` is not provisioned yet"]
        every = provisioned_later(made)
        assert len(every) == 3
        assert {one.severity for one in every} == {"error"}
        assert all(one.lines and one.position.line > 1 for one in every)

    def test_a_default_that_is_written_asks_for_nothing(self):
        assert not codes(
            one("""
            perimeter: {mode: none, ingress: {}}
            encryption: {mode: google}
            secrets: {}
            clusters:
              main:
                node_pools: {s: {machine: e2-standard-4, nodes: 1, placement: none, capacity: on-demand}}
        """)
        )


class TestDiscover:
    def test_what_is_given_wins(self, tmp_path):
        assert discover(tmp_path, "a/b.yaml") == Path("a/b.yaml")
        assert discover(tmp_path, "-") == Path("-")

    def test_the_only_one_is_found(self, tmp_path):
        (tmp_path / "groundplan.yaml").touch()
        assert discover(tmp_path) == tmp_path / "groundplan.yaml"
        (tmp_path / "groundplan.yaml").unlink()
        (tmp_path / "blueprints" / ".cache").mkdir(parents=True)
        for name in ("llm.yaml", "llm.lock.yaml", "llm.waivers.yaml", "notes.md", ".cache/x.yaml"):
            (tmp_path / "blueprints" / name).touch()
        assert discover(tmp_path) == tmp_path / "blueprints" / "llm.yaml"

    def test_several_are_listed(self, tmp_path):
        (tmp_path / "blueprints").mkdir()
        (tmp_path / "blueprints" / "a.yaml").touch()
        (tmp_path / "groundplan.yaml").touch()
        with pytest.raises(InputError) as caught:
            discover(tmp_path)
        assert caught.value.detail.split() == [os.path.join("blueprints", "a.yaml"), "groundplan.yaml"]  # noqa: PTH118

    def test_none_suggests_to_write_one(self, tmp_path):
        with pytest.raises(InputError) as caught:
            discover(tmp_path)
        assert "groundplan init" in caught.value.hint


def test_the_diagnostics_of_an_error_carry_their_lines():
    (diagnostic,) = found("environments: {ml-dev: {tier: x}}")
    assert "tier: x" in render(diagnostic)


LINES = [line for path in DATA.glob("*.yaml") for line in path.read_text().splitlines()]
PARTS = [
    "null",
    "{}",
    "[]",
    "~",
    "",
    "x: {}",
    "- 1",
    "&a",
    "*a",
    "<<: *a",
    "!!x y",
    "${x}",
    "1",
    "é",
    "ml-prod:",
]


def survives(text):
    try:
        made = read("x.yaml", text=text)
    except GroundplanError as error:
        assert isinstance(error, InputError)
        for diagnostic in getattr(error, "diagnostics", ()):
            assert render(diagnostic)
        return
    for name in made.blueprint.environments:
        assert made.position_of(name, "clusters.main").line >= 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200))
def test_random_text_gives_messages_only(text):
    survives(text)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_broken_blueprints_give_messages_only(data):
    lines = (DATA / "language.yaml").read_text().splitlines()
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut_at = data.draw(st.integers(0, len(line)))
        part = data.draw(st.sampled_from(PARTS) | st.sampled_from(LINES))
        match data.draw(st.integers(0, 3)):
            case 0:
                lines[at] = line[:cut_at] + part
            case 1:
                lines[at] = line[:cut_at] + part + line[cut_at:]
            case 2:
                lines.insert(at, " " * data.draw(st.integers(0, 12)) + part)
            case _:
                del lines[at]
    survives("\n".join(lines))


def test_a_file_that_grows_with_its_environments_is_refused_before_it_does():
    labels = ", ".join(f"k{n}: v" for n in range(2000))
    environments = ", ".join(f"e{n}: {{tier: staging}}" for n in range(500))
    diagnostic = only(f"defaults: {{labels: {{{labels}}}}}\nenvironments: {{{environments}}}\n")
    assert (diagnostic.code, diagnostic.path) == ("SY005", "defaults")


def test_nobody_gets_more_mistakes_than_can_be_read():
    assert len(found("environments: {ml-dev: }\n" + "".join(f"k{n}: 1\n" for n in range(3000)))) == 1000
