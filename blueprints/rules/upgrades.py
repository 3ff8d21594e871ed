"""How nodes get newer."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.blueprints.pool_view import PoolView
from groundplan.blueprints.rules.base import Problem
from groundplan.blueprints.rules.pools import pool_rule

CHANNELS = "Google Cloud docs, Release channels"


@pool_rule("UP006", "nodes have a version of their own outside release channels", basis="unwise",
           severity="error", source=CHANNELS)  # fmt: skip
def pinned(view: PoolView) -> Iterator[Problem]:
    """In a channel GKE upgrades the nodes, Terraform sets them back, and so on in every apply."""
    channel = view.cluster.release_channel
    if view.pool.version is not None and channel != "none":
        yield Problem(
            view.at("version"),
            f"GKE upgrades nodes in the channel {channel}, so their version cannot be fixed",
            "Remove `version`, and hold upgrades back with `maintenance.exclusions` and the scope "
            "`no-minor-or-node-upgrades`. Or write `release_channel: none`.",
            (("the channel", view.cluster_at("release_channel")),)
            if "release_channel" in view.cluster.model_fields_set
            else (),
        )
