"""Blueprints that break rules on perimeters and networks, and ones that almost do."""

from blueprint_texts import SYSTEM, one

FOUNDED = "organization: '1'\nfoundation: {project: llm-seed}\n"
WHO = "from: {identities: ['user:a@example.com']}"
TO = "to: {resources: ['*'], services: {storage.googleapis.com: {}}}"
CLUSTER = f"clusters: {{main: {{node_pools: {{{SYSTEM}}}}}}}"


def perimeter(body):
    return one(f"perimeter: {{{body}}}")


def ingress(body, key="r", more=""):
    return perimeter(f"ingress: {{{key}: {{{body}}}}}{more}")


def egress(body):
    return perimeter(f"egress: {{r: {{{body}}}}}")


def from_(body):
    return ingress(f"from: {{{body}}}, {TO}")


def to(body):
    return ingress(f"{WHO}, to: {{{body}}}")


def service(body):
    return to(f"resources: ['*'], services: {{{body}}}")


def method(name, service_name="storage.googleapis.com"):
    return service(f"{service_name}: {{methods: [{name}]}}")


def level(body):
    used = ingress(f"from: {{identities: ['user:a@example.com'], sources: [access_levels/corp]}}, {TO}")
    return used.replace("perimeter: {", f"perimeter: {{access_levels: {{corp: {{{body}}}}}, ")


def network(body, more=""):
    return one(f"network: {{{body}}}\n{more}")


def both(dev, prod, top=""):
    return f"{top}environments: {{ml-dev: {{{dev}}}, ml-prod: {{{prod}}}}}\n"


PERIMETER = "existing: accessPolicies/1/servicePerimeters/p"
SHARED = "network: {existing: {host_project: acme-host, network: n}}"
RESERVED = (
    "clusters: {main: {zones: [a], node_pools: {" + SYSTEM + ", x: "
    "{machine: a3-highgpu-8g, nodes: 1, capacity: {reservation: {name: h, project: ml-capacity}}}}}}"
)
ANY = "from: {identity_type: any}"
READS = "workloads: {w: {}}, " + CLUSTER


def crossing(source, reader):
    top = FOUNDED + "crossings: {c: {from: ml-dev, to: ml-prod, read: buckets/b, by: workloads/w}}\n"
    dev = f"storage: {{buckets: {{b: {{}}}}}}, perimeter: {{{source}}}"
    return both(dev, f"{READS}, perimeter: {{{reader}}}", top)


LET_IN = "ingress: {r: {from: {identity_type: any, sources: [projects/llm-ml-prod]}, " + TO + "}}"
LET_OUT = (
    "egress: {r: {from: {identity_type: any}, to: {resources: [projects/llm-ml-dev], services: {'*': {}}}}}"
)
KEY = "projects/acme-keys/locations/us-central1/keyRings/r/cryptoKeys/k"
ENCRYPTED = f"encryption: {{mode: cmek, keys: {{us-central1: {KEY}}}}}"
PEOPLE = "access: {operators: ['group:ops@example.com']}"
COMPUTE = "to: {resources: [projects/123], services: {compute.googleapis.com: {}}}"

#: code → texts that break the rule, with what the diagnostic points at; texts that do not.
CASES = {
    "VN001": (
        [(network("google_apis: psc, psc_address: 10.64.0.9",
                  f"clusters: {{main: {{ranges: {{nodes: 10.64.0.0/20}}, node_pools: {{{SYSTEM}}}}}}}"),
          "10.64.0.9")],
        [network("google_apis: psc, psc_address: 10.64.16.9",
                 f"clusters: {{main: {{ranges: {{nodes: 10.64.0.0/20}}, node_pools: {{{SYSTEM}}}}}}}")],
    ),
    "VN002": (
        [(network("psc_address: 10.64.0.9"), "psc_address")],
        [network("google_apis: psc, psc_address: 10.64.0.9"), network("google_apis: private-vip")],
    ),
    "VN003": (
        [(one("network: {google_apis: private-vip}\nperimeter: {mode: dry-run}"), "private-vip")],
        [one("network: {google_apis: psc}\nperimeter: {mode: dry-run}"), network("google_apis: private-vip")],
    ),
    "VN004": (
        [(network(f"existing: {{host_project: acme-host, network: n}}, {key}: {value}"), key)
         for key, value in {"nat": "true", "google_apis": "psc", "psc_address": "10.64.0.9"}.items()],
        [network("existing: {host_project: acme-host, network: n}, nat: false")],
    ),
    "VN005": (
        [(network("existing: {host_project: acme-host, network: n, subnets: {mian: {}}}", CLUSTER), "mian")],
        [network("existing: {host_project: acme-host, network: n, subnets: {main: {}}}", CLUSTER)],
    ),
    "VN006": (
        [(both(SHARED, SHARED), "{host_project: acme-host, network: n}")],
        [both(SHARED, SHARED.replace("network: n", "network: m")), one(SHARED)],
    ),
    "VN007": (
        [(one(f"{SHARED}\nperimeter: {{mode: dry-run}}"), "acme-host")],
        [one(f"{SHARED}\nperimeter: {{mode: dry-run, access_policy: 1}}"), one(SHARED),
         one(f"{SHARED}\nperimeter: {{mode: dry-run}}").replace("acme-host", "llm-ml-dev")],
    ),
    "PM001": (
        [
            (from_("identities: ['user:a@example.com'], identity_type: any"), "identity_type"),
            (from_("sources: ['*']"), "r"),
            (egress(TO), "r"),
            (perimeter(f"mode: enforced, ingress: {{q: {{{WHO}, {TO}}}}}, "
                       f"dry_run: {{ingress: {{r: {{{TO}}}}}}}"), "r"),
        ],
        [from_("identity_type: any-service-account"), from_("identities: ['user:a@example.com']")],
    ),
    "PM002": (
        [(from_(f"identities: ['{one}']"), f"'{one}'")
         for one in ("a@example.com", "x@p.iam.gserviceaccount.com", "domain:example.com", "user:a", "all")],
        [from_("identities: ['serviceAccount:x@p.iam.gserviceaccount.com', 'group:a@example.com', "
               "'principalSet://iam.googleapis.com/locations/global/workforcePools/p/*']")],
    ),
    "PM003": (
        [
            (service("storge.googleapis.com: {}"), "storge.googleapis.com"),
            (service("storage: {}"), "storage"),
            (service("nothing.googleapis.com: {}"), "nothing.googleapis.com"),
            (service("'*': {methods: ['*']}"), "{methods: ['*']}"),
            (ingress(f"{WHO}, {TO}", more=", restricted_services: {remove: [storage.googleapis.com]}"),
             "storage.googleapis.com"),
        ],
        [
            service("'*': {}"), service("iam.googleapis.com: {}"),
            ingress(f"{WHO}, {TO.replace('storage', 'brandnew')}",
                    more=", restricted_services: {add: [brandnew.googleapis.com]}"),
        ],
    ),
    "PM004": (
        [
            (method("google.storage.objects.gett"), "google.storage.objects.gett"),
            (method("storage.objects.get"), "storage.objects.get"),
            (method("google.storage.objects.get", "bigquery.googleapis.com"), "google.storage.objects.get"),
            (method("google.storage.objects.get", "container.googleapis.com"), "google.storage.objects.get"),
            (method("a b", "artifactregistry.googleapis.com"), "a b"),
            (service("bigquery.googleapis.com: {permissions: [getData]}"), "getData"),
        ],
        [
            method("google.storage.objects.get"), method("google.storage.folders.rename"), method("'*'"),
            method("BigQueryRead.CreateReadSession", "bigquery.googleapis.com"),
            method("artifactregistry.googleapis.com/DockerRead", "artifactregistry.googleapis.com"),
            service("bigquery.googleapis.com: {permissions: [bigquery.tables.getData]}"),
        ],
    ),
    "PM005": (
        [
            (to("resources: ['*']"), "r"),
            (to("services: {storage.googleapis.com: {}}"), "r"),
            (to("resources: ['*'], services: {storage.googleapis.com: {}}, roles: [roles/viewer]"), "roles"),
        ],
        [to("resources: ['*'], roles: [roles/storage.objectViewer]"), service("storage.googleapis.com: {}")],
    ),
    "PM006": (
        [
            (to("resources: [projects/other-project], roles: [roles/viewer]"), "projects/other-project"),
            (to("resources: [projects/123], roles: [roles/viewer]"), "projects/123"),
            (egress(f"{WHO}, to: {{resources: [projects/llm-ml-dev], roles: [roles/viewer]}}"),
             "projects/llm-ml-dev"),
            (egress(f"{WHO}, to: {{resources: [projects/other-project], roles: [roles/viewer]}}"),
             "projects/other-project"),
        ],
        [
            to("resources: [projects/llm-ml-dev], roles: [roles/viewer]"),
            egress(f"{WHO}, to: {{resources: [projects/123, '*'], roles: [roles/viewer]}}"),
        ],
    ),
    "PM007": (
        [
            (ingress(f"{WHO}, {TO}", "a" * 94), "a" * 94),
            (ingress(f"{WHO}, {TO}", more=f", egress: {{r: {{{WHO}, {TO}}}}}"), "r"),
            (FOUNDED + ingress(f"{WHO}, {TO}", "automation"), "automation"),
        ],
        [
            ingress(f"{WHO}, {TO}", "a" * 93), ingress(f"{WHO}, {TO}", "automation"),
            perimeter(f"mode: enforced, ingress: {{r: {{{WHO}, {TO}}}}}, "
                      f"dry_run: {{ingress: {{r: {{{WHO}, {TO}}}}}}}"),
        ],
    ),
    "PM008": (
        [(from_(f"identities: ['user:a@example.com'], sources: ['{one}']"), f"'{one}'")
         for one in ("corp", "10.0.0.0/8", "projects/somebody-elses", "accessPolicies/1/accessLevels/x")],
        [from_("identities: ['user:a@example.com'], sources: ['*', projects/123, projects/llm-ml-dev, "
               "//compute.googleapis.com/projects/acme-host/global/networks/n]")],
    ),
    "PM009": (
        [(perimeter("mode: dry-run, dry_run: {}"), "dry_run"),
         (perimeter("dry_run: {egress: {}}"), "dry_run")],
        [FOUNDED + perimeter("mode: enforced, dry_run: {egress: {}}")],
    ),
    "PM010": (
        [
            (perimeter("existing: p, mode: enforced"), "p"),
            (perimeter(PERIMETER), "accessPolicies/1/servicePerimeters/p"),
            (perimeter(f"{PERIMETER}, mode: enforced, egress: {{r: {{{WHO}, {COMPUTE}}}}}"), "egress"),
            (perimeter(f"{PERIMETER}, mode: enforced, restricted_services: {{add: [iam.googleapis.com]}}"),
             "restricted_services"),
        ],
        [perimeter(f"{PERIMETER}, mode: enforced"), perimeter(f"{PERIMETER}, mode: dry-run, egress: {{}}")],
    ),
    "PM011": (
        [
            (level(""), "corp"),
            (level("any_of: [{regions: [DE]}], all_of: [{regions: [DE]}]"), "corp"),
            (level("any_of: [{}]"), "{}"),
            (level("any_of: [{ip_ranges: [203.0.113.1/24]}]"), "203.0.113.1/24"),
            (level("all_of: [{ip_ranges: [10.1.0.0/16]}]"), "10.1.0.0/16"),
            (level("any_of: [{members: ['group:a@example.com']}]"), "'group:a@example.com'"),
            (level("any_of: [{regions: [Germany]}]"), "Germany"),
        ],
        [
            level("any_of: [{ip_ranges: [203.0.113.0/24, '2001:db8::/32']}, "
                  "{members: ['user:a@example.com']}]"),
            level("all_of: [{regions: [DE]}, {members: ['serviceAccount:x@p.iam.gserviceaccount.com']}]"),
        ],
    ),
    "PM012": (
        [("environments: {ml-prod: {perimeter: {mode: dry-run}}}\n", "dry-run")],
        [perimeter("mode: dry-run"), FOUNDED + "environments: {ml-prod: {perimeter: {mode: enforced}}}\n"],
    ),
    "PM013": (
        [(both(*[f"perimeter: {{mode: enforced, {PERIMETER}}}"] * 2),
          "accessPolicies/1/servicePerimeters/p")],
        [both(f"perimeter: {{mode: enforced, {PERIMETER}}}", f"perimeter: {{mode: enforced, {PERIMETER}q}}")],
    ),
    "PM014": (
        [(both("perimeter: {mode: enforced, access_policy: 1}",
               "perimeter: {mode: enforced, access_policy: accessPolicies/1}", FOUNDED), "accessPolicies/1")],
        [both("perimeter: {mode: enforced, access_policy: 1}",
              "perimeter: {mode: enforced, access_policy: 2}", FOUNDED)],
    ),
    "PM015": (
        [(perimeter("access_levels: {corp: {any_of: [{regions: [DE]}]}}"), "corp")],
        [level("any_of: [{regions: [DE]}]")],
    ),
    "PM016": (
        [
            (perimeter("restricted_services: {add: [storage]}"), "storage"),
            (perimeter("restricted_services: {add: [storge.googleapis.com]}"), "storge.googleapis.com"),
            (perimeter("restricted_services: {remove: [storge.googleapis.com]}"), "storge.googleapis.com"),
            (perimeter("restricted_services: {remove: [qqqqq.googleapis.com]}"), "qqqqq.googleapis.com"),
        ],
        [perimeter("restricted_services: {add: [iam.googleapis.com], remove: [spanner.googleapis.com]}")],
    ),
    "PM017": (
        [
            (one("apis: [spanner]\nperimeter: {restricted_services: {remove: [spanner.googleapis.com]}}"),
             "spanner.googleapis.com"),
            (one("storage: {buckets: {a: {}}}\n"
                 "perimeter: {restricted_services: {remove: [storage.googleapis.com]}}"),
             "storage.googleapis.com"),
        ],
        [perimeter("restricted_services: {remove: [storage.googleapis.com]}")],
    ),
    "PM018": (
        [(perimeter("mode: enforced"), "enforced")],
        [FOUNDED + perimeter("mode: enforced"), perimeter("mode: dry-run"),
         perimeter(f"mode: enforced, {PERIMETER}"), ingress(f"{WHO}, {TO}", more=", mode: enforced")],
    ),
    "PM019": (
        [(one(f"perimeter: {{mode: dry-run}}\n{RESERVED}"),
          "{reservation: {name: h, project: ml-capacity}}"),
         (one(f"perimeter: {{mode: dry-run}}\n{ENCRYPTED}"), KEY)],
        [
            one(f"perimeter: {{mode: dry-run, egress: {{r: {{{ANY}, {COMPUTE}}}}}}}\n{RESERVED}"),
            one(RESERVED),
            one(f"perimeter: {{mode: dry-run}}\n{ENCRYPTED}").replace("acme-keys", "llm-ml-dev"),
            one(f"perimeter: {{mode: dry-run}}\n{RESERVED}").replace("ml-capacity", "llm-ml-dev"),
        ],
    ),
    "PM020": (
        [(FOUNDED + one(f"{PEOPLE}\nperimeter: {{mode: enforced}}"), "access")],
        [
            FOUNDED + one(f"{PEOPLE}\nperimeter: {{mode: dry-run}}"), one(PEOPLE),
            one(f"{PEOPLE}\nperimeter: {{mode: enforced, ingress: {{r: {{{WHO}, {TO}}}}}}}"),
        ],
    ),
    "PM021": (
        [(crossing("mode: enforced", "mode: dry-run"), "c"),
         (crossing("mode: dry-run", "mode: enforced"), "c"),
         (crossing(f"mode: enforced, {LET_IN}".replace("ml-prod", "ml-dev"), "mode: none"), "c")],
        [crossing(f"mode: enforced, {LET_IN}", f"mode: enforced, {LET_OUT}"),
         crossing("mode: none", "mode: dry-run")],
    ),
}  # fmt: skip
