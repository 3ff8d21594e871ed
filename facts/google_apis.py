"""How private networks reach Google's APIs: ``google_apis.json``, dated and with its sources."""

from __future__ import annotations

import functools
from collections.abc import Collection
from ipaddress import IPv4Network
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("google_apis.json")

#: private: all APIs. restricted: only those that VPC Service Controls supports.
Vip = Literal["private", "restricted"]


class Address(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One set of addresses of Google's APIs."""

    range: str  #: four addresses that only Google's network routes
    bundle: str  #: the same set of APIs behind a Private Service Connect endpoint

    @property
    def addresses(self) -> list[str]:
        """All addresses of the range, for DNS records."""
        return [str(address) for address in IPv4Network(self.range)]


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A domain whose names the addresses serve too."""

    why: str
    apis: tuple[str, ...] = ()  #: needed only where one of these is used; empty: always


class GoogleApis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``google_apis.json``."""

    checked: str  #: YYYY-MM-DD
    sources: tuple[str, ...]
    vips: dict[Vip, Address]
    direct: tuple[str, ...]  #: where gRPC and Cloud Storage connect without the front ends in between
    domains: dict[str, Domain]


@functools.cache
def google_apis() -> GoogleApis:
    """Everything that is known about private access to Google's APIs."""
    return msgspec.json.decode(DATA.read_bytes(), type=GoogleApis)


def domains(used: Collection[str]) -> list[str]:
    """The domains that an environment which uses these APIs needs, sorted."""
    known = google_apis().domains
    return sorted(name for name, one in known.items() if not one.apis or any(a in used for a in one.apis))
