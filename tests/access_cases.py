"""Cases of the rules on people, data and keys: code → what breaks it, with what is shown; what does not."""

from blueprint_texts import SYSTEM, one


def access(body):
    return one(f"access: {{{body}}}")


def workload(body):
    return one(f"workloads: {{w: {{{body}}}}}")


def emergency(members, approvers, roles):
    return access(f"break_glass: {{members: {members}, approvers: {approvers}, roles: {roles}}}")


def many(count):
    return workload(f"roles: [{', '.join(f'roles/pubsub.role{n}' for n in range(count))}]")


def two(principal):
    grants = f"{{'{principal}': [roles/browser]}}"
    return f"environments:\n  ml-dev: {{}}\n  ml-prod: {{access: {{grants: {grants}}}}}\n"


KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
KEYS = f"encryption: {{mode: cmek, keys: {{us-central1: {KEY}}}}}"
CLUSTER = f"clusters: {{main: {{node_pools: {{{SYSTEM}}}"
PEOPLE = "operators: ['group:a@example.com', 'group:b@example.com']"

CASES = {
    "AC001": (
        [
            (access("auditors: [allUsers]"), "allUsers"),
            (access("grants: {allAuthenticatedUsers: [roles/browser]}"), "allAuthenticatedUsers"),
        ],
        [access("auditors: ['group:all@example.com']")],
    ),
    "AC002": (
        [
            (access("grants: {'user:a@example.com': [roles/browser, roles/editor]}"), "roles/editor"),
            (workload("roles: [roles/viewer]"), "roles/viewer"),
        ],
        [
            access("grants: {'user:a@example.com': [roles/browser]}"),
            workload("roles: [roles/compute.viewer]"),
        ],
    ),
    "AC003": (
        [
            (two(member), f"'{member}'")
            for member in (
                "serviceAccount:x@llm-ml-dev.iam.gserviceaccount.com",
                "serviceAccount:llm-ml-dev.svc.id.goog[ns/sa]",
                "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/"
                "llm-ml-dev.svc.id.goog/subject/ns/a/sa/b",
            )
        ],
        [
            two("serviceAccount:x@llm-ml-prod.iam.gserviceaccount.com"),
            two("serviceAccount:x@elsewhere.iam.gserviceaccount.com"),
            two("group:x@example.com"),
        ],
    ),
    "AC004": (
        [(access(f"{PEOPLE}, auditors: ['user:x@exmaple.com']"), "'user:x@exmaple.com'")],
        [
            access(f"{PEOPLE}, auditors: ['user:x@EXAMPLE.com']"),
            "external: {domains: [audit.example.org]}\n"
            + access(f"{PEOPLE}, auditors: ['user:x@audit.example.org']"),
        ],
    ),
    "AC005": (
        [
            (
                access("grants: {'user:a@example.com': [roles/iam.serviceAccountTokenCreator]}"),
                "roles/iam.serviceAccountTokenCreator",
            )
        ],
        [access("grants: {'user:a@example.com': [roles/iam.serviceAccountViewer]}")],
    ),
    "AC006": (
        [
            (workload("roles: [roles/storage.admin]"), "roles/storage.admin"),
            (workload("roles: [roles/iam.serviceAccountUser]"), "roles/iam.serviceAccountUser"),
        ],
        [workload("roles: [roles/monitoring.viewer]")],
    ),
    "AC007": ([(many(8), "roles/pubsub.role7")], [many(7)]),
    "AC008": (
        [
            (
                access(
                    "break_glass: {members: ['group:a@example.com'], approvers: ['group:a@example.com'],"
                    " roles: [roles/container.admin]}"
                ),
                "'group:a@example.com'",
            )
        ],
        [
            access(
                "break_glass: {members: ['group:a@example.com'], approvers: ['group:b@example.com'],"
                " roles: [roles/container.admin]}"
            )
        ],
    ),
    "AC009": (
        [
            (emergency("[]", "['group:b@example.com']", "[roles/x]"), "[]"),
            (emergency("['group:a@example.com']", "[]", "[roles/x]"), "[]"),
            (emergency("['group:a@example.com']", "['group:b@example.com']", "[]"), "[]"),
        ],
        [emergency("['group:a@example.com']", "['group:b@example.com']", "[roles/container.admin]")],
    ),
    "DA001": (
        [
            (one(f"{KEYS}\nstorage: {{bigquery: {{f: {{location: US}}}}}}"), "US"),
            (one(f"{KEYS}\nstorage: {{buckets: {{b: {{location: us-east1}}}}}}"), "us-east1"),
            (one(f"{KEYS}\nregion: us-east1\nsecrets: {{s: {{}}}}"), "s"),
            (one(f"{KEYS}\n{CLUSTER}, region: us-east1}}}}"), "us-east1"),
        ],
        [
            one(f"{KEYS}\nstorage: {{bigquery: {{f: {{}}, old: {{existing: p.d, location: US}}}}}}"),
            one("encryption: {mode: cmek}\nstorage: {bigquery: {f: {location: US}}}"),
            one(f"{KEYS}\n{CLUSTER}}}}}"),
        ],
    ),
    "DA002": (
        [(one(f"encryption: {{mode: cmek, keys: {{us-east1: {KEY}}}}}"), KEY)],
        [one(KEYS)],
    ),
    "DA003": ([(one(f"encryption: {{keys: {{us-central1: {KEY}}}}}"), "keys")], [one(KEYS)]),
    "DA004": (
        [
            (one("storage: {bigquery: {a: {name: x_y}, b: {name: x_y}}}"), "b"),
            (one("registry: {a: {name: images}, images: {}}"), "images"),
            (one("secrets: {a: {name: token}, token: {}}"), "token"),
        ],
        [one("registry: {a: {name: images}, images: {location: us}}"), one("secrets: {a: {}, b: {}}")],
    ),
    "DA005": (
        [
            (one("storage: {bigquery: {f: {location: europe-west4}}}"), "europe-west4"),
            (one("storage: {bigquery: {f: {location: EU}}}"), "EU"),
        ],
        [
            one("storage: {bigquery: {f: {location: US}, g: {}}}"),
            one("region: europe-west4\nstorage: {bigquery: {f: {location: EU}}}"),
        ],
    ),
    "DA006": (
        [(one("budget: {monthly: 5}"), "budget")],
        [one("billing_account: 01AB23-CD45EF-678901\nbudget: {monthly: 5}")],
    ),
    "DA007": (
        [
            (one("audit_logs: {retention: 12h}"), "12h"),
            (one("audit_logs: {retention: 3651d}"), "3651d"),
        ],
        [one("audit_logs: {}"), one("audit_logs: {retention: 3650d}")],
    ),
}
