"""``groundplan init``: a small repository that validates, plans and applies as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

import click

from groundplan.cli.options import output_options
from groundplan.cli.output import Output
from groundplan.errors import InputError, UsageError

TEMPLATES = Path(__file__).with_name("templates")
DEFAULT_ENVIRONMENTS = ("ml-dev", "ml-staging", "ml-prod")
NAME = re.compile(r"[a-z]([-a-z0-9]{0,18}[a-z0-9])?")


@click.command("init", short_help="Write a new blueprint repository.")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--env",
    "environments",
    metavar="ENV",
    multiple=True,
    help="An environment; may be given several times. Default: ml-dev, ml-staging, ml-prod.",
)
@click.option("--name", help="Name of the platform; else the folder's.")
@click.option("--organization", default="123456789012", help="Number of your organization.")
@click.option("--billing-account", default="01AB23-CD45EF-678901", help="Your billing account.")
@click.option("--region", default="us-central1", show_default=True, help="Region of everything.")
@output_options
def init(
    directory: Path,
    environments: tuple[str, ...],
    name: str | None,
    organization: str,
    billing_account: str,
    region: str,
    output: Output,
) -> None:
    """Write a new blueprint repository into DIRECTORY: blueprint, README, .gitignore, editor schema.

    \b
    Example:
      groundplan init my-platform --env ml-dev --env ml-prod
      cd my-platform && groundplan plan ml-dev --offline
    """
    name = name or directory.resolve().name
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a platform",
            hint="At most 20 lower-case letters, digits and hyphens, a letter first: --name my-platform",
        )
    if directory.exists() and any(entry.name != ".git" for entry in directory.iterdir()):
        raise InputError(f"{directory} is not empty", hint="Name a new folder; init overwrites nothing.")
    files = contents(name, environments or DEFAULT_ENVIRONMENTS, organization, billing_account, region)
    check(directory / "groundplan.yaml", files["groundplan.yaml"])
    directory.mkdir(parents=True, exist_ok=True)
    for relative, text in files.items():
        (directory / relative).write_text(text, encoding="utf-8")
    if output.as_json:
        output.document({"directory": str(directory), "files": sorted(files)})
        return
    for relative in sorted(files):
        output.result(str(directory / relative))
    first = (environments or DEFAULT_ENVIRONMENTS)[0]
    output.say(f"\nTry next\n  cd {directory}\n  groundplan validate\n  groundplan plan {first} --offline")


def contents(
    name: str, environments: tuple[str, ...], organization: str, billing_account: str, region: str
) -> dict[str, str]:
    """The files of a new repository by relative path."""
    from groundplan.blueprints.json_schema import json_schema
    from groundplan.blueprints.model import TIERS

    lines = [f"  {env}:" if env in TIERS else f"  {env}: {{tier: development}}" for env in environments]
    values = {
        "name": name,
        "organization": organization,
        "billing_account": billing_account,
        "region": region,
        "environments": "\n".join(lines),
        "environment_list": ", ".join(environments),
    }

    def fill(template: str) -> str:
        return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)

    return {
        "groundplan.yaml": fill("groundplan.yaml"),
        "README.md": fill("README.md"),
        ".gitignore": fill("gitignore"),
        "groundplan.schema.json": json.dumps(json_schema(), indent=2) + "\n",
    }


def check(path: Path, text: str) -> None:
    """Refuse, before anything is written, what would make a blueprint with errors.

    Raises:
        BlueprintError: with every problem, as ``validate`` would show it.
    """
    from groundplan.blueprints.reader import read

    read(str(path), text=text)
