"""Whatever a pool says, the rules answer: no crash, places inside the file, nothing said twice."""

import json

import yaml
from blueprint_texts import TOP
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundplan.blueprints.diagnostics import render
from groundplan.blueprints.explanations import explanations
from groundplan.blueprints.model import CAPACITY_WORDS
from groundplan.blueprints.reader import judge
from groundplan.blueprints.rules.disks import TYPES
from groundplan.blueprints.tree import Source
from groundplan.facts.accelerators import catalog

OTHERS = ["n1-standard-8", "n1-standard-96", "e2-standard-4", "c4a-standard-8", "a3-megagpu-8g-nolssd"]
UNKNOWN = ["x9-mega-8g", "g2-standard-13"]
MACHINES = [*catalog().machines, *OTHERS, *UNKNOWN]
GPUS = [*catalog().gpus, "nvidia-l44"]
ZONES = [["a"], ["a", "b"], ["us-east5-a"], ["us-east1-b"], []]
SIDES = st.sampled_from([0, 1, 2, 3, 4, 5, 8, 16, 72, 256, 9999])
RESERVATIONS = st.fixed_dictionaries(
    {"name": st.sampled_from(["r", "projects/p-one/reservations/r"])},
    optional={
        "project": st.just("ml-capacity"),
        "blocks": st.dictionaries(
            st.sampled_from(["b1", "b2"]),
            st.fixed_dictionaries(
                {"nodes": st.sampled_from([1, 16, 17, 65000])}, optional={"sub_blocks": st.just(["s1", "s2"])}
            ),
            max_size=2,
        ),
    },
)
CAPACITY = st.one_of(
    st.sampled_from(CAPACITY_WORDS),
    st.builds(lambda r: {"reservation": r}, st.one_of(st.just("r"), RESERVATIONS)),
    st.builds(lambda a, b: {a: {}, b: {}}, st.sampled_from(CAPACITY_WORDS), st.sampled_from(CAPACITY_WORDS)),
)
NODES = st.one_of(
    st.sampled_from([0, 1, 3, 16, 17, 10**9, -1, "four"]),
    st.builds(
        lambda a, b: {"min": a, "max": b}, st.sampled_from([0, 1, 16]), st.sampled_from([0, 4, 16, 10**12])
    ),
)
POOLS = st.fixed_dictionaries(
    {"machine": st.sampled_from(MACHINES)},
    optional={
        "capacity": CAPACITY,
        "nodes": NODES,
        "zones": st.sampled_from(ZONES),
        "topology": st.lists(SIDES, min_size=2, max_size=3).map(lambda sides: "x".join(map(str, sides))),
        "slices": st.sampled_from([1, 2, 1000]),
        "placement": st.sampled_from(["compact", "none"]),
        "networking": st.sampled_from(["auto", "tcpx", "tcpxo", "rdma", "dranet", "none"]),
        "max_run_duration": st.sampled_from(["5s", "3d", "8d", "200d", "999999999999w", "-1"]),
        "gpu": st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(GPUS),
                "count": st.sampled_from([1, 2, 3, 8, 10**9]),
                "driver": st.sampled_from(["default", "none"]),
                "partition": st.sampled_from(["1g.5gb", "7g.141gb", "x"]),
                "sharing": st.fixed_dictionaries(
                    {"strategy": st.just("mps"), "clients": st.sampled_from([1, 2, 48, 49])}
                ),
            },
        ),
        "local_ssd": st.fixed_dictionaries(
            {"mode": st.sampled_from(["ephemeral", "block", "none"])},
            optional={"count": st.sampled_from([1, 16, 99])},
        ),
        "boot_disk": st.fixed_dictionaries({"type": st.sampled_from([*TYPES, "pd-blanced"])}),
        "confidential": st.booleans(),
        "host_maintenance": st.sampled_from(["periodic", "as-needed"]),
        "version": st.just("1.34.1-gke.1829001"),
        "preload": st.sampled_from([[], ["i"], ["i"] * 200]),
        "machine_facts": st.sampled_from(
            [{}, {"gpu": {"type": "nvidia-x", "count": 8}, "boot_disks": ["pd-ssd"]}]
        ),
    },
)
CLUSTERS = st.fixed_dictionaries(
    {"node_pools": st.dictionaries(st.sampled_from(["x", "y"]), POOLS, min_size=1, max_size=2)},
    optional={
        "zones": st.sampled_from(ZONES),
        "min_version": st.sampled_from(["1.26", "1.32", "1.32.2-gke.1652000", "1.34"]),
        "release_channel": st.sampled_from(["stable", "none"]),
    },
)
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def text_of(cluster):
    spec = {"clusters": {"main": cluster}}
    spec["storage"] = {"disks": {"d": {"type": "hyperdisk-ml", "size": "1TiB", "zones": ["a"]}}}
    mounts = {"buckets/b": {"profile": "serving", "cache": "local-ssd"}}
    spec["storage"]["buckets"] = {"b": {}}
    spec["workloads"] = {"w": {"reads": ["disks/d", "buckets/b"], "mounts": mounts, "runs_on": ["x"]}}
    return TOP + yaml.safe_dump({"environments": {"ml-prod": spec}}, sort_keys=False)


@QUICK
@given(CLUSTERS)
def test_any_pool_is_judged(cluster):
    text = text_of(cluster)
    document, found = judge(Source("x.yaml", text))
    assert document is not None
    lines = text.count("\n") + 1
    for one in found:
        assert one.code in explanations()
        assert 1 <= one.position.line <= lines
        assert all(1 <= place.line <= lines for _, place in one.related)
        assert render(one)
        json.dumps(one.as_json())
    said = [(one.code, one.path, one.message) for one in found]
    assert len({*said}) == len(said)
