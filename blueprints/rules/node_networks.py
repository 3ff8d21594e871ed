"""The networks over which GPUs of different nodes talk."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.gpu_networks import networks_of, unserved
from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Problem
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.versions import minor, numbers, older
from groundplan.blueprints.words import listed
from groundplan.facts.accelerators import GpuDirect, catalog


@pool_rule("NW002", "managed DRANET is where GKE has it", basis="peer", sources="CT")
def dranet(view: PoolView) -> Iterator[Problem]:
    """GKE hands network interfaces to pods itself on A3, A4, A4X, v6e and TPU7x, from 1.34.1 on."""
    if view.networking != "dranet" or view.machine is None:
        return
    if view.machine.managed_dranet is False:
        yield Problem(
            view.at("networking"),
            f"{view.machine.name} has no managed DRANET",
            "Remove `networking`.",
            view.because("the machine", "machine"),
        )
    least, version = catalog().features["managed_dranet"].min_gke, view.cluster.min_version
    if version is not None and older(version, least):
        yield Problem(
            view.cluster_at("min_version"),
            f"GKE {version} is too old for the managed DRANET of `{view.key}`",
            f"Raise `min_version` to {least} or newer.",
            view.because("asked for here", "networking"),
        )


@pool_rule("NW004", "machines whose GPUs can talk directly have the networks for it", basis="unwise",
           sources="CT NB")  # fmt: skip
def no_networks(view: PoolView) -> Iterator[Problem]:
    """Without them GPUs of different nodes talk over the node's own interface, many times slower."""
    direct = _direct(view)
    if direct is not None and view.networking == "none" and view.most_nodes > 1:
        count = direct.extra_networks + direct.rdma_subnets
        yield Problem(
            view.at("networking"),
            f"GPUs of {view.pool.machine} need {count} more networks to talk {direct.kind} between nodes",
            "Write `networking: auto`.",
            view.because("the machine", "machine"),
        )


@pool_rule("NW006", "networks for RDMA are in one zone", basis="api", sources="CTX")
def rdma_zone(view: PoolView) -> Iterator[Problem]:
    """The network of RDMA is made from a profile of its zone, so the pool has to be in a single one."""
    direct = _direct(view)
    asked = direct is not None and direct.kind == "RDMA" and view.networking == "rdma"
    if asked and networks_of(view.cluster, view.pool) is None:
        where = f"stands in {listed(view.zones, 'and')}" if view.zones else "names none"
        yield Problem(
            view.at("networking"),
            f"RDMA networks belong to one zone; the pool {where}",
            "Write the zone: `zones: [a]`.",
            (("the zones", view.zones_path),) if view.zones else (),
        )


@pool_rule("NW007", "the cluster is new enough for GPUDirect", basis="peer", sources="CT")
def gpudirect_version(view: PoolView) -> Iterator[Problem]:
    """Each minor release of GKE got GPUDirect with one of its patches."""
    direct, version = _direct(view), view.cluster.min_version
    if direct is None or not direct.min_gke or version is None or view.networking in ("none", "dranet"):
        return
    first = min(direct.min_gke, key=numbers)
    least = direct.min_gke.get(minor(version), direct.min_gke[first] if older(version, first) else "")
    if least and older(version, least):
        yield Problem(
            view.cluster_at("min_version"),
            f"GPUDirect-{direct.kind} of `{view.key}` does not work on GKE {version}",
            f"Raise `min_version` to {least} or newer.",
            view.because("asked for here", "networking"),
        )


@pool_rule("NW009", "networks are of the kind that the machine takes", basis="api", sources="AO CTX NB")
def other_kind(view: PoolView) -> Iterator[Problem]:
    """Machines differ in the number of their network interfaces, and so does what each kind needs."""
    asked, reason = view.networking, unserved(view.cluster, view.pool)
    direct = _direct(view)
    if view.machine is None or reason is None or (direct is not None and direct.kind.lower() == asked):
        return
    yield Problem(
        view.at("networking"),
        reason,
        "Write `networking: auto`." if direct is not None else "Remove `networking`.",
        view.because("the machine", "machine"),
    )


def _direct(view: PoolView) -> GpuDirect | None:
    """What its machines need to talk; None where they cannot, or where GKE alone can make their networks."""
    machine = view.machine
    return None if machine is None or machine.bare_metal else machine.gpudirect
