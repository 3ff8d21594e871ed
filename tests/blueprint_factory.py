"""Blueprints for tests, from plain data in the shape of a file: merged, completed, with address ranges."""

import ipaddress

from groundplan.blueprints.lock import ClusterRanges, EnvironmentLock, Lock
from groundplan.blueprints.model import TIERS, Blueprint, Bucket, Environment, Names, ProjectSpec
from groundplan.blueprints.naming import bucket_of, project_id
from groundplan.stacks.catalog import stacks

#: Keys whose value wins whole, as in the language.
WHOLE = {"capacity", "nodes", "sharing"}

SYSTEM = {"machine": "e2-standard-4", "nodes": {"min": 1, "max": 3}}
L4 = {"machine": "g2-standard-12", "capacity": "spot", "nodes": {"min": 0, "max": 4}}


def merged(below, above):
    """``above`` over ``below``, by key at every depth."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {
        key: merged(below[key], value) if key in below and key not in WHOLE else value
        for key, value in above.items()
    }


def blueprint(environments, *, defaults=None, name="llm", **top):
    """A blueprint; ``environments`` maps names to specs, which go over ``defaults``."""
    names = Names(**top.get("names", {}))
    complete = {
        env: complete_environment(name, env, merged(defaults or {}, spec or {}), names)
        for env, spec in environments.items()
    }
    return Blueprint.model_validate(
        {"apiVersion": "groundplan/v1", "name": name, **top, "environments": complete}
    )


def complete_environment(platform, name, spec, names):
    tier = spec.get("tier") or TIERS[name]
    project = project_id(platform, name, names, ProjectSpec(**spec.get("project", {})))
    buckets = {
        key: bucket_of(platform, name, project, key, names, Bucket(**bucket))
        for key, bucket in spec.get("storage", {}).get("buckets", {}).items()
    }
    derived = {
        "name": name,
        "tier": tier,
        "platform": platform,
        "project_id": project,
        "bucket_names": buckets,
    }
    return Environment.model_validate({"protect": tier != "development", **spec, **derived})


def lock(blueprint, numbers=None, pods=None):
    """A lock with ranges for every cluster; ``numbers`` maps environments to project numbers."""
    space = ipaddress.ip_network("10.64.0.0/10").subnets(new_prefix=13)
    environments = {}
    for name, env in blueprint.environments.items():
        ranges = {}
        for key in env.clusters:
            first, rest = next(space).subnets(new_prefix=14)
            nodes, services = list(rest.subnets(new_prefix=20))[:2]
            ranges[key] = ClusterRanges(nodes=nodes, pods=pods or first, services=services)
        environments[name] = EnvironmentLock(project_number=(numbers or {}).get(name), ranges=ranges)
    return Lock(environments=environments)


def platform(environments=None, *, foundation=True, **changes):
    """Three environments with a cluster, two buckets and two workloads each."""
    defaults = {
        "folder": "345678901234",
        "billing_account": "01AB23-CD45EF-678901",
        "labels": {"team": "ml"},
        "clusters": {"main": {"zones": ["a", "b"], "node_pools": {"system": SYSTEM, "l4": L4}}},
        "storage": {"buckets": {"datasets": {}, "checkpoints": {"soft_delete": "7d"}}},
        "workloads": {
            "trainer": {
                "namespace": "training", "reads": ["buckets/datasets"], "writes": ["buckets/checkpoints"],
            },
            "server": {"reads": ["buckets/checkpoints"]},
        },
    }  # fmt: skip
    return blueprint(
        environments or {"ml-dev": {}, "ml-staging": {}, "ml-prod": {}},
        defaults=merged(defaults, changes),
        organization="123456789012",
        **({"foundation": {"project": "llm-seed"}} if foundation else {}),
    )


def stack(made, name="ml-dev", numbers=None):
    """One stack of a blueprint."""
    return stacks(made, lock(made, numbers), [name])[0]


def dev(**changes):
    """The graph of a single development environment: ``platform``'s, with ``changes`` over it."""
    return stack(platform({"ml-dev": {}}, foundation=False, **changes)).graph


def only(graph, type):
    """The only resource of a type."""
    (found,) = graph.of_type(type)
    return found
