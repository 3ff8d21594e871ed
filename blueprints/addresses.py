"""Arithmetic of address ranges: which are taken, which is the first free one, how large ranges should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network

from groundplan.errors import InputError

KINDS = ("nodes", "pods", "services")


@dataclass(frozen=True)
class Size:
    """How large the ranges of one kind are, as prefix lengths."""

    preferred: int  #: GKE's own default
    share: int  #: of a small address space: so many bits longer than its prefix
    smallest: int  #: the smallest that is allocated


# Preferred sizes are GKE's defaults: 4,096 nodes, 262,144 pod addresses (1,024 nodes of 110 pods), 4,096
# services. Smallest: GKE's documented minimum for pods, room for a few nodes and services. Shares: seven
# clusters fit into a small space.
SIZES: Mapping[str, Size] = {
    "nodes": Size(preferred=20, share=6, smallest=27),
    "pods": Size(preferred=14, share=3, smallest=21),
    "services": Size(preferred=20, share=6, smallest=26),
}

#: Each subnet of GPU networks holds the nodes of one machine type in a cluster: 1,020 or, where the address
#: space is small, at least 28.
GPU_SUBNET = Size(preferred=22, share=8, smallest=27)

#: Small ranges are placed first, so that they share the gap before the first large one.
_ORDER = ("nodes", "services", "pods")


@dataclass
class Taken:
    """The ranges that are taken, and whose they are."""

    ranges: list[tuple[IPv4Network, str]] = field(default_factory=list)

    def add(self, network: IPv4Network, owner: str) -> None:
        """Take a range.

        Raises:
            InputError: it overlaps another one.
        """
        for other, whose in self.ranges:
            if network.overlaps(other):
                raise InputError(
                    f"{network} of {owner} overlaps {other} of {whose}",
                    hint="Change one of them: in the blueprint, or in the lock if it was never used.",
                )
        self.ranges.append((network, owner))

    def first_free(self, space: IPv4Network, prefix: int) -> IPv4Network | None:
        """The first range of this size in ``space`` that is not taken; None if there is none."""
        size = 1 << (32 - prefix)
        start, end = int(space.network_address), int(space.broadcast_address) + 1
        for network, _ in sorted(self.ranges):
            first, last = int(network.network_address), int(network.broadcast_address)
            if last >= start and first < start + size:
                start = -(-(last + 1) // size) * size
        return IPv4Network((IPv4Address(start), prefix)) if start + size <= end else None


def free_ranges(
    space: IPv4Network, fixed: Mapping[str, IPv4Network], taken: Taken
) -> dict[str, IPv4Network] | None:
    """The ranges of one cluster: those that are fixed, and for the others the first free ones.

    They have GKE's default sizes, or less where the space is small or nearly full.

    Args:
        space: where to look.
        fixed: ranges by kind that are given; they are taken already.
        taken: what is taken; not changed.

    Returns:
        Ranges by kind; None if there is no room even for the smallest.
    """
    for prefixes in _prefixes(space.prefixlen):
        found = dict(fixed)
        trial = Taken(list(taken.ranges))
        for kind in _ORDER:
            if kind not in fixed:
                network = trial.first_free(space, prefixes[kind])
                if network is None:
                    break
                trial.ranges.append((network, kind))
                found[kind] = network
        else:
            return found
    return None


def free_gpu_range(space: IPv4Network, subnets: int, taken: Taken) -> IPv4Network | None:
    """The first free range that can be cut into so many equal subnets; None if there is none.

    Args:
        space: where to look.
        subnets: how many subnets of GPU networks it is cut into; ``cut`` does it.
        taken: what is taken; not changed.
    """
    slots = (subnets - 1).bit_length()
    start = min(GPU_SUBNET.smallest, max(GPU_SUBNET.preferred, space.prefixlen + GPU_SUBNET.share))
    for prefix in range(start, GPU_SUBNET.smallest + 1):
        found = taken.first_free(space, prefix - slots)
        if found is not None:
            return found
    return None


def cut(network: IPv4Network, subnets: int) -> list[IPv4Network]:
    """The first so many of the equal subnets that ``network`` is cut into."""
    pieces = network.subnets(prefixlen_diff=(subnets - 1).bit_length())
    return [piece for piece, _ in zip(pieces, range(subnets), strict=False)]


def _prefixes(space: int) -> Iterator[dict[str, int]]:
    """Prefix lengths to try in a space with this prefix length, from the largest ranges to the smallest."""
    start = {
        kind: min(size.smallest, max(size.preferred, space + size.share)) for kind, size in SIZES.items()
    }
    steps = max(size.smallest - start[kind] for kind, size in SIZES.items())
    for step in range(steps + 1):
        yield {kind: min(size.smallest, start[kind] + step) for kind, size in SIZES.items()}
