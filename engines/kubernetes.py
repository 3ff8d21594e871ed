"""Kubernetes objects that belong to an environment's node pools, as files that ``kubectl apply -f`` takes.

Terraform makes node pools and networks; what Kubernetes must know of them are custom resources of GKE:

- a ComputeClass for each compute class, with its pools in the order of falling back (GKE docs, "ComputeClass
  CRD"); GKE makes no pool of its own for it, and waits where all of its pools are full;
- a Network and a GKENetworkParamSet for each GPU network interface, by which pods ask for it (GKE docs, "Set
  up multi-network support for Pods"; the mode of a gVNIC is NetDevice, of the others RDMA).

Names and order follow from the blueprint, so the same blueprint gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from groundplan.modules import gpu_networks
from groundplan.modules.compute_classes import fallbacks
from groundplan.modules.provisioned import clusters

if TYPE_CHECKING:
    from groundplan.blueprints.model import Blueprint, Cluster, Environment

HEADER = "# Written by groundplan from the blueprint {blueprint}: {what} of the cluster {cluster} in {env}.\n"

Manifest = dict[str, Any]


def manifests(blueprint: Blueprint, env: Environment) -> dict[str, str]:
    """The Kubernetes files of an environment: name → text, in alphabetical order.

    Args:
        blueprint: whose platform it is.
        env: the environment.
    """
    files = {}
    for key, cluster in clusters(env).items():
        for what, objects in (
            ("compute classes", _compute_classes(cluster)),
            ("GPU networks", _gpu_networks(env, key, cluster)),
        ):
            found = list(objects)
            if found:
                header = HEADER.format(blueprint=blueprint.name, what=what, cluster=key, env=env.name)
                name = f"{key}-{what.lower().replace(' ', '-')}.yaml"
                files[name] = header + _dump(found)
    return dict(sorted(files.items()))


def _compute_classes(cluster: Cluster) -> Iterator[Manifest]:
    for name in sorted(cluster.compute_classes):
        order = fallbacks(cluster, name)
        if order:
            spec = {
                "nodePoolAutoCreation": {"enabled": False},
                "priorities": [{"nodepools": pools} for pools in order],
                "whenUnsatisfiable": "DoNotScaleUp",
            }
            yield _manifest("cloud.google.com/v1", "ComputeClass", name, spec)


def _gpu_networks(env: Environment, key: str, cluster: Cluster) -> Iterator[Manifest]:
    group = "networking.gke.io"
    for networks in gpu_networks.made(cluster).values():
        for interface in gpu_networks.interfaces(env, key, cluster, networks):
            parameters = {
                "vpc": interface.vpc,
                "vpcSubnet": interface.subnet,
                "deviceMode": interface.mode,
            }
            yield _manifest(f"{group}/v1", "GKENetworkParamSet", interface.name, parameters)
            reference = {"group": group, "kind": "GKENetworkParamSet", "name": interface.name}
            spec = {"type": "Device", "parametersRef": reference}
            yield _manifest(f"{group}/v1", "Network", interface.name, spec)


def _manifest(api: str, kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _dump(objects: list[Manifest]) -> str:
    """YAML documents; strings that look like something else are quoted."""
    import yaml

    return "".join(f"---\n{yaml.safe_dump(one, sort_keys=False)}" for one in objects)
