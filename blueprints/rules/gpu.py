"""GPUs: which a machine has, how containers share them, who installs their driver."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Problem
from groundplan.blueprints.rules.pools import pool_rule
from groundplan.blueprints.rules.sources import both_sides, dispute
from groundplan.blueprints.words import did_you_mean, listed
from groundplan.facts.accelerators import Machine, catalog


@pool_rule("GP001", "the type of GPUs is one that the machine has or takes", basis="api", sources="CA AO")
def gpu_type(view: PoolView) -> Iterator[Problem]:
    """Machines with GPUs come with one type of them. Only N1 machines let one choose, and not among all."""
    wanted, machine = view.pool.gpu.type, view.machine
    if wanted is None or machine is None:
        return
    has = machine.gpu
    if has is not None and wanted != has.type:
        disputed = dispute("accelerator type", machine)
        contested = disputed is not None and wanted in disputed.claims.values()
        yield Problem(
            view.at("gpu", "type"),
            f"{machine.name} comes with {has.count} × {has.type}, not with {wanted}",
            both_sides(disputed)
            if disputed and contested
            else "Leave `type` out: it follows from the machine.",
            view.because("the machine", "machine"),
            severity="warning" if contested else None,
        )
    elif has is None and wanted not in machine.attachable_gpus:
        takes = sorted(machine.attachable_gpus)
        hint = did_you_mean(wanted, takes) or _machines_with(wanted)
        yield Problem(
            view.at("gpu", "type"),
            f"{machine.name} takes {f'no {wanted}, but {listed(takes)}' if takes else 'no GPUs'}",
            hint,
            view.because("the machine", "machine"),
        )


@pool_rule("GP002", "the number of GPUs is that of the machine", basis="api", sources="CA AO")
def gpu_count(view: PoolView) -> Iterator[Problem]:
    """The size of such a machine is the number of its GPUs; GKE refuses another one."""
    count, machine = view.pool.gpu.count, view.machine
    if count is not None and machine is not None and machine.gpu is not None and count != machine.gpu.count:
        sizes = [found.name for found in _siblings(machine.series) if found.gpu and found.gpu.count == count]
        yield Problem(
            view.at("gpu", "count"),
            f"{machine.name} always has {machine.gpu.count} GPUs, not {count}",
            f"Leave `count` out{f', or choose {listed(sizes)}' if sizes else ''}.",
            view.because("the machine", "machine"),
        )


@pool_rule("GP003", "an N1 machine gets a number of GPUs that can be attached", basis="api", sources="CA")
def attached_count(view: PoolView) -> Iterator[Problem]:
    """GPUs are attached to N1 machines one, two, four or eight at a time, depending on their type."""
    limits = _attachable(view)
    count = view.pool.gpu.count or 1
    if limits and count not in limits:
        yield Problem(
            view.at("gpu", "count"),
            f"{view.gpu_type} can be attached {listed([str(one) for one in limits])} at a time, not {count}",
            related=view.because("the machine", "machine"),
        )


@pool_rule("GP004", "an N1 machine is not too large for its GPUs", basis="api", sources="CA")
def attached_vcpus(view: PoolView) -> Iterator[Problem]:
    """Each number of GPUs takes an N1 machine of a limited size, and Compute Engine refuses a larger one."""
    limits = _attachable(view)
    count = view.pool.gpu.count or 1
    most = limits.get(count)
    if view.machine is not None and most is not None and view.machine.vcpus > most:
        more = next((number for number, vcpus in limits.items() if vcpus >= view.machine.vcpus), None)
        yield Problem(
            view.at("machine"),
            f"{count} × {view.gpu_type} takes at most {most} vCPUs, not {view.machine.vcpus}",
            f"Choose a smaller machine{f', or {more} GPUs' if more else ''}.",
            view.because("the GPUs", "gpu"),
        )


@pool_rule("GP005", "only GPUs that can be partitioned are", basis="api", sources="CA CEA")
def partitions(view: PoolView) -> Iterator[Problem]:
    """Multi-instance GPU (MIG) cuts a GPU into parts of their own. Older and smaller GPUs cannot do it."""
    model = catalog().gpus.get(view.gpu_type or "")
    if view.pool.gpu.partition is not None and model is not None and model.partitions == {}:
        yield Problem(
            view.at("gpu", "partition"),
            f"{view.gpu_type} has no MIG partitions",
            "Let containers share it: `sharing: {strategy: time-sharing, clients: 4}`.",
            view.because("the machine", "machine"),
        )


@pool_rule("GP006", "a partition has a size that its GPU offers", basis="api", sources="CA CEA")
def partition_size(view: PoolView) -> Iterator[Problem]:
    """Sizes differ from GPU to GPU; nodes with another one never get ready."""
    model, size = catalog().gpus.get(view.gpu_type or ""), view.pool.gpu.partition
    if size is not None and model is not None and model.partitions and size not in model.partitions:
        sizes = list(model.partitions)
        yield Problem(
            view.at("gpu", "partition"),
            f"the MIG size {size} does not exist on {view.gpu_type}",
            f"{did_you_mean(size, sizes)} There is {listed(sizes)}.".strip(),
            view.because("the machine", "machine"),
        )


@pool_rule("GP007", "2 to 48 containers share a GPU", basis="api", sources="CA TF")
def sharing_clients(view: PoolView) -> Iterator[Problem]:
    """GKE refuses other numbers of clients."""
    sharing, limits = view.pool.gpu.sharing, catalog().limits.sharing
    if sharing is not None and not limits.min_clients <= sharing.clients <= limits.max_clients:
        yield Problem(
            view.at("gpu", "sharing", "clients"),
            f"{limits.min_clients} to {limits.max_clients} containers may share a GPU, not {sharing.clients}",
            "Leave `sharing` out for one container per GPU."
            if sharing.clients < limits.min_clients
            else f"Write `clients: {limits.max_clients}`.",
        )


@pool_rule("GP011", "somebody installs the driver", basis="unwise", sources="TF")
def no_driver(view: PoolView) -> Iterator[Problem]:
    """With `driver: none` GKE installs none, and groundplan deploys no installer either."""
    if view.gpu_type is not None and view.pool.gpu.driver == "none":
        yield Problem(
            view.at("gpu", "driver"),
            "no driver is installed on these nodes",
            "Write `driver: default` or `latest`, unless you deploy an installer yourself.",
        )


@pool_rule(
    "GP012", "settings of GPUs are on pools with GPUs", basis="language", source="The blueprint language"
)
def without_gpus(view: PoolView) -> Iterator[Problem]:
    """They would do nothing, so the machine is probably not the one that was meant."""
    gpu = view.pool.gpu
    if view.machine is None or view.gpu_type is not None:
        return
    for key in ("count", "sharing", "partition"):
        if getattr(gpu, key) is not None:
            hint = (
                "Add `type`." if view.machine.attachable_gpus else "Remove it, or choose a machine with GPUs."
            )
            yield Problem(
                view.at("gpu", key),
                f"{view.machine.name} has no GPUs" + (" unless `gpu.type` says which" * ("Add" in hint)),
                hint,
                view.because("the machine", "machine"),
                at_key=True,
            )


def _attachable(view: PoolView) -> dict[int, int]:
    """How many GPUs of the pool's type a machine takes → the most vCPUs that it may have then."""
    machine, wanted = view.machine, view.pool.gpu.type
    return machine.attachable_gpus.get(wanted, {}) if machine is not None and wanted is not None else {}


def _siblings(series: str) -> list[Machine]:
    return [found for found in catalog().machines.values() if found.series == series]


def _machines_with(gpu: str) -> str:
    names = [found.name for found in catalog().machines.values() if found.gpu and found.gpu.type == gpu]
    if names:
        return f"{gpu} comes with {listed(names[:4])}."
    owners = [name for name, cpu in catalog().cpu_families.items() if gpu in cpu.attachable_gpus]
    if owners:
        return f"{gpu} is attached to machines like {owners[0]}-standard-8."
    return did_you_mean(gpu, catalog().gpus)
