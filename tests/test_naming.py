import re

import pytest
from blueprint_texts import document
from hypothesis import given
from hypothesis import strategies as st

from groundplan.blueprints import naming
from groundplan.blueprints.model import Bucket, Cluster, Names, NodePool, ProjectSpec

NAMES = Names()
NAME = st.from_regex(r"[a-z]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)
ENVIRONMENTS = ("ml-dev", "ml-staging", "ml-prod")


def project(platform, environment, names=NAMES, **spec):
    return naming.project_id(platform, environment, names, ProjectSpec(**spec))


@given(NAME)
def test_project_ids_fit_are_legal_stable_and_never_collapse(platform):
    ids = [project(platform, environment) for environment in ENVIRONMENTS]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"[a-z][-a-z0-9]{4,28}[a-z0-9]", one) for one in ids)
    assert ids == [project(platform, environment) for environment in ENVIRONMENTS]


def test_project_ids_of_a_long_name():
    base = "a" * 28
    ids = {project(base, environment) for environment in ENVIRONMENTS}
    assert all(len(one) == 30 and one.startswith("a" * 21) for one in ids)
    assert len(ids) == 3


def test_where_a_project_id_comes_from():
    assert project("llm", "ml-dev") == "llm-ml-dev"
    assert project("llm", "ml-dev", generation=2) == "llm-ml-dev-g2"
    assert project("llm", "ml-dev", id="acme-dev") == "acme-dev"
    assert project("llm", "ml-dev", existing="acme-old") == "acme-old"
    assert project("llm", "ml-dev", Names(project="x-{env}-{name}")) == "x-ml-dev-llm"


def test_where_a_bucket_name_comes_from():
    def name(**bucket):
        return naming.bucket_of("llm", "ml-dev", "llm-ml-dev", "raw", NAMES, Bucket(**bucket))

    assert name() == "llm-ml-dev-raw"
    assert name(generation=3) == "llm-ml-dev-raw-g3"
    assert name(name="acme") == "acme"
    assert name(existing="acme-raw") == "acme-raw"
    assert name(renamed_from="old") == "llm-ml-dev-old", "renamed, it keeps its name in the cloud"


@given(NAME, NAME, NAME)
def test_bucket_names_fit(platform, environment, key):
    first, second = (naming.bucket_name(platform, environment, "p" * 30, key, NAMES, n) for n in (1, 2))
    assert first != second
    assert len(first) <= len(second) <= 63
    assert not re.search(r"[^-a-z0-9]|^-|-$", first + "x" + second)


def test_names_inside_a_project():
    env = document("environments: {ml-dev: {}}").blueprint.environments["ml-dev"]
    assert naming.cloud_name(env, "main") == "llm-main"
    assert naming.cloud_name(env, "main", generation=2) == "llm-main-g2"
    assert naming.cluster_name(env, "main", Cluster()) == "llm-main"
    assert naming.cluster_name(env, "main", Cluster(name="old", generation=2)) == "old-g2"
    assert len(naming.cluster_name(env, "m" * 60, Cluster())) == 40
    assert naming.pool_name("train", NodePool(machine="e2-standard-4")) == "train"
    assert len(naming.account_id(env, "a" * 50)) == 30
    assert len(naming.account_id(env, "x")) >= 6
    assert naming.terraform_name("main", "train") == "main_train"


@given(NAME, NAME, st.integers(9, 40))
def test_shortening_never_makes_two_names_one(first, second, limit):
    short = [naming.shorten(name, limit) for name in (first, second)]
    assert all(len(one) <= limit for one in short)
    assert (short[0] == short[1]) == (first == second)


@pytest.mark.parametrize("text", ["a", "ml-dev", "a1", "a" * 63])
def test_what_is_a_name(text):
    assert naming.is_name(text)


@pytest.mark.parametrize("text", ["", "A", "1a", "a-", "-a", "a_b", "a.b", "a" * 64, "a\n", "é"])
def test_what_is_no_name(text):
    assert not naming.is_name(text)
