"""The lock file: what must not change later, and what is only known after something was made.

``<blueprint>.lock.yaml`` stands beside the blueprint and is committed. It holds the address ranges of
clusters and of their GPU networks, and what the foundation learned: project numbers, folder ids, access
policies. Its text depends on its content only, so that a diff shows what changed.

Ranges are allocated once: the first free ones in the environment's address space, clusters in the order of
the file. What the lock holds stays, so a cluster that is added anywhere changes no other. Ranges are kept
apart over all environments, so that their networks can be connected one day.

What was renamed is remembered here too (``blueprints.renames``).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from groundplan.blueprints.addresses import KINDS, Taken, free_gpu_range, free_ranges
from groundplan.blueprints.diagnostics import Diagnostic, Position, in_order
from groundplan.blueprints.files import read_source
from groundplan.blueprints.gpu_networks import gpu_networks
from groundplan.blueprints.loader import parse
from groundplan.blueprints.model import Blueprint, Cluster, Environment, Model, Name, Number
from groundplan.blueprints.quantities import Matching, Network
from groundplan.blueprints.renames import recorded, relevant
from groundplan.blueprints.shapes import of_model
from groundplan.blueprints.structure import misfits, plain
from groundplan.blueprints.translation import refusals
from groundplan.blueprints.tree import Node, dotted, find
from groundplan.blueprints.tree import Path as TreePath
from groundplan.errors import BlueprintError, InputError

HEADER = """\
# Written by groundplan; commit this file. It keeps what must not change once it is used (address ranges) and
# what is only known after something was made (project numbers, folders, access policies).
"""
ItemPath = Annotated[str, Matching(r"[a-z_]+(/[-a-z0-9_]+)+", "a path is written clusters/main")]
AccessPolicy = Annotated[str, Matching(r"(accessPolicies/)?[0-9]{1,30}", "an access policy has a number")]


class ClusterRanges(Model):
    """The address ranges of one cluster."""

    nodes: Network = Field(description="Primary range of the subnet.")
    pods: Network = Field(description="Secondary range for pods.")
    services: Network = Field(description="Secondary range for services.")

    def by_kind(self) -> dict[str, IPv4Network]:
        """The ranges by kind: nodes, pods, services."""
        return {"nodes": self.nodes, "pods": self.pods, "services": self.services}


class EnvironmentLock(Model):
    """What is kept of one environment."""

    project_number: Number | None = Field(None, description="Number of its project.")
    folder: Number | None = Field(None, description="Number of its folder.")
    access_policy: AccessPolicy | None = Field(None, description="Its access policy.")
    renamed: tuple[dict[ItemPath, ItemPath], ...] = Field(
        (), description="Present path of what was renamed → path before, oldest first."
    )
    ranges: dict[Name, ClusterRanges] = Field({}, description="Address ranges by cluster.")
    gpu_networks: dict[Name, dict[Name, Network]] = Field(
        {}, description="Address ranges of GPU networks, by cluster and machine type."
    )

    def owned(self, name: str) -> Iterator[tuple[str, IPv4Network]]:
        """All ranges of the environment of this name, each with whose it is."""
        for key, ranges in self.ranges.items():
            for kind, network in ranges.by_kind().items():
                yield f"{name}/{key} ({kind})", network
        for key, networks in self.gpu_networks.items():
            for machines, network in networks.items():
                yield f"{name}/{key} (GPU networks of {machines})", network


class Lock(Model):
    """A lock file."""

    environments: dict[Name, EnvironmentLock] = Field({}, description="What is kept, by environment.")

    def environment(self, name: str) -> EnvironmentLock:
        """What is kept of an environment; empty if nothing is."""
        return self.environments.get(name) or EnvironmentLock()

    def with_environment(self, name: str, kept: EnvironmentLock) -> Lock:
        """The same lock with another content for one environment."""
        return Lock(environments={**self.environments, name: kept})

    def without_environment(self, name: str) -> Lock:
        """The same lock with nothing kept of an environment."""
        return Lock(environments={key: kept for key, kept in self.environments.items() if key != name})


def lock_path(blueprint: str | Path) -> Path:
    """The lock file of a blueprint: ``llm.lock.yaml`` beside ``llm.yaml``."""
    path = Path(blueprint)
    return path.with_name(f"{path.stem}.lock.yaml")


def read_lock(path: Path) -> Lock:
    """Read a lock file; a file that does not exist is an empty lock.

    Raises:
        InputError: it cannot be read.
        BlueprintError: somebody edited it and it is not a lock any more; all mistakes with their lines.
    """
    if not path.exists():
        return Lock()
    source = read_source(path)
    if all(not line.strip() or line.lstrip().startswith("#") for line in source.lines):
        return Lock()
    root, diagnostics = parse(source)
    shape = of_model(Lock)
    for one in misfits(root, shape):
        diagnostics.append(_diagnostic(one.code, one.message, one.path, one.node.position, one.hint, root))
    data = plain(root, shape, [])
    lock = Lock()
    try:
        if isinstance(data, dict):
            lock = Lock.model_validate(data)
    except ValidationError as error:
        for refusal in refusals(error, data, shape):
            key, node, steps = find(root, refusal.path)
            at_key = key is not None and (refusal.at_key or steps < len(refusal.path))
            position = key.position if key is not None and at_key else node.position
            diagnostics.append(
                _diagnostic(refusal.code, refusal.message, refusal.path, position, refusal.hint, root)
            )
    if diagnostics:
        raise BlueprintError(in_order(diagnostics))
    return lock


def _diagnostic(
    code: str, message: str, path: TreePath, position: Position, hint: str, root: Node
) -> Diagnostic:
    return Diagnostic("error", code, message, dotted(path), position, hint, (), root.source.lines)


def write_lock(path: Path, lock: Lock) -> bool:
    """Write a lock file, as a whole or not at all.

    Returns:
        Whether the file changed.

    Raises:
        InputError: it cannot be written.
    """
    text = lock_text(lock)
    try:
        if path.exists() and path.read_bytes() == text.encode():
            return False
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _not_written(path, error) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _not_written(path, error) from None
    return True


def lock_text(lock: Lock) -> str:
    """The text of a lock file, sorted by name."""
    lines = [HEADER + ("environments:" if lock.environments else "environments: {}")]
    for name, kept in sorted(lock.environments.items()):
        values = {
            "project_number": kept.project_number,
            "folder": kept.folder,
            "access_policy": kept.access_policy,
        }
        written = [f'    {key}: "{value}"' for key, value in values.items() if value is not None]
        if kept.renamed:
            written.append("    renamed:")
        for batch in kept.renamed:
            first, *others = (f"{path}: {before}" for path, before in batch.items())
            written += [f"      - {first}", *(f"        {other}" for other in others)]
        if kept.ranges:
            written.append("    ranges:")
        for cluster, ranges in sorted(kept.ranges.items()):
            pairs = ", ".join(f"{kind}: {network}" for kind, network in ranges.by_kind().items())
            written.append(f"      {cluster}: {{{pairs}}}")
        if kept.gpu_networks:
            written.append("    gpu_networks:")
        for cluster, networks in sorted(kept.gpu_networks.items()):
            pairs = ", ".join(f"{machines}: {network}" for machines, network in sorted(networks.items()))
            written.append(f"      {cluster}: {{{pairs}}}")
        lines += [f"  {name}:" if written else f"  {name}: {{}}", *written]
    return "\n".join(lines) + "\n"


def allocate(blueprint: Blueprint, lock: Lock) -> Lock:
    """A lock in which every cluster has ranges, its GPU networks have theirs, and every rename is remembered.

    Ranges of clusters that are gone stay reserved until ``prune``. Fixed ``ranges`` of the blueprint are
    taken over. A cluster with ``renamed_from`` keeps the ranges of its old name.

    Raises:
        InputError: an address space is full, ranges overlap, lock and blueprint say different ranges, or
            two items would get the same names in the cloud.
    """
    environments = dict(lock.environments)
    environments |= {name: _renamed(one, lock) for name, one in blueprint.environments.items()}
    taken = Taken()
    for name, kept in environments.items():
        for owner, network in kept.owned(name):
            taken.add(network, owner)
    missing = [
        (environment, key, _fixed(cluster))
        for name, environment in blueprint.environments.items()
        for key, cluster in environment.clusters.items()
        if not _settled(environments[name].ranges.get(key), _fixed(cluster), f"{name}/{key}")
        and not cluster.existing
    ]
    for environment, key, fixed in missing:
        for kind, network in fixed.items():
            taken.add(network, f"{environment.name}/{key} ({kind})")
    for environment, key, fixed in missing:
        name = environment.name
        space = environment.network.address_space
        found = free_ranges(space, fixed, taken)
        if found is None:
            raise InputError(
                f"the address space {space} of {name} has no room for the cluster {key}",
                hint="Widen `network.address_space`, or free what is gone: `groundplan lock --prune`.",
            )
        for kind in found.keys() - fixed.keys():
            taken.add(found[kind], f"{name}/{key} ({kind})")
        kept = environments[name]
        update = {"ranges": {**kept.ranges, key: ClusterRanges(**found)}}
        environments[name] = kept.model_copy(update=update)
    for name, environment in blueprint.environments.items():
        environments[name] = _with_gpu_networks(environment, environments[name], taken)
    return Lock(environments=environments)


def _with_gpu_networks(environment: Environment, kept: EnvironmentLock, taken: Taken) -> EnvironmentLock:
    """What is kept of an environment, with ranges for the GPU networks that have none; takes them.

    Raises:
        InputError: the address space is full.
    """
    result = {key: dict(networks) for key, networks in kept.gpu_networks.items()}
    for key, wanted in _gpu_networks(environment).items():
        held = result.setdefault(key, {})
        for machines, subnets in wanted.items():
            if machines in held:
                continue
            space = environment.network.address_space
            found = free_gpu_range(space, subnets, taken)
            if found is None:
                raise InputError(
                    f"the address space {space} of {environment.name} has no room for the GPU networks of "
                    f"{machines} in the cluster {key}",
                    hint="Widen `network.address_space`, or let GKE make them: `networking: dranet`.",
                )
            held[machines] = found
            taken.add(found, f"{environment.name}/{key} (GPU networks of {machines})")
    return kept.model_copy(update={"gpu_networks": {key: held for key, held in result.items() if held}})


def _gpu_networks(environment: Environment) -> dict[str, dict[str, int]]:
    """Cluster → machine type → number of subnets, of the GPU networks that an environment has."""
    return {
        key: {one.key: one.subnets for one in gpu_networks(cluster, cluster.node_pools.values()).values()}
        for key, cluster in environment.clusters.items()
        if not cluster.existing
    }


def prune(blueprint: Blueprint, lock: Lock) -> Lock:
    """A lock without the ranges and renames of what is not in the blueprint any more."""
    environments = {}
    for name, environment in blueprint.environments.items():
        if name in lock.environments:
            kept = _renamed(environment, lock)
            ranges = {key: one for key, one in kept.ranges.items() if key in environment.clusters}
            wanted = _gpu_networks(environment)
            networks = {
                key: {machines: held[machines] for machines in held if machines in wanted.get(key, ())}
                for key, held in kept.gpu_networks.items()
            }
            networks = {key: held for key, held in networks.items() if held}
            update = {
                "ranges": ranges,
                "gpu_networks": networks,
                "renamed": relevant(environment, kept.renamed),
            }
            environments[name] = kept.model_copy(update=update)
    return Lock(environments=environments)


def _settled(held: ClusterRanges | None, fixed: Mapping[str, IPv4Network], owner: str) -> bool:
    """Whether the lock holds the ranges of a cluster.

    Raises:
        InputError: it holds other ranges than the blueprint fixes.
    """
    if held is None:
        return False
    for kind, network in fixed.items():
        if held.by_kind()[kind] != network:
            raise InputError(
                f"the {kind} of {owner} have {held.by_kind()[kind]} in the lock, {network} in the blueprint",
                hint="Ranges of a cluster cannot change: write what the lock says. If the cluster was never "
                "made, remove its ranges from the lock.",
            )
    return True


def _fixed(cluster: Cluster) -> dict[str, IPv4Network]:
    """The ranges that the blueprint fixes, by kind."""
    written = {kind: getattr(cluster.ranges, kind) for kind in KINDS}
    return {kind: network for kind, network in written.items() if network is not None}


def _renamed(environment: Environment, lock: Lock) -> EnvironmentLock:
    """What the lock keeps of an environment, under the present names of its clusters.

    Raises:
        InputError: two items would get the same names in the cloud.
    """
    kept = lock.environment(environment.name)
    ranges, networks = dict(kept.ranges), dict(kept.gpu_networks)
    for key, cluster in environment.clusters.items():
        old = cluster.renamed_from
        if old and old in ranges and key not in ranges and old not in environment.clusters:
            ranges[key] = ranges.pop(old)
            if old in networks:
                networks[key] = networks.pop(old)
    renamed = recorded(environment, kept.renamed)
    return kept.model_copy(update={"ranges": ranges, "gpu_networks": networks, "renamed": renamed})


def merged(lock: Lock, overlay: Lock) -> Lock:
    """A lock with what an overlay learned: the ids of the offline stand-in over a committed lock.

    The overlay's ids win; ranges of the lock win, because they are what was allocated for good.
    """
    names = [*lock.environments, *(name for name in overlay.environments if name not in lock.environments)]
    return Lock(
        environments={name: _merged(lock.environment(name), overlay.environment(name)) for name in names}
    )


def _merged(kept: EnvironmentLock, over: EnvironmentLock) -> EnvironmentLock:
    ranges: Mapping[str, ClusterRanges] = {**over.ranges, **kept.ranges}
    return EnvironmentLock(
        project_number=over.project_number or kept.project_number,
        folder=over.folder or kept.folder,
        access_policy=over.access_policy or kept.access_policy,
        renamed=kept.renamed or over.renamed,
        ranges=dict(ranges),
        gpu_networks={**over.gpu_networks, **kept.gpu_networks},
    )


def _not_written(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}", hint="Nothing was changed.")
