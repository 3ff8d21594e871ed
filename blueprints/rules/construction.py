"""Mistakes that other tools have to look for and that cannot be made here, each with the reason.

They are mistakes in attributes of Google Cloud's or Terraform's that the language does not have: it says what
is wanted, and the modules write the attributes. Their codes are kept, so that nobody has to ask whether one
was forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Impossible:
    """A mistake that cannot be made.

    Attributes:
        code: its code.
        title: what a rule would demand.
        why: why nothing can break it.
    """

    code: str
    title: str
    why: str


_ONE_WORD = "It is one word of a fixed list."
_STRATEGY = (
    "groundplan chooses how pools are upgraded: by surge, with nodes added where there are some to add."
)
_RESERVATION = "groundplan writes the reservation affinity from `capacity`, which is one decision."
_POLICY = "groundplan makes the policies that a pool needs, with the settings that belong together."
_TOPOLOGY_MODE = "The language has no topology mode; policies connect what they place."
_SLICE = "groundplan writes the policy of a slice from `topology`."
_NETWORK = "Every cluster is VPC-native with Dataplane V2, and has multi-networking where a pool needs it."
_IMAGE = "Every node runs Container-Optimized OS (COS_CONTAINERD)."
_DISK = "The language has no access modes and no sources of disks: a volume of two zones is two disks."
_VERTEX = "groundplan makes nothing of Vertex AI."

#: By code.
IMPOSSIBLE: tuple[Impossible, ...] = (
    Impossible("CO007", "flex-start pools are not repaired", "groundplan turns repair off for them."),
    Impossible("CO010", "run limits are seconds", "A duration is parsed, and written as seconds: 3d."),
    Impossible(
        "CO011", "flex-start pools take machines in any zone", "groundplan writes that policy for them."
    ),
    Impossible("CO019", "flex-start pools name no upgrade strategy", "groundplan writes none for them."),
    Impossible(
        "CO020",
        "flex-start has preemptible quota",
        "Quota is no part of a blueprint. `groundplan quota` lists what is needed, preemptible quota too.",
    ),
    Impossible("CO021", "queued pools do not ask for PROVISION_ONLY", _TOPOLOGY_MODE),
    Impossible("CO022", "PROVISION_ONLY has a named reservation", _TOPOLOGY_MODE),
    Impossible("DK005", "Local SSDs are used in one way", "`local_ssd.mode` is one word."),
    Impossible(
        "DK008",
        "machines attach Hyperdisk ML of their time",
        "Disks are made, not adopted, so they are younger than the machines that take no old ones.",
    ),
    Impossible("FU001", "mounts have a profile that exists", _ONE_WORD),
    Impossible(
        "FU002", "parallel downloads have a cache", "Profiles set downloads; the language has no such key."
    ),
    Impossible("FU004", "caches have an admission policy that exists", "The language has no such key."),
    Impossible(
        "GP008", "sharing has a strategy and a number", "Both are required, and the strategy is one word."
    ),
    Impossible("GP009", "drivers are installed in a known way", _ONE_WORD),
    Impossible("GP010", "the latest driver is on its image", _IMAGE),
    Impossible("HM004", "volumes stay read-only", _DISK),
    Impossible("HM005", "volumes of snapshots are read-only", _DISK),
    Impossible("HM006", "volumes have one writer", _DISK),
    Impossible("HM009", "volumes of several zones are made in one way", _DISK),
    Impossible(
        "IS001", "preloaded images are streamed", "groundplan turns streaming on wherever `preload` is."
    ),
    Impossible("IS002", "streamed images are on their system", _IMAGE),
    Impossible(
        "MW001", "there is one window", "`window` is one key; without it upgrades may come at any time."
    ),
    Impossible("MW006", "exclusions have one end", "`end` is required, and is a time or end-of-support."),
    Impossible("MW008", "times are UTC", "Times are parsed with their zone, and written in UTC."),
    Impossible("NW001", "networks of GPUs have their cluster", _NETWORK),
    Impossible("NW003", "networks are made in one way", "`networking` is one word."),
    Impossible(
        "NW005", "networks of GPUs have their MTU", "groundplan writes the one that the machine needs."
    ),
    Impossible("NW008", "pods per node are set in VPC-native clusters", _NETWORK),
    Impossible("PL002", "compact pools are upgraded by surge", _STRATEGY),
    Impossible("PL007", "no distance is asked of A3", _POLICY),
    Impossible("PL008", "policies have a distance or a topology", _POLICY),
    Impossible("PL009", "policies have a topology or a distance", _POLICY),
    Impossible("PL012", "policies are where their pool is", _POLICY),
    Impossible("RS001", "reservations have a key", _RESERVATION),
    Impossible(
        "RS002", "pools have one reservation", "`reservation` is one; blocks of it become pools of their own."
    ),
    Impossible("RS003", "only named reservations have names", _RESERVATION),
    Impossible("TP006", "slices of several machines have a policy", _SLICE),
    Impossible("UP001", "upgrades proceed", _STRATEGY),
    Impossible("UP002", "upgrades take 20 nodes at a time", _STRATEGY),
    Impossible("UP003", "reserved pools are not upgraded blue-green", _STRATEGY),
    Impossible("UP004", "a number is fixed or not", "`nodes` is one decision: a number, or bounds."),
    Impossible("UP005", "bounds are of one kind", "Bounds of `nodes` are those of the whole pool."),
    Impossible("VS002", "rules name methods", "A service without methods stands for all of them."),
    Impossible("VS003", "trials say that they are trials", "groundplan writes the flag beside a trial."),
    Impossible("VS004", "sources restrict", "groundplan restricts sources wherever some are written."),
    Impossible("VX001", "feature stores have one kind of storage", _VERTEX),
    Impossible("VX002", "endpoints have one kind of network", _VERTEX),
    Impossible("VX003", "index endpoints have one kind of network", _VERTEX),
    Impossible("VX004", "workbenches have one image", _VERTEX),
    Impossible("VX005", "endpoints are dedicated or private", _VERTEX),
)

#: Rules of the catalog that are part of another one.
SAID_BY = {"VS005": "PM007"}
