"""Every rule on a blueprint that breaks it and on one that almost does."""

import datetime
import re
from pathlib import Path

import access_cases
import pytest
from blueprint_texts import SYSTEM, codes, cut, found, one
from perimeter_cases import CASES as PERIMETER_CASES

import groundplan.blueprints
from groundplan.blueprints.explanations import explanations
from groundplan.blueprints.model import MaintenanceWindow
from groundplan.blueprints.rules import RULES
from groundplan.blueprints.rules.construction import IMPOSSIBLE, SAID_BY
from groundplan.blueprints.rules.examples import example
from groundplan.blueprints.rules.maintenance import available_time

RULE = {rule.code: rule for rule in RULES}
WHOLE = "environments: {ml-dev: {}, ml-prod: {}}\n"


def main(body="", pools=SYSTEM):
    """One environment with a cluster."""
    return one(f"clusters:\n  main:\n    node_pools: {{{pools}}}\n" + (f"    {body}\n" if body else ""))


def pool(body, name="x"):
    return main(pools=f"{SYSTEM}, {name}: {{machine: e2-standard-4, nodes: 1, {body}}}")


def window(body):
    return main(f"maintenance: {{window: {{{body}}}}}")


def exclusion(body):
    return main(f"maintenance: {{exclusions: {{launch: {{{body}}}}}}}")


def storage(body):
    return one(f"storage: {body}")


def names(body, environments="{ml-dev: {}, ml-prod: {}}"):
    return f"names: {body}\nenvironments: {environments}\n"


def both(dev, prod):
    return f"environments: {{ml-dev: {{{dev}}}, ml-prod: {{{prod}}}}}\n"


def ranges(dev, prod="{}"):
    cluster = f"{{node_pools: {{{SYSTEM}}}, ranges: "
    return (
        f"environments:\n  ml-dev: {{clusters: {{main: {cluster}{dev}}}}}}}\n"
        f"  ml-prod: {{clusters: {{main: {cluster}{prod}}}}}}}\n"
    )


MANY = ", ".join(f"e{n}: {{start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}}" for n in range(21))
FEW = ", ".join(f"e{n}: {{start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}}" for n in range(20))
LABELS = ", ".join(f"k{n}: v" for n in range(62))
SEED = "foundation: {project: llm-seed}\n"
ORGANIZATION = 'organization: "123456789012"\n'


def policies(override, body=""):
    return ORGANIZATION + SEED + one(f"org_policies: {{override: {{{override}}}}}\n{body}")


BUCKET_A = "storage: {buckets: {a: }}"
POOLS = f"node_pools: {{{SYSTEM}}}"
H200 = "machine: a3-ultragpu-8g"
BLOCKS = "{name: h, blocks: {b: {nodes: 2}}}"
RESERVED = ("kubernetes.io", "node.kubernetes.io", "k8s.io", "cloud.google.com", "sandbox.gke.io")
L4 = "machine: g2-standard-4, nodes: 1"
SLICES = "machine: ct6e-standard-4t, topology: 4x4, slices: 2, capacity: spot"
TWO_CLUSTERS = one(f"""
    clusters:
      a: {{node_pools: {{{SYSTEM}, l4: {{{L4}}}}}}}
      b: {{node_pools: {{l4: {{{L4}}}, {SYSTEM}}}}}
    workloads: {{w: {{runs_on: [TARGET]}}}}
""")
CROSSING = """
    crossings: {{c: {{from: {from_}, to: {to}, read: {read}, by: {by}}}}}
    environments:
      ml-staging: {{storage: {{buckets: {{models: {{}}}}}}}}
      ml-prod: {{clusters: {{main: {{node_pools: {{{SYSTEM}}}}}}}, workloads: {{promoter: {{}}}}}}
"""


def crossing(from_="ml-staging", to="ml-prod", read="buckets/models", by="workloads/promoter"):
    return CROSSING.format(from_=from_, to=to, read=read, by=by, SYSTEM=SYSTEM)


def perimeter(source):
    to = "{resources: ['*'], roles: [roles/viewer]}"
    rule = f"{{from: {{identity_type: any, sources: [{source}]}}, to: {to}}}"
    levels = "{corp: {any_of: [{regions: [DE]}]}}"
    return one(f"perimeter: {{access_levels: {levels}, ingress: {{r: {rule}}}}}")


def workload(body):
    return one(f"storage: {{buckets: {{datasets: {{}}}}}}\nworkloads: {{w: {{{body}}}}}")


#: code → texts that break the rule, with what the diagnostic points at; texts that do not.
CASES = {
    "OP001": (
        [
            (policies("compute.requireOsLogin: deny-all"), "deny-all"),
            (policies("compute.vmExternalIpAccess: true"), "true"),
            (policies("compute.requireOsLogin: {allow: [x]}"), "{allow: [x]}"),
        ],
        [policies("compute.requireOsLogin: false, compute.vmExternalIpAccess: unset, custom.x: true")],
    ),
    "OP002": (
        [
            (policies("compute.requireOsLogins: true"), "compute.requireOsLogins"),
        ],
        [policies("compute.requireOsLogin: true, custom.ours: true")],
    ),
    "OP003": (
        [(policies("compute.restrictCloudNATUsage: deny-all", "network: {nat: true}"), "true")],
        [policies("compute.restrictCloudNATUsage: deny-all", "network: {nat: false}")],
    ),
    "OP004": (
        [
            (SEED + one("org_policies: {preset: starter}"), "org_policies"),
            (
                SEED
                + one('folder: "1"\norg_policies: {preset: none,override: {custom.gkeNodeAutoRepair: true}}'),
                "true",
            ),
        ],
        [
            SEED + one('folder: "1"\norg_policies: {preset: starter}'),
            ORGANIZATION + SEED + one("org_policies: {preset: starter}"),
        ],
    ),
    "OP005": (
        [(one("org_policies: {preset: starter}"), "org_policies")],
        [one("org_policies: {preset: none}"), policies("compute.requireOsLogin: true")],
    ),
    "AU001": (
        [
            (SEED + one("automation: {branch: main}"), "automation"),
            (SEED + one("automation: {github: a/b, gitlab: a/b}"), "automation"),
        ],
        [SEED + one("automation: {github: a/b}"), SEED + one("automation: {gitlab: a/b/c}")],
    ),
    "AU002": (
        [(one("automation: {github: a/b}"), "automation")],
        [SEED + one("automation: {github: a/b}")],
    ),
    "AU003": (
        [
            (SEED + one(f"automation: {{github: a/b, branch: '{branch}'}}"), f"'{branch}'")
            for branch in ("release/*", "a b", "a..b", "/a", "a/", "a:b", "refs/heads/main", "x.lock")
        ],
        [SEED + one(f"automation: {{github: a/b, branch: '{branch}'}}") for branch in ("v/1.2", "ümlaut")],
    ),
    "FO001": (
        [(SEED + one("perimeter: {mode: dry-run}"), "dry-run")],
        [
            ORGANIZATION + SEED + one("perimeter: {mode: dry-run}"),
            SEED + one("perimeter: {mode: dry-run, existing: accessPolicies/1/servicePerimeters/x}"),
        ],
    ),
    "FO002": (
        [(SEED + one("tags: {cost-center: ml}"), "cost-center")],
        [ORGANIZATION + one("tags: {cost-center: ml}"), one("tags: {cost-center: tagValues/12}")],
    ),
    "FO003": (
        [
            (ORGANIZATION + one("tags: {Team: ml}"), "Team"),
            (ORGANIZATION + one("tags: {team: a.b}"), "a.b"),
            (ORGANIZATION + one(f"tags: {{{', '.join(f'k{n}: v' for n in range(51))}}}"), "tags"),
        ],
        [ORGANIZATION + one(f"tags: {{{', '.join(f'k{n}: 1' for n in range(50))}}}")],
    ),
    "FO004": (
        [(one("contacts: {security: [nobody]}"), "nobody"), (one("contacts: {all: [a@b]}"), "a@b")],
        [one("contacts: {security: [security+ml@example.com]}")],
    ),
    "EP001": (
        [(main("endpoint: {authorized_networks: [10.0.0.0/8]}"), "authorized_networks")],
        [main(f"endpoint: {{kind: private, {more}}}") for more in ("authorized_networks: [10.0.0.0/8]", "")],
    ),
    "EP002": (
        [(main("endpoint: {kind: private, external: true}"), "true")],
        [main("endpoint: {kind: dns, external: true}")],
    ),
    "IP001": (
        [
            (ranges("{nodes: 10.64.0.0/20, services: 10.64.8.0/21}"), "10.64.8.0/21"),
            (ranges("{pods: 10.68.0.0/14}", "{nodes: 10.68.16.0/20}"), "10.68.16.0/20"),
        ],
        [ranges("{nodes: 10.64.0.0/20, services: 10.64.16.0/20}", "{nodes: 10.64.32.0/20}")],
    ),
    "IP002": ([(ranges("{nodes: 10.0.0.0/20}"), "10.0.0.0/20")], [ranges("{nodes: 10.127.240.0/20}")]),
    "IP003": (
        [
            (ranges("{nodes: 10.64.0.0/30}"), "10.64.0.0/30"),
            (ranges("{pods: 10.64.0.0/25}"), "10.64.0.0/25"),
            (ranges("{services: 10.64.0.0/28}"), "10.64.0.0/28"),
        ],
        [ranges("{nodes: 10.64.0.0/29, services: 10.64.0.32/27, pods: 10.64.8.0/21}")],
    ),
    "IP004": (
        [
            (main("ranges: {pods: 10.64.0.0/23}"), "10.64.0.0/23"),
            (main("ranges: {nodes: 10.64.0.0/29}", f"{SYSTEM}, x: {{{L4[:-1]}2}}"), "10.64.0.0/29"),
        ],
        [main("ranges: {pods: 10.64.0.0/22}"), main("ranges: {nodes: 10.64.0.0/29}")],
    ),
    "LB001": (
        [
            (one("labels: {Team: x}"), "Team"),
            (one("labels: {1a: x}"), "1a"),
            (one("labels: {goog-x: x}"), "goog-x"),
            (one(f"labels: {{{'a' * 64}: x}}"), "a" * 64),
        ],
        [one("labels: {team-1_é: x, 日本: y}"), pool("node_labels: {Tier: Gold}")],
    ),
    "LB002": (
        [
            (one("labels: {owner: Jane@corp.io}"), "Jane@corp.io"),
            (one(f"labels: {{a: {'a' * 64}}}"), "a" * 64),
        ],
        [one('labels: {owner: jane-corp_io, empty: "", digits: 007}')],
    ),
    "LB003": ([(one(f"labels: {{{LABELS}}}"), "labels")], [one(f"labels: {{{LABELS[:-8]}}}")]),
    "LB004": (
        [
            (pool("node_labels: {-a: x}"), "-a"),
            (pool("node_labels: {Example.com/a: x}"), "Example.com/a"),
            (pool("node_labels: {a: x y}"), "x y"),
        ],
        [pool('node_labels: {example.com/role: train, Tier: Gold, a.b_c: "", x: 1.2}')],
    ),
    "LB005": (
        [
            (pool(f"node_labels: {{{prefix}/x: y}}"), f"{prefix}/x")
            for prefix in RESERVED
        ],
        [pool("node_labels: {example.com/role: x, mykubernetes.io/a: x, kubernetes.io: y}")],
    ),
    "LT001": ([(one("terraform: {files: [a.tf]}"), "files")], [one("secrets: {}")]),
    "MW002": (
        [(window('days: [mon, tue, wed, thu, fri, sat, sun], start: "02:00", duration: 3h'), "3h")],
        [window('days: [mon, tue, wed, thu, fri, sat, sun], start: "02:00", duration: 4h')],
    ),
    "MW003": (
        [
            (window('days: [sat], start: "02:00", duration: 4h'), "4h"),
            (window('days: [sat, sun], start: "02:00", duration: 4h'), "4h"),
        ],
        [
            window('days: [sat], start: "02:00", duration: 12h'),
            window('days: [sat, sun], start: "02:00", duration: 6h'),
            window('days: [fri, sat, sun], start: "02:00", duration: 4h'),
        ],
    ),
    "MW004": (
        [(exclusion("start: 2026-01-01T00:00:00Z, end: 2026-02-01T00:00:00Z"), "2026-02-01T00:00:00Z")],
        [
            exclusion("start: 2026-01-01T00:00:00Z, end: 2026-01-31T00:00:00Z"),
            exclusion("start: 2026-01-01T00:00:00Z, end: 2026-12-01T00:00:00Z, scope: no-minor-upgrades"),
        ],
    ),
    "MW005": (
        [(main(f"maintenance: {{exclusions: {{{MANY}}}}}"), "exclusions")],
        [main(f"maintenance: {{exclusions: {{{FEW}}}}}")],
    ),
    "MW007": (
        [(exclusion("start: 2026-01-01T00:00:00Z, end: end-of-support"), "end-of-support")],
        [exclusion("start: 2026-01-01T00:00:00Z, end: end-of-support, scope: no-minor-or-node-upgrades")],
    ),
    "MW010": (
        [
            (window(f'days: [sat], start: "02:00", duration: 12h, timezone: {zone}'), zone)
            for zone in ("America/NewYork", "../etc/passwd", "America", "/etc")
        ],
        [window('days: [sat], start: "02:00", duration: 12h, timezone: America/New_York')],
    ),
    "MW011": (
        [(exclusion("start: 2026-01-02T00:00:00Z, end: 2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z")],
        [exclusion("start: 2026-01-02T00:00:00Z, end: 2026-01-02T02:00:00+01:00")],
    ),
    "ND001": (
        [(main(pools="x: {machine: e2-standard-4, nodes: {min: 3, max: 1}}"), "{min: 3, max: 1}")],
        [main(), main(pools="x: {machine: e2-standard-4, nodes: {min: 3, max: 3}}")],
    ),
    "ND002": (
        [(main(pools=f"{SYSTEM}, x: {{machine: e2-standard-4}}"), "x")],
        [
            main(pools=f"{SYSTEM}, x: {{machine: ct5p-hightpu-4t, topology: 4x4x4}}"),
            main("zones: [a]", f"{SYSTEM}, x: {{{H200}, capacity: {{reservation: {BLOCKS}}}}}"),
        ],
    ),
    "ND003": ([(one("clusters: {main: {}}"), "main")], [one("clusters: {main: {existing: x}}"), main()]),
    "NM001": (
        [
            (names('{project: "{name}-shared"}'), "ml-prod"),
            ("foundation: {project: llm-ml-dev}\n" + WHOLE, "ml-dev"),
            (both("project: {id: acme-one}", "project: {existing: acme-one}"), "acme-one"),
        ],
        ["foundation: {project: llm-seed}\n" + WHOLE, names('{project: "x-{env}"}')],
    ),
    "NM002": (
        [
            ('names: {bucket: "x-{key}"}\n' + both(BUCKET_A, BUCKET_A), "a"),
            (storage("{buckets: {a: {generation: 2}, a-g2: {}}}"), "a-g2"),
        ],
        ['names: {bucket: "x-{env}-{key}"}\n' + both(BUCKET_A, BUCKET_A)],
    ),
    "NM003": (
        [
            (names('{project: "{name}-google-{env}"}', "{ml-dev: }"), "ml-dev"),
            (names('{project: "{name}_{env}"}', "{ml-dev: }"), "ml-dev"),
            (one("project: {id: my-ssl-project}"), "my-ssl-project"),
        ],
        [one("project: {existing: my-ssl-project}"), one("project: {id: acme-ml-dev}")],
    ),
    "NM004": (
        [
            (storage("{buckets: {a: {name: goog-data}}}"), "goog-data"),
            (storage("{buckets: {a: {name: my-g00gle-data}}}"), "my-g00gle-data"),
            (storage(f"{{buckets: {{a: {{name: {'a' * 64}}}}}}}"), "a" * 64),
            (storage("{buckets: {a: {name: a..b}}}"), "a..b"),
            (names('{bucket: "goog-{key}"}', "{ml-dev: {storage: {buckets: {a: }}}}"), "a"),
        ],
        [storage("{buckets: {a: {name: data.example.com}, b: {existing: goog-data}, c: {name: data_1}}}")],
    ),
    "NM005": (
        [(main(f"name: {'a' * 41}"), "a" * 41), (pool(f"name: {'a' * 41}"), "a" * 41)],
        [main(f"name: {'a' * 40}"), pool("zones: [a]", name="a" * 60)],
    ),
    "NM006": (
        [
            (main(pools=f"{SYSTEM}, x: {{{L4}, name: system}}"), "x"),
            (main(pools=f"{SYSTEM}, x: {{{L4}, generation: 2}}, x-g2: {{{L4}}}"), "x-g2"),
            (main(pools=f"{SYSTEM}, x: {{{SLICES}}}, x-1: {{{L4}}}"), "x-1"),
            (main(pools=f"{SYSTEM}, x: {{{SLICES}}}, y: {{{SLICES}, name: x}}"), "y"),
            (one(f"clusters: {{a: {{name: m, {POOLS}}}, b: {{name: m, {POOLS}}}}}"), "b"),
        ],
        [
            one(f"clusters: {{a: {{name: m, region: us-east1, {POOLS}}}, b: {{name: m, {POOLS}}}}}"),
            main(pools=f"{SYSTEM}, new: {{{L4}, renamed_from: old}}, x: {{{L4}}}"),
            main(pools=f"{SYSTEM}, x: {{{SLICES}}}, x-3: {{{L4}}}"),
        ],
    ),
    "NM007": (
        [(both(*(f"storage: {{buckets: {{{key}: {{existing: raw}}}}}}" for key in "ab")), "raw")],
        [storage("{buckets: {a: {existing: raw}, b: {existing: raw}}}")],
    ),
    "NM008": ([("environments: {foundation: {tier: staging}}", "foundation")], [WHOLE]),
    "NM009": (
        [("removed: {ml-dev: {confirm: llm-ml-dev}}\n" + WHOLE, "ml-dev")],
        ["removed: {ml-old: {confirm: llm-ml-old}}\n" + WHOLE],
    ),
    "NM010": (
        [
            (names('{project: "{nmae}-{env}"}'), '"{nmae}-{env}"'),
            (names('{project: "{name}-{env}-{key}"}'), '"{name}-{env}-{key}"'),
            (names('{bucket: "{project}-{ke}"}'), '"{project}-{ke}"'),
        ],
        [names('{project: "{name}-{env}", bucket: "{name}-{env}-{project}-{key}"}')],
    ),
    "NM011": (
        [(one("project: {id: acme-one, existing: acme-two}"), "id")],
        [one("project: {id: acme-one}"), one("project: {existing: acme-one}")],
    ),
    "NM012": (
        [("foundation: {project: google-seed}\n" + WHOLE, "google-seed")],
        ["foundation: {project: llm-seed}\n" + WHOLE],
    ),
    "NM013": (
        [
            (main(pools=f"{SYSTEM}, x: {{{L4}, name: y, renamed_from: system}}"), "system"),
            (main(pools=f"{SYSTEM}, x: {{{L4}, renamed_from: x}}"), "x"),
            (storage("{buckets: {a: {renamed_from: old}, b: {name: other-b, renamed_from: old}}}"), "old"),
            (one("workloads: {a: {}, b: {renamed_from: a}}"), "a"),
        ],
        [
            main("renamed_from: old", f"{SYSTEM}, x: {{{L4}, renamed_from: main}}"),
            storage("{buckets: {a: {renamed_from: old}, b: {renamed_from: older}}}"),
        ],
    ),
    "RF001": (
        [
            (workload("reads: [buckets/dataset]"), "buckets/dataset"),
            (workload("writes: [bucket/datasets]"), "bucket/datasets"),
            (workload("reads: [datasets]"), "datasets"),
            (workload("reads: [secrets/x]"), "secrets/x"),
            (workload("reads: [bigquery/x]"), "bigquery/x"),
            (workload("mounts: {buckets/x: {profile: training}}"), "buckets/x"),
            (workload("mounts: {secrets/x: {profile: training}}"), "secrets/x"),
        ],
        [
            workload("reads: [buckets/datasets], writes: [buckets/datasets]"),
            one("secrets: {hf: }\nregistry: {i: }\nworkloads: {w: {reads: [secrets/hf, registry/i]}}"),
        ],
    ),
    "RF002": (
        [
            (TWO_CLUSTERS.replace("TARGET", "l5"), "l5"),
            (TWO_CLUSTERS.replace("TARGET", "c/l4"), "c/l4"),
            (one("workloads: {w: {runs_on: [l4]}}"), "l4"),
        ],
        [
            TWO_CLUSTERS.replace("TARGET", "a/l4"),
            one(f"clusters: {{m: {{node_pools: {{{SYSTEM}}}, compute_classes: {{serve: [system]}}}}}}\n"
                "workloads: {w: {runs_on: [serve, system]}}"),
        ],
    ),
    "RF003": (
        [(TWO_CLUSTERS.replace("TARGET", "l4"), "l4")],
        [TWO_CLUSTERS.replace("TARGET", "b/l4"), main()],
    ),
    "RF004": (
        [(workload("mounts: {buckets/datasets: {profile: training}}"), "buckets/datasets")],
        [workload("reads: [buckets/datasets], mounts: {buckets/datasets: {profile: training}}")],
    ),
    "RF005": (
        [(main("compute_classes: {serve: [system, sytem]}"), "sytem")],
        [main("compute_classes: {serve: [system]}")],
    ),
    "RF006": (
        [(perimeter("access_levels/crop"), "access_levels/crop")],
        [perimeter("access_levels/corp, projects/123")],
    ),
    "RF007": (
        [(crossing(from_="ml-stagin"), "ml-stagin"), (crossing(from_="ml-prod", to="ml-prod"), "ml-prod")],
        [crossing()],
    ),
    "RF008": (
        [(crossing(read="buckets/model"), "buckets/model"), (crossing(by="workloads/x"), "workloads/x"),
         (crossing(read="secrets/x"), "secrets/x"),
         (crossing().replace(f"clusters: {{main: {{node_pools: {{{SYSTEM}}}}}}}, ", ""), "ml-prod")],
        [crossing()],
    ),
    "RF009": (
        [(f"""
    crossings:
      one: {{from: ml-dev, to: ml-prod, read: buckets/b, by: workloads/w}}
      two: {{from: ml-prod, to: ml-dev, read: buckets/b, by: workloads/w}}
    defaults:
      clusters: {{main: {{node_pools: {{{SYSTEM}}}}}}}
      storage: {{buckets: {{b: {{}}}}}}
      workloads: {{w: {{}}}}
    environments: {{ml-dev: {{}}, ml-prod: {{}}}}
""", "one")],
        [crossing()],
    ),
    "TN001": (
        [(main(pools=f"{SYSTEM}, x: {{{L4}, node_taints: [{{key: nvidia.com/gpu, value: present}}]}}"),
          "{key: nvidia.com/gpu, value: present}")],
        [main(pools=f"{SYSTEM}, x: {{{L4}, node_taints: [{{key: dedicated, value: gpu}}]}}")],
    ),
    "TN002": (
        [
            (main(pools=f"x: {{{L4}}}"), "main"),
            (main(pools="x: {machine: e2-standard-4, nodes: 1, node_taints: [{key: a}]}"), "main"),
            (main(pools="x: {machine: n1-standard-4, nodes: 1, gpu: {type: nvidia-tesla-t4}}"), "main"),
            (main(pools="x: {machine: ct5p-hightpu-4t, topology: 4x4x4}"), "main"),
        ],
        [
            main(pools=f"x: {{{L4}}}, {SYSTEM}"),
            main(pools=SYSTEM[:-1] + ", node_taints: [{key: a, effect: PreferNoSchedule}]}"),
        ],
    ),
    "TN003": (
        [(pool("node_taints: [{key: a b}]"), "a b"), (pool("node_taints: [{key: a, value: b c}]"), "b c")],
        [pool("node_taints: [{key: example.com/a, value: Gold}]")],
    ),
    "TN004": (
        [(pool("node_taints: [{key: a, value: x}, {key: a, value: y}]"), "{key: a, value: y}")],
        [pool("node_taints: [{key: a}, {key: a, effect: NoExecute}]")],
    ),
    "TX001": (
        [
            (one("contacts: {security: ['${var.x}@example.com']}"), "'${var.x}@example.com'"),
            (one("gitops: {repository: 'x%{if}', directory: d}"), "'x%{if}'"),
            (one("workloads: {w: {reads: ['${x}']}}"), "'${x}'"),
            (one("terraform: {patch: {a.b: {'${k}': 1}}}"), "'${k}'"),
        ],
        [one("gitops: {repository: 'x$y {z} %', directory: '$${'}").replace("$${", "$")],
    ),
    "ZN001": (
        [
            (main("zones: [a, us-east1-b]"), "us-east1-b"),
            (pool("zones: [europe-west4-a]"), "europe-west4-a"),
            (storage("{disks: {d: {type: hyperdisk-ml, size: 10GiB, zones: [us-east1-b]}}}"), "us-east1-b"),
        ],
        [main("zones: [a, us-central1-b]"), main("region: us-east1\n    zones: [us-east1-b]")],
    ),
    "ZN002": ([(main("zones: [z]"), "z")], [main("zones: [a, f, ai1a]")]),
    "ZN003": ([(main("zones: [a, us-central1-a]"), "us-central1-a")], [main("zones: [a, b]")]),
}  # fmt: skip

CASES |= PERIMETER_CASES

CASES |= access_cases.CASES

BAD = [(code, text, at) for code, (bad, _) in CASES.items() for text, at in bad]
GOOD = [(code, text) for code, (_, good) in CASES.items() for text in good]


def test_every_rule_has_both_kinds_of_cases():
    with_examples = {code for code in RULE if example(code)}
    assert CASES.keys() | with_examples == RULE.keys()
    assert {code for code, _, _ in BAD} == {code for code, _ in GOOD} == CASES.keys()


@pytest.mark.parametrize(("code", "text", "at"), BAD)
def test_a_rule_finds_what_breaks_it(code, text, at):
    diagnostics = [one for one in found(text) if one.code == code]
    assert [cut(text, one) for one in diagnostics] == [at], [one.message for one in found(text)]
    (diagnostic,) = diagnostics
    assert diagnostic.severity == RULE[code].severity
    assert not diagnostic.message.endswith(".")
    assert diagnostic.path
    others = {one.code for one in found(text) if one.severity == "error"} - {code}
    assert others <= {"RF001"}, "a case breaks one rule, or the errors of another hide what is meant"


@pytest.mark.parametrize(("code", "text"), GOOD)
def test_a_rule_lets_pass_what_almost_breaks_it(code, text):
    assert code not in codes(text)
    assert not [one.message for one in found(text) if one.severity == "error"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_says_what_it_demands_why_and_who_says_so(rule):
    assert re.fullmatch(r"[A-Z]{2}\d{3}", rule.code)
    assert len(rule.title) > 10
    assert rule.title[0] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    assert rule.why.endswith(".")
    assert rule.source
    assert (rule.environment is None) != (rule.whole is None)


def test_codes_are_unique_and_every_code_is_explained():
    assert len(RULE) == len(RULES)
    explained = explanations()
    assert explained.keys() >= RULE.keys()
    assert all(one.title and one.why and one.source for one in explained.values())


def test_no_code_is_used_that_is_not_explained():
    room = Path(groundplan.blueprints.__file__).parent
    used = {
        code for file in room.rglob("*.py") for code in re.findall(r'"([A-Z]{2}\d{3})"', file.read_text())
    }
    assert len(used) > 50
    impossible = {one.code for one in IMPOSSIBLE}
    assert used <= explanations().keys() | impossible | SAID_BY.keys()


@pytest.mark.parametrize(
    ("days", "duration", "hours"),
    [
        (("sat",), 4, 16),
        (("sat",), 12, 48),
        (("sat", "sun"), 4, 32),
        (("sat", "sun"), 6, 48),
        (("fri", "sat", "sun"), 4, 48),
        (("mon", "tue", "wed", "thu", "fri"), 4, 84),
        (("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 4, 124),
        (("sat",), 3, 0),
        (("sat", "sun"), 24, 192),
        (("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 24, 32 * 24),
        (("sat",), 0, 0),
    ],
)
def test_the_time_that_a_window_leaves(days, duration, hours):
    made = MaintenanceWindow(days=days, start="02:00", duration_seconds=duration * 3600)
    assert available_time(made) == datetime.timedelta(hours=hours)
