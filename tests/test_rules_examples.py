"""Every rule on its own examples, and every rule of the catalog accounted for."""

import itertools
import re

import pytest
from blueprint_texts import found

from groundplan.blueprints.explanations import WITHOUT_RULE, explanations
from groundplan.blueprints.rules import RULES
from groundplan.blueprints.rules.areas import AREAS
from groundplan.blueprints.rules.construction import IMPOSSIBLE, SAID_BY
from groundplan.blueprints.rules.examples import FOLDER, complete, example

#: The catalog of rules about accelerators, capacity, storage and maintenance: letters → how many there are.
CATALOG = {
    "GP": 11, "CO": 24, "RS": 6, "PL": 12, "TP": 9, "NW": 8, "DK": 8, "HM": 9, "UP": 5, "MW": 9, "FU": 4,
    "IS": 3, "HW": 3, "VS": 5, "VX": 5,
}  # fmt: skip
IDS = [f"{letters}{number:03}" for letters, most in CATALOG.items() for number in range(1, most + 1)]

WITH_EXAMPLE = [code for code in explanations() if example(code)]
#: Areas whose rules all have an example to show; those of the others have cases in test_blueprint_rules.
SHOWN = ("CO", "GP", "RS", "PL", "TP", "NW", "DK", "HM", "UP", "FU", "IS", "HW", "VS", "MA")
REFUSED_BY_MODELS = ("CO001", "CO002", "CO003", "CO004", "CO005", "RS005")


def blueprint(part):
    """The diagnostics of an example."""
    return found(complete(part), top="")


def test_all_121_rules_of_the_catalog_are_accounted_for():
    assert len(IDS) == 121
    found_by_rules = explanations().keys() & {*IDS}
    impossible = {one.code for one in IMPOSSIBLE}
    assert found_by_rules | impossible | SAID_BY.keys() == {*IDS}
    assert not found_by_rules & impossible
    assert not SAID_BY.keys() & (found_by_rules | impossible)
    assert {*SAID_BY.values()} <= explanations().keys()
    assert len(found_by_rules) >= 69


def test_what_is_impossible_says_why():
    codes = [one.code for one in IMPOSSIBLE]
    assert codes == sorted(codes)
    assert all(one.title and one.why.endswith((".", "3d.")) for one in IMPOSSIBLE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rules_of_the_catalog_have_a_good_and_a_bad_example(rule):
    if rule.code.startswith(SHOWN):
        shown = example(rule.code)
        assert shown is not None, f"add {rule.code} to {FOLDER / rule.code[:2]}.yaml"
        assert shown.bad != shown.good


def test_refusals_of_the_models_have_examples_too():
    assert {*REFUSED_BY_MODELS} <= {*WITH_EXAMPLE} & {one.code for one in WITHOUT_RULE}


def test_examples_are_of_codes_that_exist():
    import yaml

    codes = itertools.chain.from_iterable(yaml.safe_load(path.read_text()) for path in FOLDER.glob("*.yaml"))
    assert {*codes} == {*WITH_EXAMPLE}


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_a_bad_example_breaks_its_rule_and_no_other(code):
    diagnostics = blueprint(example(code).bad)
    broken = [one for one in diagnostics if one.code == code]
    assert broken, [(one.code, one.message) for one in diagnostics]
    for one in broken:
        assert one.severity == explanations()[code].severity
        assert one.message[0] == one.message[0].strip()
        assert not one.message.endswith(".")
        assert one.position.line > 1
        assert one.hint or one.related, "say what to write instead, or what it conflicts with"
    assert not [
        (one.code, one.message) for one in diagnostics if one.severity == "error" and one.code != code
    ]


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_a_good_example_has_nothing_to_be_refused(code):
    diagnostics = blueprint(example(code).good)
    assert code not in {one.code for one in diagnostics}
    assert not [(one.code, one.message) for one in diagnostics if one.severity == "error"]
    if code.startswith(SHOWN):
        assert {one.code for one in diagnostics} <= {"LT001"}


@pytest.mark.parametrize("code", [code for code in IDS if code in explanations()])
def test_sources_of_the_catalog_have_a_day(code):
    if code[:2] not in ("MW",):
        assert "checked 20" in explanations()[code].source or "reports" in explanations()[code].source.lower()


def test_every_code_has_an_area():
    used = {code[:2] for code in explanations()} & {*CATALOG, "MA", "WV", "SY", "BP"}
    assert used <= AREAS.keys()
    assert all(re.fullmatch("[a-z]+", one.tag) and one.title for one in AREAS.values())
