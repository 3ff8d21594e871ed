"""Commands about the catalog of machines: machines, machine. Neither reads a blueprint."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from groundplan.blueprints.words import did_you_mean, listed
from groundplan.cli.columns import aligned, beside
from groundplan.cli.options import output_options
from groundplan.cli.output import Output
from groundplan.errors import InputError
from groundplan.facts import accelerators as facts
from groundplan.facts.accelerators import Machine
from groundplan.facts.accelerators.model import FeatureName

#: The ways to obtain machines that the table shows; queued machines are flex-start ones.
WAYS = ("on-demand", "spot", "flex-start", "any-reservation", "reservation")
HEADINGS = (
    ("", "", "GPU", "", "NIC", "GPU-", "on-", "", "flex-", "any", "named"),
    ("machine", "accelerators", "GB", "vCPU/GB", "Gbps", "Dir.", "demand", "spot", "start", "res.", "res."),
)
RIGHT = (2, 3, 4)
INDENT = 20  #: of the texts on a machine's card
SLICES, COLUMNS = 24, 4  #: topologies that a card shows, and in how many columns
#: What a cluster must be new enough for, as the card calls it.
FEATURES = {
    "default_gpu_driver": "default GPU driver",
    "flex_start_gpu": "flex-start",
    "flex_start_tpu": "flex-start",
    "managed_dranet": "managed DRANET",
    "multislice": "multislice",
    "secondary_boot_disks": "secondary boot disks",
}


@click.command(short_help="List the machines with GPUs or TPUs, and how they can be obtained.")
@click.option("--gpu", metavar="GPU", help="Only machines with this GPU: h100, or nvidia-h100-80gb.")
@click.option("--tpu", metavar="TPU", help="Only machines with this TPU: v5p.")
@click.option(
    "--capacity",
    type=click.Choice(list(facts.CAPACITY)),
    help="Only machines that can, or may, be obtained in this way.",
)
@output_options
def machines(gpu: str | None, tpu: str | None, capacity: str | None, output: Output) -> None:
    """List the machines that have GPUs or TPUs, or that GPUs can be attached to.

    What no source confirms is shown as ?: groundplan does not refuse it.

    \b
    Example:
      groundplan machines --gpu h100 --capacity flex-start
    """
    found = _chosen(gpu, tpu, capacity)
    if not found:
        raise _nothing(gpu, tpu, capacity)
    checked = _checked(found)
    if output.as_json:
        output.document({"checked": str(checked), "machines": [_summary(one) for one in found]})
        return
    rows = [*HEADINGS, *(_row(one) for one in found)]
    for number, line in enumerate(aligned(rows, right=RIGHT)):
        output.result(output.out(line, "heading") if number < len(HEADINGS) else line)
    output.result(f"\n?  not confirmed by a source, so not refused. Checked {checked}.")
    if any(one.attachable_gpus for one in found):
        output.result("+  GPUs that can be attached; `groundplan machine NAME` says how many.")
    output.say("`groundplan machine NAME` shows one of them with its sources.")


@click.command(short_help="Show everything known about a machine, with its sources.")
@click.argument("name", metavar="MACHINE")
@output_options
def machine(name: str, output: Output) -> None:
    """Show what a machine has, what it takes, how it can be obtained, and who says so.

    \b
    Example:
      groundplan machine a3-megagpu-8g
    """
    found = facts.machine(name)
    if found is None:
        near = listed([f"`{one}`" for one in facts.closest(name)])
        hint = f"Did you mean {near}?" if near else "`groundplan machines` lists those with accelerators."
        raise InputError(f"the catalog has no machine `{name}`", hint=hint)
    if output.as_json:
        output.document(_everything(found))
        return
    output.result(f"{output.out(found.name, 'heading')}  {found.series}")
    for label, text in _card(found):
        for line in beside(f"  {label}", text, indent=INDENT):
            output.result(line)


def _chosen(gpu: str | None, tpu: str | None, capacity: str | None) -> list[Machine]:
    """The machines that fit; ``h100-mega`` is the GPU that the catalog calls ``H100 Mega``."""
    known = facts.catalog().gpus
    gpu = gpu if gpu is None or gpu in known else gpu.replace("-", " ")
    found = facts.machines(gpu=gpu, capacity=capacity)
    return [one for one in found if tpu is None or _has_tpu(one, tpu.lower())]


def _has_tpu(found: Machine, word: str) -> bool:
    tpu = found.tpu
    return tpu is not None and (
        tpu.generation.removeprefix("tpu").startswith(word.removeprefix("tpu").lstrip("-"))
        or tpu.type == word
    )


def _nothing(gpu: str | None, tpu: str | None, capacity: str | None) -> InputError:
    """What was asked for does not exist, or not together; with the nearest words there are."""
    catalog = facts.catalog()
    gpus = {model.title.lower().replace(" ", "-") for model in catalog.gpus.values()}
    tpus = {one.tpu.generation for one in catalog.machines.values() if one.tpu}
    if gpu is not None and not _chosen(gpu, None, None):
        return _no_such("GPU", gpu, gpus)
    if tpu is not None and not _chosen(None, tpu, None):
        return _no_such("TPU", tpu, tpus)
    options = {"gpu": gpu, "tpu": tpu, "capacity": capacity}
    asked = " ".join(f"--{option} {word}" for option, word in options.items() if word)
    return InputError(f"no machine fits {asked}", hint="Leave one of them out.")


def _no_such(kind: str, word: str, known: Iterable[str]) -> InputError:
    there = sorted(known)
    hint = f"{did_you_mean(word, there)} There are {listed(there, 'and')}.".strip()
    return InputError(f"no machine has the {kind} `{word}`", hint=hint)


def _checked(found: Iterable[Machine]) -> datetime.date:
    return facts.checked({key for one in found for keys in one.sources.values() for key in keys})


def _row(found: Machine) -> tuple[str, ...]:
    return (
        found.name,
        _accelerators(found),
        str(found.gpu.memory_gb) if found.gpu else "-",
        f"{found.vcpus}/{_known(found.memory_gb)}",
        _known(found.gbps),
        found.gpudirect.kind if found.gpudirect else "-",
        *(_answer(found.offers(way)) for way in WAYS),
    )


def _accelerators(found: Machine) -> str:
    """``8 H100``, ``1/8 RTX PRO 6000``, ``4 TPU v5p``, ``+ T4 P4`` where they can be attached."""
    if found.gpu:
        count = found.gpu.count if found.gpu.fraction == 1 else f"1/{1 / found.gpu.fraction:.0f}"
        return f"{count} {facts.catalog().gpus[found.gpu.type].title}"
    if found.tpu:
        return f"{found.tpu.chips} TPU {found.tpu.generation.removeprefix('tpu')}"
    fitting = [kind for kind, counts in found.attachable_gpus.items() if found.vcpus <= max(counts.values())]
    return "+" + " ".join(facts.catalog().gpus[kind].title for kind in fitting) if fitting else "-"


def _answer(value: bool | None) -> str:
    return "?" if value is None else "yes" if value else "no"


def _known(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _listed(values: Iterable[object] | None, none: str = "none") -> str:
    return "?" if values is None else ", ".join(map(str, values)) or none


def _card(found: Machine) -> Iterator[tuple[str, str]]:
    """Labels and texts, in the order a person asks."""
    yield from _hardware(found)
    yield from _network(found)
    yield from _disks(found)
    yield from _obtaining(found)
    yield from _sources(found)


def _hardware(found: Machine) -> Iterator[tuple[str, str]]:
    if found.gpu:
        model = facts.catalog().gpus[found.gpu.type]
        yield "GPUs", f"{_accelerators(found)} ({found.gpu.type}), {found.gpu.memory_gb:,} GB together"
        sizes = model.partitions
        yield "MIG partitions", _listed(sizes and [f"{size} × {most}" for size, most in sizes.items()])
    if found.tpu:
        yield "TPU", f"{found.tpu.chips} chips {found.tpu.generation} ({found.tpu.type})"
    for kind, counts in found.attachable_gpus.items():
        fitting = [str(count) for count, most in counts.items() if found.vcpus <= most]
        if fitting:
            yield "GPUs to attach", f"{listed(fitting)} × {facts.catalog().gpus[kind].title} ({kind})"
    processor = "Arm" if found.arm else "x86-64"
    bare = ", bare metal" if found.bare_metal else ""
    yield "vCPUs, memory", f"{found.vcpus} vCPUs, {_known(found.memory_gb)} GB, {processor}{bare}"
    yield "confidential", _listed(found.confidential, "no")


def _network(found: Machine) -> Iterator[tuple[str, str]]:
    yield "network", f"{_known(found.nics)} NICs, {_known(found.gbps)} Gbps together"
    direct = found.gpudirect
    if direct:
        networks = "networks" if direct.extra_networks > 1 else "network"
        parts = [
            f"{direct.kind} over {direct.nics} NICs",
            f"{direct.extra_networks} extra {direct.nic_type} {networks}",
            f"RDMA VPC with profile ZONE-{direct.network_profile}" if direct.network_profile else "",
            f"{direct.rdma_subnets} subnets in it" if direct.rdma_subnets else "",
            f"MTU {direct.mtu}",
        ]
        least = "?" if direct.min_gke is None else f"{listed([*direct.min_gke.values()])}, by minor version"
        yield "GPUDirect", ", ".join(filter(None, parts))
        yield "GPUDirect from", f"GKE {least}"
    elif found.gpu:
        yield "GPUDirect", "none"
    yield "managed DRANET", _answer(found.managed_dranet)


def _disks(found: Machine) -> Iterator[tuple[str, str]]:
    yield "boot disks", _listed(found.boot_disks)
    yield "data disks", _listed(found.data_disks)
    limits = [f"{number} {kind}" for kind, number in found.disk_limits.items() if number]
    yield "at most", _listed([f"{_known(found.max_disks)} disks", *limits])
    if found.hyperdisk_ml_since:
        yield "Hyperdisk ML", f"only volumes made on {found.hyperdisk_ml_since} or later"
    yield "Local SSDs", _local_ssds(found)


def _local_ssds(found: Machine) -> str:
    ssd = found.local_ssd
    if ssd is None:
        return "?"
    if ssd.fixed:
        without = f"; none on {found.name}-nolssd" if found.without_local_ssd else ""
        return f"always {ssd.fixed} × {ssd.gib:,} GiB{without}"
    return f"none, or {listed([*map(str, ssd.allowed)])} × {ssd.gib:,} GiB" if ssd.allowed else "none"


def _obtaining(found: Machine) -> Iterator[tuple[str, str]]:
    ways = ", ".join(f"{way} {_answer(found.offers(way))}" for way in facts.CAPACITY)
    yield "capacity", ways
    if found.offers("flex-start") is not False and found.flex_start_zones:
        yield "flex-start in", _listed(found.flex_start_zones)
    most = f", at most {found.compact_max:,} nodes" if found.compact and found.compact_max else ""
    also = ", with flex-start too" if found.compact_with_flex_start else ""
    yield "compact", f"{_answer(found.compact)}{most}{also}"
    policy = found.workload_policy
    if policy:
        when = "on all nodes" if policy.required == "always" else "on slices of several nodes"
        topologies = f", topology {listed(policy.topologies)}" if policy.topologies else ""
        size = f", at most {policy.max_nodes} nodes" if policy.max_nodes else ""
        yield "workload policy", f"needed {when}{topologies}{size}"
    versions = {FEATURES[name]: facts.catalog().features[name].min_gke for name in _features(found)}
    if versions:
        yield "GKE from", "; ".join(f"{name} {version}" for name, version in versions.items())
    for note in found.notes:
        yield "note", note
    if found.tpu:
        yield "topologies", "each with its chips/nodes:"
        yield from (("", line) for line in _topologies(found))


def _features(found: Machine) -> Iterator[FeatureName]:
    """What of this machine a cluster must be new enough for."""
    if found.gpu or found.attachable_gpus:
        yield "default_gpu_driver"
    if found.offers("flex-start") is not False and (found.gpu or found.tpu or found.attachable_gpus):
        yield "flex_start_tpu" if found.tpu else "flex_start_gpu"
    if found.managed_dranet:
        yield "managed_dranet"
    if found.tpu and len(facts.tpu_topologies(found.name)) > 1:
        yield "multislice"
    yield "secondary_boot_disks"


def _topologies(found: Machine) -> Iterator[str]:
    """The smallest slices in columns, read line by line, and how many larger ones there are."""
    slices = [(name, facts.tpu_topology(found.name, name)) for name in facts.tpu_topologies(found.name)]
    cells = [f"{name} {one.chips}/{one.nodes}" for name, one in slices if one]
    shown = [*cells[:SLICES], *[""] * (-len(cells[:SLICES]) % COLUMNS)]
    yield from aligned([shown[start : start + COLUMNS] for start in range(0, len(shown), COLUMNS)])
    if len(cells) > SLICES:
        yield f"… and {len(cells) - SLICES} more up to {cells[-1]}; --json lists all of them"


def _sources(found: Machine) -> Iterator[tuple[str, str]]:
    missing = facts.unconfirmed(found)
    if missing:
        yield "not confirmed", f"{', '.join(missing)}: not refused"
    known = facts.catalog().sources
    for dispute in facts.disputes(found):
        claims = "; ".join(f"{key} says {claim}" for key, claim in dispute.claims.items())
        yield "disputed", f"{dispute.about}: {claims}; groundplan goes by {dispute.used}"
    for key in _cited(found):
        source = known[key]
        what = [group.replace("_", " ") for group, keys in found.sources.items() if key in keys]
        about = f" ({', '.join(what)})" if what else ""
        yield (
            f"source {key}",
            f"{source.title}, {source.state}, checked {source.checked}{about}; {source.url}",
        )


def _cited(found: Machine) -> list[str]:
    """Keys of the sources of a machine's facts, and of those that dispute them."""
    keys = [key for group in found.sources.values() for key in group]
    keys += [key for dispute in facts.disputes(found) for key in dispute.claims]
    return list(dict.fromkeys(keys))


def _summary(found: Machine) -> dict[str, Any]:
    """The documented shape of an entry of ``machines --json``; null is what no source confirms."""
    return {
        "machine": found.name,
        "family": found.family,
        "series": found.series,
        "gpu": _plain(found.gpu),
        "tpu": found.tpu and {"generation": found.tpu.generation, "chips": found.tpu.chips},
        "attachable_gpus": _plain(found.attachable_gpus),
        "vcpus": found.vcpus,
        "memory_gb": found.memory_gb,
        "nics": found.nics,
        "gbps": found.gbps,
        "gpudirect": found.gpudirect.kind if found.gpudirect else "none",
        "capacity": {way: found.offers(way) for way in facts.CAPACITY},
    }


def _everything(found: Machine) -> dict[str, Any]:
    """The documented shape of ``machine --json``: every fact, and what is said about the facts."""
    slices = {
        topology: facts.tpu_topology(found.name, topology) for topology in facts.tpu_topologies(found.name)
    }
    return {
        "name": found.name,
        "series": found.series,
        **_plain(found),
        "topologies": [{"topology": topology, **_plain(one)} for topology, one in slices.items()],
        "min_gke": {name: facts.catalog().features[name].min_gke for name in _features(found)},
        "unconfirmed": facts.unconfirmed(found),
        "disputes": _plain(facts.disputes(found)),
        "cited": {key: _plain(facts.catalog().sources[key]) for key in _cited(found)},
    }


def _plain(value: Any) -> Any:
    """Facts as JSON can hold them, with their empty values: null is an answer here."""
    import msgspec

    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.structs.asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, datetime.date) else value
