"""Errors as people met them, and the advice they get."""

import re
from pathlib import Path

import pytest

from groundplan.engines.terraform.known_errors import KNOWN, explain

#: A line each: name of the entry, and what Google, the provider or Terraform said, as reported in public.
FILE = Path(__file__).parent / "data" / "known_errors.txt"
SAID = [tuple(line.split(": ", 1)) for line in FILE.read_text().splitlines()]


@pytest.mark.parametrize(("name", "said"), SAID, ids=[name for name, _ in SAID])
def test_what_people_met_is_explained(name, said):
    known = explain(said)
    assert known is not None
    assert known.name == name
    assert "{" not in known.meaning + known.action, "filled in"


def test_parts_of_the_message_are_in_the_advice():
    by_name = {}
    for name, said in SAID:
        by_name.setdefault(name, explain(said))
    assert by_name["api-disabled"].action.endswith(
        "gcloud services enable cloudbilling.googleapis.com --project=123"
    )
    assert "compute.networks.create" in by_name["permission"].meaning
    assert "constraints/compute.vmExternalIpAccess" in by_name["policy"].meaning


def test_an_unknown_error_gets_no_advice():
    assert explain("googleapi: Error 400: Invalid value for field 'resource.name'., invalid") is None


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_every_entry_is_complete(known):
    assert re.fullmatch(r"[a-z-]+", known.name)
    assert known.meaning.endswith((".", "}"))
    assert known.action.strip()
    assert re.search(r"\w+\.(com|org|io|dev)|github|terraform", known.source), "says where it is from"
    assert not known.sign.startswith("|")
    assert explain("") is None, "no sign matches everything"


def test_names_are_unique():
    names = [known.name for known in KNOWN]
    assert len(names) == len(set(names))
