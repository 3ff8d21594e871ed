"""A key that is renamed in the blueprint changes no name in the cloud and replaces nothing, now or later."""

import json
import re

import pytest
import yaml
from blueprint_factory import L4, SYSTEM, platform, stack
from cli_factory import BLUEPRINT, cloud, edit, groundplan, project

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import Lock, allocate, lock_path, lock_text, prune, read_lock, write_lock
from groundplan.blueprints.reader import read
from groundplan.engines.terraform.writer import document
from groundplan.errors import InputError
from groundplan.facts.schema import resource_type, walk
from groundplan.stacks.catalog import stacks

LIBRARY = library_blueprints()
POOL = "google_container_node_pool"
#: Maps of the language whose keys are names of items.
ITEMS = ("clusters", "node_pools", "buckets", "workloads")


def renamed(value, classes, path=()):
    """The data of a blueprint with every item renamed, and everything that refers to one.

    ``classes`` are the keys that are no items although they stand where pools may.
    """
    if isinstance(value, str):
        if path[-1] in ("runs_on", "compute_classes"):
            return value if value in classes else "/".join(f"{part}-x" for part in value.split("/"))
        return re.sub(r"^(buckets|workloads)/[a-z0-9-]+", r"\g<0>-x", value)
    if isinstance(value, list):
        return [renamed(one, classes, path) for one in value]
    if not isinstance(value, dict):
        return value
    if path and path[-1] in ITEMS:
        return {
            f"{key}-x": renamed({**(one or {}), "renamed_from": key}, classes, (*path, "*"))
            for key, one in value.items()
        }
    below = path[-1:] if path[-1:] == ("compute_classes",) else ()
    found = {key: renamed(one, classes, below or (*path, key)) for key, one in value.items()}
    if path[-1:] == ("mounts",):
        return {renamed(key, classes, path): one for key, one in found.items()}
    return found


def compute_classes(value):
    """The keys of all compute classes in the data of a blueprint."""
    if not isinstance(value, dict):
        return set()
    return set(value.get("compute_classes") or ()).union(*map(compute_classes, value.values()))


def forcing(type, values, prefix=""):
    """The attributes of a resource that cannot change, with their values."""
    facts = dict(walk(resource_type(type, "google-beta").block))
    for name, value in values.items():
        if not prefix and name in ("depends_on", "lifecycle", "provider", "timeouts"):
            continue
        path = prefix + name
        fact = facts.get(path)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for index, one in enumerate(value):
                for inner, found in forcing(type, one, f"{path}."):
                    yield f"{index}.{inner}", found
        elif fact is None or fact.force_new is not False:
            yield path, value


@pytest.mark.parametrize("name", LIBRARY)
def test_renaming_everything_in_a_shipped_blueprint_replaces_nothing(name):
    path = LIBRARY[name]
    lock = read_lock(lock_path(path))
    before = stacks(read(path).blueprint, lock)
    data = yaml.safe_load(path.read_text())
    text = yaml.safe_dump(renamed(data, compute_classes(data)), sort_keys=False)
    blueprint = read(path, text).blueprint
    after = stacks(blueprint, allocate(blueprint, lock))
    for old, new in zip(before, after, strict=True):
        moves = new.graph.moves
        now = {moves.get(resource.address, resource.address): resource for resource in old.graph}
        assert now.keys() == {resource.address for resource in new.graph}
        former = json.dumps(document(old)["resource"])
        for was, address in sorted(moves.items(), key=lambda move: -len(move[0])):
            former = re.sub(rf"(?<=\$\{{){re.escape(was)}(?=[.\[}}])", address, former)
        then, present = json.loads(former), document(new)["resource"]
        for address, resource in now.items():
            if resource.mode == "managed":
                type, _, key = address.partition(".")
                assert dict(forcing(type, present[type][key])) == dict(
                    forcing(type, then[type][resource.name])
                )
    assert sum(len(stack.graph.moves) for stack in after) > 20


CLUSTER = (
    "clusters: {{{key}: {{{body}node_pools: {{system: {{machine: e2-standard-4, nodes: 1}}, {pool}}}}}}}"
)


def dev(pool, key="main", body="", more=""):
    """A blueprint of one environment with one cluster."""
    text = (
        "apiVersion: groundplan/v1\nname: llm\nenvironments:\n  ml-dev:\n"
        f"    {CLUSTER.format(key=key, body=body, pool=pool)}\n    {more}\n"
    )
    return read("llm.yaml", text).blueprint


def pool(key, **values):
    """A node pool in a blueprint's text."""
    body = {"machine": "e2-standard-8", "nodes": 1, **values}
    return f"{key}: {{{', '.join(f'{name}: {value}' for name, value in body.items())}}}"


class Life:
    """A blueprint and its lock file through several versions."""

    def __init__(self):
        self.lock = Lock()

    def to(self, blueprint):
        self.lock = allocate(blueprint, self.lock)
        assert allocate(blueprint, self.lock) == self.lock
        (made,) = stacks(blueprint, self.lock)
        return made.graph


def pool_names(graph):
    return {resource.name: resource.attributes["name"] for resource in graph.of_type(POOL)}


def pool_moves(graph):
    return {
        old.removeprefix(f"{POOL}."): new.removeprefix(f"{POOL}.")
        for old, new in graph.moves.items()
        if old.startswith(POOL)
    }


def test_a_name_stays_when_renamed_from_is_taken_out_and_when_it_is_renamed_again():
    life = Life()
    life.to(dev(pool("a")))
    life.to(dev(pool("b", renamed_from="a")))
    later = life.to(dev(pool("b")))
    assert pool_names(later)["main_b"] == "a"
    # Another environment's state, or a colleague's, may not have moved yet.
    assert pool_moves(later) == {"main_a": "main_b"}
    again = life.to(dev(pool("c", renamed_from="b")))
    assert pool_names(again)["main_c"] == "a"
    assert pool_moves(again) == {"main_a": "main_b", "main_b": "main_c"}
    assert pool_moves(life.to(dev(pool("c")))) == pool_moves(again)


def test_addresses_follow_the_order_in_which_cluster_and_pool_were_renamed():
    life = Life()
    life.to(dev(pool("a")))
    life.to(dev(pool("b", renamed_from="a")))
    graph = life.to(dev(pool("b", renamed_from="a"), key="core", body="renamed_from: main, "))
    assert pool_moves(graph) == {
        "main_a": "main_b",
        "main_b": "core_b",
        "main_system": "core_system",
    }
    assert pool_names(graph)["core_b"] == "a"
    together = Life()
    together.to(dev(pool("a")))
    graph = together.to(dev(pool("b", renamed_from="a"), key="core", body="renamed_from: main, "))
    assert pool_moves(graph) == {"main_a": "core_b", "main_system": "core_system"}


def test_what_is_renamed_back_has_its_first_address_and_name():
    life = Life()
    life.to(dev(pool("a")))
    life.to(dev(pool("b", renamed_from="a")))
    graph = life.to(dev(pool("a", renamed_from="b")))
    assert pool_moves(graph) == {"main_b": "main_a"}
    assert pool_names(graph)["main_a"] == "a"


def test_a_key_in_between_may_be_used_again_but_not_the_first():
    life = Life()
    life.to(dev(pool("a")))
    life.to(dev(pool("b", renamed_from="a")))
    life.to(dev(pool("c", renamed_from="b")))
    graph = life.to(dev(f"{pool('c')}, {pool('b')}"))
    assert pool_names(graph) == {"main_system": "system", "main_b": "b", "main_c": "a"}
    assert pool_moves(graph) == {"main_a": "main_c"}
    graph = life.to(dev(f"{pool('c')}, {pool('d', renamed_from='b')}"))
    assert pool_moves(graph) == {"main_a": "main_c", "main_b": "main_d"}
    assert pool_names(graph)["main_d"] == "b"
    with pytest.raises(InputError) as caught:
        life.to(dev(f"{pool('c')}, {pool('a')}"))
    assert "`clusters/main/node_pools/a`" in caught.value.message
    assert "`c` was called `a`" in caught.value.hint


def test_names_of_buckets_and_workloads_stay_too():
    life = Life()
    body = "storage: {buckets: {BUCKET}}\n    workloads: {WORKLOAD: {writes: [buckets/KEY]MORE}}"
    for bucket, key, workload, more in (
        ("sets: {}", "sets", "trainer", ""),
        ("data: {renamed_from: sets}", "data", "fitter", ", renamed_from: trainer"),
        ("data: {}", "data", "fitter", ""),
    ):
        text = body.replace("BUCKET", bucket).replace("KEY", key)
        graph = life.to(dev(pool("a"), more=text.replace("WORKLOAD", workload).replace("MORE", more)))
    assert graph["google_storage_bucket.data"].attributes["name"] == "llm-ml-dev-sets"
    grant = graph["google_storage_bucket_iam_member.fitter_data"]
    assert grant.attributes["member"].parts[-1].endswith("/ns/default/sa/trainer")


def test_the_lock_file_says_what_was_renamed(tmp_path):
    path = tmp_path / "llm.lock.yaml"
    life = Life()
    for pools, key, body in (
        (pool("a"), "main", ""),
        (pool("b", renamed_from="a"), "main", ""),
        (pool("c", renamed_from="b"), "core", "renamed_from: main, "),
    ):
        life.to(dev(pools, key=key, body=body))
        write_lock(path, life.lock)
        assert read_lock(path) == life.lock
    assert """\
    renamed:
      - clusters/main/node_pools/b: clusters/main/node_pools/a
      - clusters/core: clusters/main
        clusters/core/node_pools/c: clusters/main/node_pools/b
    ranges:
      core: """ in path.read_text()
    gone = dev(pool("d"), key="core")
    assert prune(gone, life.lock).environment("ml-dev").renamed == life.lock.environment("ml-dev").renamed[1:]
    other = dev(pool("d"), key="other")
    assert "renamed" not in lock_text(prune(other, allocate(other, life.lock)))


def test_a_lock_file_that_somebody_broke_is_told_with_its_line(tmp_path):
    path = tmp_path / "llm.lock.yaml"
    path.write_text("environments:\n  ml-dev:\n    renamed:\n      - {clusters/core: Main}\n")
    with pytest.raises(InputError) as caught:
        read_lock(path)
    assert caught.value.diagnostics[0].position.line == 4


def test_what_is_not_renamed_is_as_it_was():
    made = platform({"ml-dev": {}}, foundation=False)
    assert stack(made).graph.moves == {}
    assert made.environments["ml-dev"].clusters["main"].former == ()
    assert {**SYSTEM, **L4}.keys().isdisjoint({"renamed_from"})


@pytest.mark.terraform
def test_terraform_moves_everything_and_changes_nothing(tmp_path):
    folder = project(tmp_path, BLUEPRINT)
    assert groundplan(folder, "apply", "--offline", "--auto-approve", "--no-verify").code == 0
    objects = cloud(folder)
    edit(folder, "    main:\n", "    core:\n      renamed_from: main\n")
    edit(folder, "l4: {", "gpu: {renamed_from: l4, ")
    edit(folder, "buckets: {data: {}}", "buckets: {sets: {renamed_from: data}}")
    edit(
        folder,
        "trainer: {writes: [buckets/data], runs_on: [l4]",
        "fitter: {renamed_from: trainer, writes: [buckets/sets], runs_on: [gpu]",
    )
    moving = groundplan(folder, "apply", "--offline", "--auto-approve")
    assert moving.code == 0, moving.both
    assert "0 to add, 0 to change, 0 to replace, 0 to destroy" in moving.out
    assert {path: text for path, text in cloud(folder).items() if objects[path] != text}.keys() == {
        path for path in objects if "google_service_account" in path
    }, "only the description of the nodes' account names the cluster's key"
    for word in ("renamed_from: main", "renamed_from: l4, ", "renamed_from: data", "renamed_from: trainer, "):
        edit(folder, word, "")
    after = groundplan(folder, "plan", "--offline", "--detailed-exitcode")
    assert after.code == 0, after.both
    edit(folder, "gpu: {", "turbo: {renamed_from: gpu, ")
    edit(folder, "runs_on: [gpu]", "runs_on: [turbo]")
    shown = groundplan(folder, "plan", "--offline", "--resources").out
    assert f"= {POOL}.core_turbo (was {POOL}.core_gpu)" in shown
    assert "1 to move" in shown
