"""Audit logs: who touched which data, kept in a bucket of their own for as long as the blueprint says.

Google Cloud writes who *changed* something always, but who *read* or wrote data only where that is switched
on (Cloud Audit Logs docs, "Data Access audit logs"); BigQuery's are always on. A log bucket of the project
keeps them, apart from the default one that forgets after 30 days. A sink into a bucket of its own project
needs no grant (Cloud Logging docs, "Route logs to supported destinations").

The bucket is never locked: a lock cannot be taken back, and the project could not be deleted before its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundplan.blueprints.naming import terraform_name
from groundplan.modules.graph import Graph, Lifecycle, Reference, text
from groundplan.modules.services import Services

if TYPE_CHECKING:
    from groundplan.blueprints.model import Environment

DAY = 86400  #: seconds

BUCKET = "audit"

#: Services whose data access is written: those that hold data, secrets and keys, and those that give rights.
AUDITED = (
    "artifactregistry.googleapis.com",
    "cloudkms.googleapis.com",
    "iam.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
    "sts.googleapis.com",
)
KINDS = ("ADMIN_READ", "DATA_READ", "DATA_WRITE")

#: Every audit log there is, and nothing else.
FILTER = 'log_id("cloudaudit.googleapis.com/{}")'
LOGS = ("access_transparency", "activity", "data_access", "policy", "system_event")


def add_audit_logs(graph: Graph, env: Environment, project: str | Reference, services: Services) -> None:
    """Switch on audit logs of one environment's project, and keep them.

    Args:
        graph: the foundation's, or the environment's where there is no foundation.
        env: the environment.
        project: its project.
        services: the APIs of that project.
    """
    if env.audit_logs is None:
        return
    with graph.at("audit_logs"):
        for service in AUDITED:
            graph.add(
                "google_project_iam_audit_config",
                terraform_name(env.name, service.partition(".")[0]),
                project=project,
                service=service,
                audit_log_config=[{"log_type": kind} for kind in KINDS],
                depends_on=services.needs("cloudresourcemanager"),
            )
        bucket = graph.add(
            "google_logging_project_bucket_config",
            terraform_name(env.name, BUCKET),
            project=project,
            location=env.region,
            bucket_id=BUCKET,
            description="Audit logs",
            retention_days=retention_days(env.audit_logs.retention_seconds),
            lifecycle=Lifecycle(prevent_destroy=env.protect),
            depends_on=services.needs("logging"),
        )
        graph.add(
            "google_logging_project_sink",
            terraform_name(env.name, BUCKET),
            project=project,
            name=BUCKET,
            destination=text("logging.googleapis.com/", bucket["id"]),
            filter=" OR ".join(FILTER.format(log) for log in LOGS),
            unique_writer_identity=True,
        )


def retention_days(seconds: int) -> int:
    """Whole days that are at least as long."""
    return -(-seconds // DAY)
