"""Labels: those of Google Cloud (``labels``) and those of Kubernetes nodes (``node_labels``)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from groundplan.blueprints.rules.base import EnvironmentView, Problem, environment_rule
from groundplan.blueprints.rules.kubernetes import key_mistake, value_mistake

LABELS = "Google Cloud docs, Resource Manager, Labels overview"
NODE_LABELS = "Google Cloud docs, Create and manage cluster and node pool labels"
LONGEST = 63
MOST = 64
OWN = 3  #: labels that groundplan adds: environment, managed-by, platform

#: Prefixes of node labels that GKE and Kubernetes keep for themselves; domains below them are theirs too.
RESERVED = ("kubernetes.io", "k8s.io", "cloud.google.com", "gke.io")


@environment_rule("LB001", "the keys of labels are what Google Cloud accepts", source=LABELS)
def keys(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses a resource with such a label, each service in its own words and only at apply."""
    for key in view.environment.labels:
        if not _is_label(key) or not _is_letter(key[:1]):
            yield Problem(
                ("labels", key),
                f"`{key}` cannot be the key of a Google Cloud label",
                "A key has lower-case letters, digits, _ and -, at most 63, and begins with a letter. "
                "Kubernetes labels of nodes are `node_labels`.",
                at_key=True,
            )
        elif key.startswith("goog"):
            yield Problem(
                ("labels", key),
                f"`{key}` cannot be the key of a Google Cloud label",
                "Keys that begin with goog are Google's own.",
                at_key=True,
            )


@environment_rule("LB002", "the values of labels are what Google Cloud accepts", source=LABELS)
def values(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses capitals, dots, slashes and @ in the values of labels, only at apply."""
    for key, value in view.environment.labels.items():
        if not _is_label(value):
            yield Problem(
                ("labels", key),
                f"`{value}` cannot be the value of a Google Cloud label",
                "A value has lower-case letters, digits, _ and -, at most 63"
                + (f": {suggestion}." if (suggestion := _suggestion(value)) else "."),
            )


@environment_rule("LB003", "a resource has at most 64 labels", source=LABELS)
def number(view: EnvironmentView) -> Iterator[Problem]:
    """Google Cloud refuses a resource with more labels. Three of them are groundplan's own."""
    count = len(view.environment.labels)
    if count > MOST - OWN:
        message = f"there are {count} labels; a resource has at most {MOST}, {OWN} of them from groundplan"
        yield Problem(("labels",), message, "Remove those that nobody asks for.", at_key=True)


@environment_rule(
    "LB004", "node labels are what Kubernetes accepts", source="Kubernetes docs, Labels and Selectors"
)
def node_labels(view: EnvironmentView) -> Iterator[Problem]:
    """Kubernetes refuses a node with such a label, so GKE refuses the pool."""
    for path, _, pool in view.pools():
        for key, value in pool.node_labels.items():
            place = (*path, "node_labels", key)
            if mistake := key_mistake(key):
                yield Problem(place, f"`{key}` cannot be the key of a node label", mistake, at_key=True)
            if mistake := value_mistake(value):
                yield Problem(place, f"`{value}` cannot be the value of a node label", mistake)


@environment_rule(
    "LB005", "node labels keep away from the prefixes of GKE and Kubernetes", source=NODE_LABELS
)
def reserved(view: EnvironmentView) -> Iterator[Problem]:
    """GKE sets these labels itself and refuses a pool that brings its own."""
    for path, _, pool in view.pools():
        for key in pool.node_labels:
            prefix, slash, name = key.rpartition("/")
            owner = next((one for one in RESERVED if prefix == one or prefix.endswith(f".{one}")), None)
            if slash and owner:
                yield Problem(
                    (*path, "node_labels", key),
                    f"node labels under {prefix}/ are managed by GKE or Kubernetes",
                    f"Use a prefix of your own: example.com/{name}.",
                    at_key=True,
                )


def _is_label(text: str) -> bool:
    """Whether text has only what keys and values may have; letters of all scripts, but no capitals."""
    return len(text) <= LONGEST and all(
        char in "_-" or _is_letter(char) or unicodedata.category(char)[0] == "N" for char in text
    )


def _is_letter(char: str) -> bool:
    return bool(char) and unicodedata.category(char) in ("Ll", "Lo")


def _suggestion(value: str) -> str:
    """``jane-corp-io`` for ``Jane@corp.io``."""
    return "".join(char if _is_label(char) else "-" for char in value.lower())[:LONGEST].strip("-")
