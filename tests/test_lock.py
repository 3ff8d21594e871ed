import os
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from blueprint_texts import SYSTEM, document
from hypothesis import given, settings
from hypothesis import strategies as st

from groundplan.blueprints.addresses import Taken, free_ranges
from groundplan.blueprints.diagnostics import render
from groundplan.blueprints.lock import (
    ClusterRanges,
    EnvironmentLock,
    Lock,
    allocate,
    lock_path,
    lock_text,
    merged,
    prune,
    read_lock,
    write_lock,
)
from groundplan.errors import BlueprintError, InputError


def blueprint(environments, defaults=""):
    """A blueprint from environments and the bodies of their clusters."""
    lines = [f"defaults: {{{defaults}}}", "environments:"]
    for name, clusters in environments.items():
        bodies = [f"{key}: {{node_pools: {{{SYSTEM}}}, {body}}}" for key, body in clusters.items()]
        lines.append(f"  {name}: {{clusters: {{{', '.join(bodies)}}}}}")
    return document("\n".join(lines)).blueprint


def networks(lock):
    return [
        network
        for kept in lock.environments.values()
        for ranges in kept.ranges.values()
        for network in ranges.by_kind().values()
    ]


def ranges(nodes, pods, services):
    return ClusterRanges(nodes=nodes, pods=pods, services=services)


SOME = Lock(
    environments={
        "ml-prod": EnvironmentLock(
            project_number="123456789012",
            folder="345",
            access_policy="678",
            ranges={"main": ranges("10.64.0.0/20", "10.68.0.0/14", "10.64.16.0/20")},
        ),
        "ml-dev": EnvironmentLock(),
    }
)
TEXT = """\
# Written by groundplan; commit this file. It keeps what must not change once it is used (address ranges) and
# what is only known after something was made (project numbers, folders, access policies).
environments:
  ml-dev: {}
  ml-prod:
    project_number: "123456789012"
    folder: "345"
    access_policy: "678"
    ranges:
      main: {nodes: 10.64.0.0/20, pods: 10.68.0.0/14, services: 10.64.16.0/20}
"""


MAIN = "environments: {ml-dev: {ranges: {m: {"


class TestFile:
    def test_its_name(self):
        assert lock_path("blueprints/llm.yaml") == Path("blueprints/llm.lock.yaml")

    def test_a_lock_is_written_sorted_and_read_again(self, tmp_path):
        path = tmp_path / "llm.lock.yaml"
        assert write_lock(path, SOME)
        assert path.read_text() == TEXT == lock_text(SOME)
        assert read_lock(path) == SOME
        assert not write_lock(path, SOME)
        assert [file.name for file in tmp_path.iterdir()] == ["llm.lock.yaml"]
        assert path.stat().st_mode & 0o777 == 0o644

    def test_nothing_is_an_empty_lock(self, tmp_path):
        path = tmp_path / "x.lock.yaml"
        assert read_lock(path) == Lock()
        for text in ("", "# nothing yet\n\n", lock_text(Lock())):
            path.write_text(text)
            assert read_lock(path) == Lock()
        assert Lock().environment("ml-dev") == EnvironmentLock()

    @pytest.mark.parametrize(
        ("text", "place", "words"),
        [
            ("environments: {ml-dev: {project: 1}}\n", "1:25", "unknown key `project`"),
            ("environments: {ml-dev: {project_number: abc}}\n", "1:41", "`project_number` cannot be `abc`"),
            (f"{MAIN}nodes: 10.0.0.0/8, pods: 1}}}}}}}}\n", "1:63", "`pods` cannot be"),
            (f"{MAIN}nodes: 10.0.0.0/8}}}}}}}}\n", "1:34", "`pods` is missing in `m`"),
            ("environments: [ml-dev]\n", "1:15", "wants a map"),
            ("- a\n", "1:1", "wants a map"),
            ("a: [1,\nb: 2\n", "1:4", "no end"),
            ("environments:\n  a: {}\n  a: {}\n", "3:3", "twice"),
        ],
    )
    def test_a_lock_that_somebody_broke(self, tmp_path, text, place, words):
        path = tmp_path / "x.lock.yaml"
        path.write_text(text)
        with pytest.raises(BlueprintError) as caught:
            read_lock(path)
        first = caught.value.diagnostics[0]
        assert words in " ".join(one.message for one in caught.value.diagnostics)
        assert place in [str(one.position).removeprefix(f"{path}:") for one in caught.value.diagnostics]
        assert render(first)
        assert caught.value.exit_code == 1

    def test_a_failing_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "x.lock.yaml"
        write_lock(path, SOME)

        def fail(*_args):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises(InputError, match="No space left"):
            write_lock(path, Lock())
        assert path.read_text() == TEXT
        assert os.listdir(tmp_path) == ["x.lock.yaml"]  # noqa: PTH208

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(InputError, match="cannot be written"):
            write_lock(tmp_path / "missing" / "x.lock.yaml", SOME)


class TestAllocate:
    def test_the_first_free_ranges_in_the_order_of_the_file(self):
        made = blueprint({"ml-dev": {"main": ""}, "ml-prod": {"main": "", "second": ""}})
        assert lock_text(allocate(made, Lock())).splitlines()[2:] == [
            "environments:",
            "  ml-dev:",
            "    ranges:",
            "      main: {nodes: 10.64.0.0/20, pods: 10.68.0.0/14, services: 10.64.16.0/20}",
            "  ml-prod:",
            "    ranges:",
            "      main: {nodes: 10.64.32.0/20, pods: 10.72.0.0/14, services: 10.64.48.0/20}",
            "      second: {nodes: 10.64.64.0/20, pods: 10.76.0.0/14, services: 10.64.80.0/20}",
        ]

    def test_what_the_lock_holds_stays_whatever_is_added(self):
        before = allocate(blueprint({"ml-dev": {"b": ""}, "ml-prod": {"b": ""}}), Lock())
        larger = blueprint(
            {"ml-dev": {"a": "", "b": ""}, "ml-staging": {"x": ""}, "ml-prod": {"a": "", "b": "", "c": ""}}
        )
        after = allocate(larger, before)
        for name, kept in before.environments.items():
            assert after.environment(name).ranges["b"] == kept.ranges["b"]
        assert allocate(larger, after) == after

    def test_learned_ids_stay(self):
        after = allocate(blueprint({"ml-prod": {"main": "", "new": ""}}), SOME)
        assert after.environment("ml-prod").project_number == "123456789012"
        assert after.environments["ml-dev"] == EnvironmentLock()

    def test_fixed_ranges_are_taken_over_and_avoided(self):
        made = blueprint({"ml-dev": {"a": "", "b": "ranges: {nodes: 10.64.0.0/20, pods: 10.68.0.0/14}"}})
        lock = allocate(made, Lock()).environment("ml-dev")
        assert str(lock.ranges["b"].nodes) == "10.64.0.0/20"
        assert str(lock.ranges["a"].nodes) == "10.64.16.0/20"
        assert str(lock.ranges["a"].pods) == "10.72.0.0/14"

    def test_environments_with_different_spaces(self):
        made = document("""
            environments:
              ml-dev: {network: {address_space: 10.0.0.0/16}, clusters: {m: {}}}
              ml-prod: {network: {address_space: 10.0.0.0/8}, clusters: {m: {}}}
        """).blueprint
        lock = allocate(made, Lock())
        assert str(lock.environment("ml-dev").ranges["m"].pods) == "10.0.32.0/19"
        assert str(lock.environment("ml-prod").ranges["m"].pods) == "10.4.0.0/14"

    def test_ranges_shrink_before_a_space_is_full(self):
        space = "network: {address_space: 10.0.0.0/20}"
        one = allocate(blueprint({"ml-dev": {"a": ""}}, space), Lock())
        assert sorted(network.prefixlen for network in networks(one)) == [21, 26, 26]
        with pytest.raises(InputError) as caught:
            allocate(blueprint({"ml-dev": {"a": "", "b": "", "c": ""}}, space), Lock())
        assert "10.0.0.0/20 of ml-dev has no room" in caught.value.message
        assert "--prune" in caught.value.hint

    def test_ranges_of_what_is_gone_stay_until_they_are_pruned(self):
        before = allocate(blueprint({"ml-dev": {"a": "", "b": ""}, "ml-prod": {"a": ""}}), Lock())
        smaller = blueprint({"ml-dev": {"b": "", "c": ""}})
        after = allocate(smaller, before)
        assert {"a", "b", "c"} == after.environment("ml-dev").ranges.keys()
        assert after.environments["ml-prod"] == before.environments["ml-prod"]
        pruned = prune(smaller, after)
        assert {"b", "c"} == pruned.environment("ml-dev").ranges.keys()
        assert "ml-prod" not in pruned.environments

    def test_a_renamed_cluster_keeps_its_ranges(self):
        before = allocate(blueprint({"ml-dev": {"old": ""}}), Lock())
        after = allocate(blueprint({"ml-dev": {"new": "renamed_from: old"}}), before)
        assert after.environment("ml-dev").ranges == {"new": before.environment("ml-dev").ranges["old"]}

    def test_lock_and_blueprint_that_contradict_each_other(self):
        with pytest.raises(InputError) as caught:
            allocate(blueprint({"ml-prod": {"main": "ranges: {nodes: 10.65.0.0/20}"}}), SOME)
        assert caught.value.message == (
            "the nodes of ml-prod/main have 10.64.0.0/20 in the lock, 10.65.0.0/20 in the blueprint"
        )

    def test_fixed_ranges_that_overlap_the_lock(self):
        with pytest.raises(InputError) as caught:
            allocate(blueprint({"ml-dev": {"x": "ranges: {nodes: 10.64.8.0/21}"}}), SOME)
        overlap = "10.64.8.0/21 of ml-dev/x (nodes) overlaps 10.64.0.0/20 of ml-prod/main (nodes)"
        assert overlap in caught.value.message

    @settings(max_examples=40, deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from(["ml-dev", "ml-staging", "ml-prod"]),
            st.lists(st.sampled_from("abcdef"), unique=True, max_size=6),
            min_size=1,
        ),
        st.sampled_from(["10.64.0.0/10", "10.0.0.0/12", "172.16.0.0/16"]),
    )
    def test_ranges_never_overlap_and_stay_in_their_space(self, clusters, space):
        made = blueprint(
            {name: dict.fromkeys(keys, "") for name, keys in clusters.items()},
            f"network: {{address_space: {space}}}",
        )
        try:
            lock = allocate(made, Lock())
        except InputError:
            assert sum(map(len, clusters.values())) > 7
            return
        every = networks(lock)
        assert all(network.subnet_of(IPv4Network(space)) for network in every)
        assert not [(a, b) for index, a in enumerate(every) for b in every[:index] if a.overlaps(b)]
        assert allocate(made, lock) == lock


def test_free_ranges_change_nothing_that_is_taken():
    taken = Taken([(IPv4Network("10.0.0.0/24"), "x")])
    found = free_ranges(IPv4Network("10.0.0.0/16"), {}, taken)
    assert found is not None
    assert len(taken.ranges) == 1
    assert free_ranges(IPv4Network("10.0.0.0/30"), {}, taken) is None


def test_an_overlay_adds_what_was_learned_and_leaves_the_ranges():
    overlay = Lock(
        environments={
            "ml-prod": EnvironmentLock(
                project_number="999", ranges={"main": ranges("10.1.0.0/20", "10.4.0.0/14", "10.2.0.0/20")}
            ),
            "ml-new": EnvironmentLock(folder="1"),
        }
    )
    both = merged(SOME, overlay)
    prod = both.environment("ml-prod")
    assert (prod.project_number, prod.folder, prod.access_policy) == ("999", "345", "678")
    assert prod.ranges == SOME.environment("ml-prod").ranges
    assert both.environment("ml-new").folder == "1"
    assert merged(SOME, Lock()) == SOME
