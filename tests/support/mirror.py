"""The stand-in as an ordinary provider: found in a mirror, installed, locked, and started by Terraform.

::

    with Mirror(tmp_path) as mirror:
        subprocess.run(["terraform", "init"], env={**os.environ, **mirror.environment})

Nothing is attached by hand, so ``init`` chooses a version that the constraints allow, writes checksums to the
dependency lock file and uses the plugin cache, as with the real provider. What Terraform installs is a small
launcher (``launcher.py``), which passes its connection on to one running stand-in.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType

from groundplan.engines.terraform.offline.session import Standin
from groundplan.facts.schema import PROVIDERS, index

#: Terraform and OpenTofu look for the same providers at different hosts.
HOSTS = ("registry.terraform.io", "registry.opentofu.org")
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

#: It must be the same file in every run: its checksum stands in dependency lock files.
LAUNCHER = f"#!{sys.executable} -IS\n" + Path(__file__).with_name("launcher.py").read_text()


class Mirror:
    """Mirror, CLI configuration and stand-in, for as long as the ``with`` block lasts.

    Args:
        directory: where to put them.
        versions: the versions on offer; all of them behave as the facts say.
        types: serve only these resource types, which is faster.
    """

    def __init__(
        self, directory: Path, versions: Sequence[str] = (), types: Collection[str] | None = None
    ) -> None:
        self.directory = directory / "mirror"
        self.cloud = directory / "cloud"
        self._cli_config = directory / "mirror.tfrc"
        self._standin = Standin(self.cloud, directory / "standin.log", types=types)
        for version in versions or (index().provider_version,):
            self.offer(version)
        self._cli_config.write_text(
            f'provider_installation {{\n  filesystem_mirror {{\n    path = "{self.directory}"\n  }}\n}}\n'
        )

    def __enter__(self) -> Mirror:
        self._standin.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._standin.__exit__(kind, error, trace)

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which Terraform finds nothing but this mirror."""
        return {
            "TF_CLI_CONFIG_FILE": str(self._cli_config),
            "TF_DISABLE_PLUGIN_TLS": "1",  # the launcher passes bytes on and has no certificate
            "STANDIN_ADDRESSES": self._standin.environment["TF_REATTACH_PROVIDERS"],
        }

    def offer(self, version: str) -> None:
        """Put one more version into the mirror."""
        system = f"{platform.system().lower()}_{MACHINES.get(platform.machine(), platform.machine())}"
        for host in HOSTS:
            for name in PROVIDERS:
                package = self.directory / host / "hashicorp" / name / version / system
                package.mkdir(parents=True)
                launcher = package / f"terraform-provider-{name}_v{version}"
                launcher.write_text(LAUNCHER)
                launcher.chmod(0o755)
