"""Node pools as text, judged, and made: for the tests of rules on machines and capacity."""

from blueprint_texts import SYSTEM, document, found, one

from groundplan.blueprints.lock import Lock, allocate
from groundplan.stacks.catalog import stacks


def cluster(pools, more="zones: [a]"):
    """A text with one cluster that has a pool for system pods and these."""
    indented = "".join(f"    {line}\n" for line in more.splitlines())
    return one(f"clusters:\n  main:\n    node_pools: {{{SYSTEM}, {pools}}}\n{indented}")


def pool(spec, more="zones: [a]"):
    """A text with one node pool ``x``."""
    return cluster(f"x: {{{spec}}}", more)


def judged(spec, more="zones: [a]"):
    """Code → severity of what is said about a pool."""
    return {one.code: one.severity for one in found(pool(spec, more))}


def refused(spec, more="zones: [a]"):
    """The codes for which a pool is refused."""
    return {code for code, severity in judged(spec, more).items() if severity == "error"}


def message(spec, code, more="zones: [a]"):
    """Message and hint of what is said under a code."""
    (diagnostic,) = [one for one in found(pool(spec, more)) if one.code == code]
    return f"{diagnostic.message}. {diagnostic.hint}"


def made(spec, more="zones: [a]"):
    """The attributes of the GKE node pool that an accepted pool becomes."""
    blueprint = document(pool(spec, more)).blueprint
    (stack,) = stacks(blueprint, allocate(blueprint, Lock()))
    return stack.graph["google_container_node_pool.main_x"].attributes
