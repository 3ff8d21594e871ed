"""Which roles applying a foundation takes above its projects: they follow from what is in it."""

import datetime as dt

import pytest
from cli_factory import project

from groundplan.cli.output import Output
from groundplan.cli.project import Project
from groundplan.facts.administrator import administrator
from groundplan.stacks.administrator import administrator_grants

ORGANIZATION = "organizations/123456789012"
FOLDER = "folders/345678901234"
TEXT = """\
apiVersion: groundplan/v1
name: llm
organization: "123456789012"
foundation: {project: llm-seed}
defaults: {billing_account: 01AB23-CD45EF-678901}
environments:
  ml-dev: {}
"""
ALWAYS = {
    ("roles/resourcemanager.folderCreator", ORGANIZATION),
    ("roles/resourcemanager.projectCreator", ORGANIZATION),
    ("roles/billing.user", "billingAccounts/01AB23-CD45EF-678901"),
}
PER_FOLDER = {(role, FOLDER) for role, where in ALWAYS if where == ORGANIZATION}


@pytest.mark.parametrize(
    ("old", "new", "more", "fewer"),
    [
        ("", "", set(), set()),
        (
            "{}",
            '{folder: "345678901234"}',
            PER_FOLDER,
            {("roles/resourcemanager.folderCreator", ORGANIZATION)},
        ),
        (
            "{}",
            "{perimeter: {mode: dry-run}}",
            {("roles/accesscontextmanager.policyAdmin", ORGANIZATION)},
            set(),
        ),
        ("defaults:", "state: {bucket: states}\ndefaults:", {("roles/storage.admin", "gs://states")}, set()),
        (
            "{}",
            "{project: {existing: acme-dev}}",
            {
                ("roles/resourcemanager.projectIamAdmin", "projects/acme-dev"),
                ("roles/serviceusage.serviceUsageAdmin", "projects/acme-dev"),
            },
            {("roles/resourcemanager.folderCreator", ORGANIZATION)},
        ),
    ],
    ids=["plain", "folder", "perimeter", "bucket", "existing"],
)
def test_what_is_made_says_which_roles_that_takes(tmp_path, old, new, more, fewer):
    folder = project(tmp_path, TEXT.replace(old, new) if old else TEXT)
    (stack,) = Project.load(str(folder / "groundplan.yaml"), Output(quiet=True)).stacks(["foundation"])
    grants = administrator_grants(stack)
    assert {(grant.role, grant.where) for grant in grants} == ALWAYS - fewer | more
    assert len(grants) == len(set(grants))
    assert all(grant.reason for grant in grants)


def test_the_facts_are_dated_and_have_sources():
    assert dt.date.fromisoformat(administrator().checked)
    assert administrator().sources
