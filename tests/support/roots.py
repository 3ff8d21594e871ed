"""Root directories that need no provider, for tests of what an engine does with states."""

from __future__ import annotations

import json
import os
from pathlib import Path

from groundplan.engines.terraform import environment
from groundplan.engines.terraform.engine import Engine
from groundplan.engines.terraform.runner import Terraform
from tests.support.cloud_storage import CloudStorage

BUCKET = "state"
STATE, LOCK = "ml-dev/default.tfstate", "ml-dev/default.tflock"


def builtin_root(
    directory: Path, engine: Engine, storage: CloudStorage | None = None, command: str = ""
) -> Terraform:
    """An initialized root whose one resource is Terraform's own ``terraform_data``.

    Args:
        directory: where to make it.
        engine: the engine that works on it.
        storage: where its state is, in a bucket; None for a local file.
        command: a shell command that creating the resource runs.
    """
    (directory / "logs").mkdir(parents=True)
    backend = {"gcs": {"bucket": BUCKET, "prefix": "ml-dev"}} if storage else {"local": {}}
    resource = {"provisioner": [{"local-exec": {"command": command}}]} if command else {"input": "x"}
    content = {"terraform": [{"backend": backend}], "resource": {"terraform_data": {"a": resource}}}
    (directory / "main.tf.json").write_text(json.dumps(content))
    variables = environment.real(os.environ) | {"TF_CLI_CONFIG_FILE": os.devnull}
    if storage:
        variables |= storage.environment
    terraform = Terraform(engine, directory, variables, directory / "logs")
    terraform.init()
    return terraform
