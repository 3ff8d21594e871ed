"""A cdktf app made of finished Terraform JSON: ``python app.py cdktf|cdktn``, documents in, documents out.

Every resource, data source, provider, output and backend becomes an element of a real ``TerraformStack``.
The elements are the library's generic ones, which serve any resource type. The typed provider packages would
write the same blocks, but loading the one of google takes ten times as long and a gigabyte of memory.

``fill`` may also be called in an app of your own, which then goes on with the library's own means.

What the libraries do unasked, as seen in cdktf 0.21 and cdktn 0.24, and what is done about it here:

- ``provider``, ``depends_on``, ``lifecycle`` among the attributes are dropped: they are passed as arguments.
- Names derive from construct ids, without special characters: each element is told its name.
- Keys inside a provider's settings become snake case, those of labels too: the settings are overrides.
- For a resource's ``moved`` or ``import`` block they run ``terraform version``: these are overrides too.

The file is run as a script, so that it depends on nothing but the library.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

OVERRIDES = ("moved", "import", "removed")


def main(package: str) -> int:
    """Answer the documents on standard input with what the library makes of them.

    Returns:
        The exit code. After 0, standard output holds a JSON list of documents; after 1, what went wrong.
    """
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the library prints is no part of the answer
    with answer:
        try:
            json.dump(list(synthesize(importlib.import_module(package), json.load(sys.stdin.buffer))), answer)
        except Exception as problem:
            answer.write(f"{type(problem).__name__}: {problem}\n")
            return 1
    return 0


def synthesize(cdk: Any, documents: list[Json]) -> Iterator[Json]:
    """What ``cdk`` writes for each document. Each has an app of its own, so no stack can refer to another."""
    for document in documents:
        with tempfile.TemporaryDirectory() as directory:
            app = cdk.App(outdir=directory)
            fill(cdk, cdk.TerraformStack(app, "stack"), document)
            app.synth()
            yield json.loads(Path(directory, "stacks", "stack", "cdk.tf.json").read_bytes())


def fill(cdk: Any, stack: Any, document: Json) -> None:
    """Put everything that a document holds into a stack.

    The id of a resource in ``stack`` is its Terraform address: ``google_compute_network.main``.

    Args:
        cdk: the module ``cdktf`` or ``cdktn``.
        stack: a ``TerraformStack`` of that module, without a backend.
        document: what ``groundplan.engines.terraform.writer.document`` returns.
    """
    (settings,) = document["terraform"]
    _backend(cdk, stack, settings["backend"])
    if "required_version" in settings:
        stack.add_override("terraform.required_version", settings["required_version"])
    providers = {
        name: _provider(cdk, stack, name, requirement, document["provider"][name])
        for name, requirement in settings["required_providers"].items()
    }
    for section in ("data", "resource"):
        element = _element(cdk, section)
        for kind, blocks in document.get(section, {}).items():
            for name, block in blocks.items():
                element(stack, kind, name, block, providers)
    for name, output in document.get("output", {}).items():
        cdk.TerraformOutput(stack, f"output.{name}", **output).override_logical_id(name)
    for section in OVERRIDES:
        if section in document:
            stack.add_override(section, document[section])


def _backend(cdk: Any, stack: Any, backend: Json) -> None:
    ((kind, settings),) = backend.items()
    {"gcs": cdk.GcsBackend, "local": cdk.LocalBackend}[kind](stack, **settings)


def _provider(cdk: Any, stack: Any, name: str, requirement: Json, configurations: list[Json]) -> Any:
    provider = cdk.TerraformProvider(
        stack,
        f"provider.{name}",
        terraform_resource_type=name,
        terraform_provider_source=requirement["source"],
        terraform_generator_metadata={
            "provider_name": name,
            "provider_version_constraint": requirement.get("version"),
        },
    )
    (settings,) = configurations
    for key, value in settings.items():
        provider.add_override(key, value)
    return provider


@functools.cache
def _element(cdk: Any, section: str) -> Any:
    """The library's generic element for the blocks of a section, whatever their type."""
    jsii: Any = importlib.import_module("jsii")
    base = cdk.TerraformDataSource if section == "data" else cdk.TerraformResource
    prefix = "data." if section == "data" else ""

    class Element(base):  # type: ignore[misc, valid-type]
        def __init__(self, stack: Any, kind: str, name: str, block: Json, providers: Json) -> None:
            self._attributes = dict(block)
            provider = self._attributes.pop("provider", None)
            depends_on = self._attributes.pop("depends_on", None)
            (lifecycle,) = self._attributes.pop("lifecycle", [None])
            super().__init__(
                stack,
                f"{prefix}{kind}.{name}",
                terraform_resource_type=kind,
                provider=providers.get(provider),
                lifecycle=lifecycle,
            )
            self.override_logical_id(name)
            if depends_on:
                self.depends_on = depends_on  # the constructor takes elements only, not addresses

        @jsii.member(jsii_name="synthesizeAttributes")  # type: ignore[untyped-decorator]
        def _synthesize_attributes(self) -> Json:
            return self._attributes

    return Element


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
