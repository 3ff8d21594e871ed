"""A state that an engine could not save: keep it, save it, and never plan without it.

Cloud Storage may refuse a single write (503), and Terraform does not repeat writes of a state. It leaves the
state in ``errored.tfstate``; another apply before that is saved would make a second truth. Saving it later is
safe: ``state push`` refuses to overwrite a state that has resources with one of another lineage or with an
older one.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from groundplan.engines.terraform.events import Diagnostic
from groundplan.engines.terraform.runner import RunError, Terraform
from groundplan.errors import EngineError

NAME = "errored.tfstate"

#: Terraform's summaries for "everything is applied, but the state could not be saved".
SUMMARIES = ("Failed to save state", "Failed to persist state to backend")
PAUSES_SECONDS = (0.0, 1.0, 4.0)  # before each attempt


def saved(error: RunError, terraform: Terraform) -> bool:
    """After a failed apply: was saving the state all that failed, and is it saved now?

    The state is saved in any case, if that works: the objects that it tells of exist.
    """
    only = all(_is_about_saving(diagnostic) for diagnostic in error.diagnostics)
    return _unsaved(terraform).exists() and not _push(terraform) and only


def settle(terraform: Terraform, stack: str) -> None:
    """Save what an earlier apply could not, before anything is planned; call it after ``init``.

    Raises:
        EngineError: it still cannot be saved.
    """
    problem = _push(terraform) if _unsaved(terraform).exists() else ""
    if problem:
        raise EngineError(
            f"an earlier apply of {stack} could not save its state, and it still cannot be saved",
            hint=f"The state is in {_unsaved(terraform)}. Do not delete it: it is the only record of objects "
            "that exist. Once the bucket can be written, run the same command again. If somebody else has "
            "applied in the meantime, compare the two states first.",
            detail=problem,
        )


def _is_about_saving(diagnostic: Diagnostic) -> bool:
    return diagnostic.summary in SUMMARIES


def _unsaved(terraform: Terraform) -> Path:
    return terraform.directory / NAME


def _push(terraform: Terraform) -> str:
    """Save the state and drop the file; empty, or why that did not work."""
    problem = ""
    for pause in PAUSES_SECONDS:
        time.sleep(pause)
        ended = subprocess.run(
            [*terraform.engine.command, "state", "push", "-no-color", "-lock-timeout=60s", NAME],
            cwd=terraform.directory,
            env=dict(terraform.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            process_group=0,
            check=False,
        )
        if ended.returncode == 0:
            _unsaved(terraform).unlink()
            return ""
        problem = ended.stderr.strip()
    return problem
