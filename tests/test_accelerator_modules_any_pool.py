"""Whatever pool the language accepts can be written, and the schema check takes it."""

import json

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from groundplan.blueprints.lock import Lock, allocate
from groundplan.blueprints.reader import read
from groundplan.engines.kubernetes import manifests
from groundplan.engines.terraform.writer import document
from groundplan.errors import BlueprintError
from groundplan.facts.accelerators import catalog, machine, tpu_topologies
from groundplan.stacks.catalog import stacks

CPUS = (
    "e2-standard-4",
    "n1-standard-8",
    "n2d-standard-8",
    "n4-standard-8",
    "c3-standard-8-lssd",
    "h4d-standard-192",
)
MACHINES = sorted([*catalog().machines, *CPUS, "a3-ultragpu-8g-nolssd", "x9-unheard-8"])
RESERVATIONS = st.one_of(
    st.just("some"),
    st.just({"name": "some", "project": "ml-capacity"}),
    st.dictionaries(
        st.sampled_from(["b1", "b2"]),
        st.fixed_dictionaries({"nodes": st.integers(1, 40)}, optional={"sub_blocks": st.just(["s1", "s2"])}),
        min_size=1,
    ).map(lambda blocks: {"name": "some", "blocks": blocks}),
)
RARE = {
    "slices": st.integers(1, 3),
    "placement": st.just("compact"),
    "networking": st.sampled_from(["auto", "tcpx", "tcpxo", "rdma", "dranet", "none"]),
    "max_run_duration": st.sampled_from(["90m", "7d"]),
    "gpu": st.sampled_from(
        [
            {"driver": "latest"},
            {"sharing": {"strategy": "mps", "clients": 2}},
            {"partition": "1g.10gb"},
            {"type": "nvidia-tesla-t4", "count": 1},
        ]
    ),
    "local_ssd": st.sampled_from([{"mode": "ephemeral"}, {"mode": "block"}, {"mode": "block", "count": 2}]),
    "boot_disk": st.sampled_from([{"size": "200GiB"}, {"type": "pd-ssd"}, {"type": "hyperdisk-balanced"}]),
    "preload": st.just(["projects/llm-images/global/images/trainer"]),
    "host_maintenance": st.sampled_from(["periodic", "as-needed"]),
    "confidential": st.just(True),
    "max_pods_per_node": st.sampled_from([8, 32, 256]),
    "version": st.just("1.35.1-gke.1"),
    "node_labels": st.just({"example.com/role": "x"}),
    "node_taints": st.just([{"key": "dedicated", "value": "x"}, {"key": "nvidia.com/gpu"}]),
    "name": st.just("other"),
    "generation": st.integers(1, 2),
}


@st.composite
def pools(draw):
    """A pool that is likely to be accepted: capacity, topology and nodes fit the machine, the rest may."""
    name = draw(st.sampled_from(MACHINES))
    known = machine(name)
    ways = [
        way
        for way in ("on-demand", "spot", "flex-start", "queued", "any-reservation")
        if not known or known.offers(way) is not False
    ]
    capacity = draw(
        st.one_of(st.sampled_from(ways or ["on-demand"]), RESERVATIONS.map(lambda one: {"reservation": one}))
    )
    pool = {"machine": name, "capacity": capacity}
    topologies = tpu_topologies(name)[:6]
    if topologies and draw(st.booleans()):
        pool["topology"] = draw(st.sampled_from(topologies))
    blocks = isinstance(capacity, dict) and "blocks" in capacity["reservation"]
    if not blocks and "topology" not in pool:
        most = draw(st.integers(1, 18))
        fixed = capacity not in ("flex-start", "queued") and draw(st.booleans())
        pool["nodes"] = most if fixed else {"min": 0, "max": most}
    chosen = draw(st.lists(st.sampled_from(sorted(RARE)), max_size=3, unique=True))
    return pool | {key: draw(RARE[key]) for key in chosen}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pools(), st.sampled_from([["a"], ["a", "b", "c"], []]), st.booleans())
def test_what_validates_can_be_written(pool, zones, in_class):
    system = {"machine": "e2-standard-4", "nodes": {"min": 1, "max": 3}}
    cluster = {"zones": zones, "min_version": "1.35", "node_pools": {"system": system, "x": pool}}
    if in_class:
        cluster["compute_classes"] = {"serve": ["x", "system"]}
    text = json.dumps(
        {
            "apiVersion": "groundplan/v1",
            "name": "llm",
            "organization": "123456789012",
            "environments": {
                "ml-dev": {"billing_account": "01AB23-CD45EF-678901", "clusters": {"main": cluster}}
            },
        }
    )
    try:
        made = read("any.yaml", text)
    except BlueprintError:
        assume(False)
    blueprint = made.blueprint
    (stack,) = stacks(blueprint, allocate(blueprint, Lock()), ["ml-dev"])
    written = document(stack)["resource"]["google_container_node_pool"]
    told = [one for one in made.diagnostics if one.code == "LT001" and "not provisioned" in one.message]
    assert (set(written) == {"main_system"}) is bool(told), "a pool is made, or it is said that it is not"
    names = [body["name"] for body in written.values()]
    assert len(set(names)) == len(names)
    assert bool(manifests(blueprint, blueprint.environments["ml-dev"])) >= in_class
