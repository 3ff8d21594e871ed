"""Forty node pools that Cluster Toolkit was measured with, what groundplan makes of them, and the page."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from groundplan.blueprints.lock import Lock, allocate
from groundplan.blueprints.reader import read
from groundplan.blueprints.rules.examples import complete
from groundplan.engines.terraform.writer import dumps
from groundplan.stacks.catalog import stacks

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))
comparison = importlib.import_module("comparison")
generated_part = importlib.import_module("generated_part")

WRONG, RIGHT = comparison.cases()


def test_there_are_as_many_pools_as_were_measured():
    verdicts = [one.peer.split()[0] for one in WRONG]
    assert (len(WRONG), len(RIGHT)) == (33, 7)
    assert (verdicts.count("stopped"), verdicts.count("warned"), verdicts.count("passed")) == (15, 1, 17)
    assert sum(one.peer.startswith("wrongly") for one in RIGHT) == 1


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.pool)
def test_a_wrong_pool_is_refused_or_warned_of_where_the_mistake_is(case):
    assert case.verdict in ("refused", "warned"), [(one.code, one.message) for one in case.found]
    assert ".x" in case.fitting.path or case.about == "RS006"
    assert case.fitting.hint


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.pool)
def test_nothing_else_is_refused_about_a_wrong_pool(case):
    others = {one.code for one in case.found if one.severity == "error"} - {case.about}
    assert not others, "the pool has a second mistake, so the verdict proves nothing"


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.pool)
def test_a_right_pool_is_accepted_without_a_word(case):
    assert case.verdict == "accepted", [(one.code, one.message) for one in case.found]


def test_what_cluster_toolkit_cannot_be_told_is_written_out():
    made = read("x.yaml", text=complete(RIGHT[0].write)).blueprint
    (stack,) = stacks(made, allocate(made, Lock()))
    pool = json.loads(dumps(stack))["resource"]["google_container_node_pool"]["main_x"]
    affinity = json.dumps(pool["node_config"])
    assert '"consume_reservation_type": "NO_RESERVATION"' in affinity


def test_the_page_is_current():
    page = (ROOT / comparison.PAGE).read_text(encoding="utf-8")
    part = comparison.generated()[comparison.PAGE]
    assert page == generated_part.with_part(page, comparison.TOOL, part), "run: python tools/comparison.py"
