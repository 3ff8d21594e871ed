"""What codes are about, by their first two letters: in lists, in docs, for ``groundplan rules --tag``."""

from __future__ import annotations

from typing import NamedTuple


class Area(NamedTuple):
    """What the codes of two letters are about."""

    tag: str
    title: str


AREAS: dict[str, Area] = {
    "SY": Area("yaml", "The file"),
    "BP": Area("language", "Keys and values"),
    "NM": Area("names", "Names"),
    "RF": Area("references", "References"),
    "TX": Area("text", "Text"),
    "LT": Area("later", "What is not provisioned yet"),
    "WV": Area("waivers", "The file of waivers"),
    "LB": Area("labels", "Labels"),
    "TN": Area("taints", "Taints"),
    "IP": Area("ranges", "Address ranges"),
    "ZN": Area("zones", "Zones"),
    "EP": Area("endpoint", "Endpoints of clusters"),
    "ND": Area("nodes", "Number of nodes"),
    "MA": Area("machines", "Machine types"),
    "GP": Area("gpu", "GPUs"),
    "CO": Area("capacity", "How machines are obtained"),
    "RS": Area("reservations", "Reservations"),
    "PL": Area("placement", "Placement"),
    "TP": Area("tpu", "TPU slices"),
    "NW": Area("networking", "Networks of GPUs"),
    "DK": Area("disks", "Disks and Local SSDs"),
    "HM": Area("hyperdisk", "Hyperdisk ML"),
    "UP": Area("upgrades", "Upgrades"),
    "MW": Area("maintenance", "Maintenance"),
    "FU": Area("gcsfuse", "Mounted buckets"),
    "IS": Area("images", "Preloaded images"),
    "HW": Area("hardware", "Hardware"),
    "AU": Area("automation", "Pipelines"),
    "FO": Area("folders", "Folders, tags and contacts"),
    "OP": Area("orgpolicies", "Organization policies"),
    "AC": Area("access", "People and roles"),
    "DA": Area("data", "Secrets, repositories, datasets, keys"),
    "VN": Area("network", "The environment's network"),
    "PM": Area("perimeter", "Perimeters"),
    "VS": Area("perimeter", "VPC Service Controls"),
    "VX": Area("vertex", "Vertex AI"),
}


def area(code: str) -> Area:
    """The area of a code; of one that is not in the table, its two letters."""
    return AREAS.get(code[:2], Area(code[:2].lower(), code[:2]))
