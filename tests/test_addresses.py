"""Every shipped blueprint's stacks build, and no address in them changes by accident.

An address that changes is an object that is destroyed and made again. The lists in ``tests/addresses`` may
change only on purpose, and an address that goes away only together with a ``moved`` block.
"""

import os
from pathlib import Path

import pytest

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.lock import allocate, lock_path, read_lock
from groundplan.blueprints.reader import read
from groundplan.engines.terraform.writer import document
from groundplan.stacks.catalog import stack_names, stacks

LISTS = Path(__file__).with_name("addresses")
REFRESH = "GROUNDPLAN_REFRESH=1 pytest tests/test_addresses.py"


def shipped(name):
    """The blueprint of a name in the library, with its lock file."""
    path = library_blueprints()[name]
    blueprint = read(path).blueprint
    return blueprint, allocate(blueprint, read_lock(lock_path(path)))


STACKS = [(name, stack) for name in library_blueprints() for stack in stack_names(shipped(name)[0])]


@pytest.mark.parametrize(("name", "stack"), STACKS, ids=[f"{name}-{stack}" for name, stack in STACKS])
def test_addresses_of_shipped_blueprints_stay(name, stack):
    (built,) = stacks(*shipped(name), [stack])
    found = sorted(resource.address for resource in built.graph)
    path = LISTS / f"{name}.{stack}.txt"
    if os.environ.get("GROUNDPLAN_REFRESH"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(found) + "\n", encoding="utf-8")
    known = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    new, gone = sorted(set(found) - set(known)), sorted(set(known) - set(found))
    assert found == known, f"new: {new}, gone: {gone}. If that is meant: {REFRESH}"
    assert document(built)["resource"], "it can be written"


def test_every_list_belongs_to_a_stack():
    assert {path.stem for path in LISTS.glob("*.txt")} == {f"{name}.{stack}" for name, stack in STACKS}
    assert len(STACKS) >= 12
