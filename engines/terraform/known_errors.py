"""What the errors of Google Cloud, its Terraform provider and Terraform mean, and what to do about them.

A table, looked through from top to bottom: the special cases of a status code stand above the general ones.
Each entry names where its wording was seen or is documented. Parts of the message that a sign names
(``(?P<api>…)``) may be used in the texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

#: What can be done: ``retry`` later and change nothing, ``change`` the blueprint, ``ask`` somebody with more
#: rights, ``adopt`` what is there already.
Remedy = Literal["retry", "change", "ask", "adopt"]

_PROVIDER = "github.com/hashicorp/terraform-provider-google"


@dataclass(frozen=True, slots=True)
class Known:
    """An error that is known, or, from ``explain``, one that occurred.

    Attributes:
        name: short and stable, for tables and tests.
        sign: matches the message.
        meaning: what it means, one sentence.
        action: what to do.
        remedy: of what kind that is.
        source: where the wording or the rule comes from.
        uncertain: what was asked for may have been done all the same.
    """

    name: str
    sign: str
    meaning: str
    action: str
    remedy: Remedy
    source: str
    uncertain: bool = False


KNOWN = (
    Known(
        "api-disabled",
        r"(?P<api>[a-z][\w-]*\.googleapis\.com)/overview\?project=(?P<project>[\w-]+)|SERVICE_DISABLED|"
        r"accessNotConfigured|API has not been used in project",
        "An API is not enabled, or was enabled only minutes ago.",
        "Wait a few minutes and run again. If it stays: gcloud services enable {api} --project={project}",
        "retry",
        "cloud.google.com/service-usage/docs/enable-disable",
    ),
    Known(
        "billing",
        r"BILLING_DISABLED|requires billing to be enabled|billing account .*(?:is disabled|not.*active)",
        "The project has no working billing account.",
        "Check `billing_account` in the blueprint, and that the account is open and may be used by whoever "
        "runs this (Billing Account User).",
        "change",
        "cloud.google.com/billing/docs/how-to/modify-project",
    ),
    Known(
        "policy",
        r"(?P<constraint>constraints/[\w.-]+)|violates? .*org(?:anization)? policy",
        "A policy of the organization forbids it: {constraint}.",
        "Change the blueprint so that it complies, or ask who owns the policy for an exception.",
        "change",
        "cloud.google.com/resource-manager/docs/organization-policy/overview",
    ),
    Known(
        "perimeter",
        r"VPC_SERVICE_CONTROLS|Request is prohibited by organization's policy|vpcServiceControlsUniqueIdent",
        "A VPC Service Controls perimeter stops the call.",
        "Run from inside the perimeter, or let an ingress rule admit this identity. The unique id in the "
        "full text finds the refusal in the audit log.",
        "ask",
        "cloud.google.com/vpc-service-controls/docs/troubleshooting",
    ),
    Known(
        "stock-out",
        r"ZONE_RESOURCE_POOL_EXHAUSTED|GCE_STOCKOUT|does not have enough resources available|"
        r"state: ?STOCKOUT|insufficientCapacity",
        "Google has no free machines of this kind in that zone now. Quota does not matter here.",
        "Run again later, or give the pool more zones, another `machine`, or capacity that waits or is "
        "reserved (`capacity: flex-start`, `reservation`). Half-made pools are replaced then.",
        "retry",
        "cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-availability; "
        f"{_PROVIDER}/pull/10121",
    ),
    Known(
        "operations",
        r"concurrent operations quota|incompatible operation|is currently (?:\w+ing) .*(?:cluster|node pool)|"
        r"CLUSTER_ALREADY_HAS_OPERATION",
        "The cluster is busy with another operation, such as an upgrade.",
        "Wait until it is done, then run again. A maintenance window keeps upgrades away from working hours.",
        "retry",
        f"{_PROVIDER}/issues/3650, /issues/15205",
    ),
    Known(
        "rate",
        r"Error 429|rateLimitExceeded|RATE_LIMIT_EXCEEDED|Too Many Requests|"
        r"(?:requests|reads|writes|mutations) per (?:minute|100 seconds|second)",
        "Too many calls in a short time; the provider repeated them for a while.",
        "Run again in a few minutes; what is done stays done.",
        "retry",
        f"cloud.google.com/docs/quotas/troubleshoot; {_PROVIDER}/issues/8360",
    ),
    Known(
        "quota",
        r"[Qq]uota exceeded|quotaExceeded|QUOTA_EXCEEDED|[Ii]nsufficient (?:regional|project|global) quota|"
        r"Quota '\w+' exceeded|GPUS_ALL_REGIONS",
        "A quota of the project is used up. It is a limit on this project, not a shortage at Google.",
        "Ask for more at https://console.cloud.google.com/iam-admin/quotas, then run again; or make it "
        "smaller. GPUs need both the quota of their region and GPUS_ALL_REGIONS.",
        "ask",
        "cloud.google.com/docs/quotas/troubleshoot; cloud.google.com/compute/resource-usage",
    ),
    Known(
        "bucket-name",
        r"bucket name is not available|bucket namespace is shared",
        "Somebody else in the world has a bucket of that name.",
        "Give the bucket another `name` in the blueprint.",
        "change",
        "cloud.google.com/storage/docs/buckets#naming",
    ),
    Known(
        "project-id",
        r"[Ee]rror creating (?:google_)?project\b.*(?:Error 409|already exists)",
        "The project's id is taken: by a run of yours that was cut off, for 30 days by a project that was "
        "deleted, or by one of somebody else.",
        "If you deleted it: `project: {{generation: 2}}` gives the environment a new id; or undelete it "
        "(gcloud projects undelete) and take it over. Else write another id: `project: {{id: …}}`. If it is "
        "yours and well, take it over.",
        "adopt",
        "cloud.google.com/resource-manager/docs/creating-managing-projects#shutting_down_projects; "
        f"{_PROVIDER}/blob/main/google/services/resourcemanager/resource_google_project.go",
    ),
    Known(
        "reserved",
        r"stays reserved|soft-deleted|pending deletion|DELETE_REQUESTED|never frees the name",
        "The name belongs to something that was deleted and is still reserved.",
        "Write `generation: 2` for it, which gives it a new name. Or undelete it and take it over.",
        "change",
        "cloud.google.com/resource-manager/docs/creating-managing-projects#shutting_down_projects; "
        "cloud.google.com/kms/docs/resource-hierarchy",
    ),
    Known(
        "concurrent",
        r"concurrent policy changes|Error 409: .*aborted|Error 412: .*(?:etag|fingerprint|conditionNotMet)",
        "Somebody else changed the same thing at the same moment.",
        "Run again.",
        "retry",
        f"{_PROVIDER}/issues/12512; cloud.google.com/iam/docs/retry-strategy",
    ),
    Known(
        "exists",
        r"already exists|alreadyExists|ALREADY_EXISTS|you already own it|violates display name uniqueness",
        "It exists in Google Cloud, but this state does not know it: an earlier run was cut off while making "
        "it, or somebody else made it.",
        "If it is yours, take it over (`groundplan import` finds all that exists); else use another name.",
        "adopt",
        "cloud.google.com/apis/design/errors; developer.hashicorp.com/terraform/language/import",
    ),
    Known(
        "in-use",
        r"resourceInUseByAnotherResource|is already being used by|in use by another|"
        r"RESOURCE_IN_USE|still has (?:attached|dependent)",
        "Something else uses it; often something that was made by hand, or by Kubernetes (load balancers, "
        "disks).",
        "Remove what the message names, then run again.",
        "change",
        "cloud.google.com/compute/docs/troubleshooting/troubleshooting-deletion",
    ),
    Known(
        "not-empty",
        r"bucket you tried to delete (?:was|is) not empty|without `?force_destroy|"
        r"containing objects|resource is not empty",
        "It still holds data, and groundplan does not delete data.",
        "Empty it yourself if nobody needs it any more, then run again.",
        "change",
        "cloud.google.com/storage/docs/deleting-buckets",
    ),
    Known(
        "protected",
        r"deletion_protection is set to true|deletion_policy is set to PREVENT|\blien\b",
        "It is protected against deletion.",
        "Write `protect: false` and apply that first.",
        "change",
        "cloud.google.com/kubernetes-engine/docs/how-to/deletion-protection",
    ),
    Known(
        "account",
        r"[Ss]ervice account [^\s]+ does not exist|Identity Pool does not exist",
        "A service account or identity pool that is named does not exist yet, or was made seconds ago.",
        "Run again; Google needs up to a few minutes until new identities are known everywhere.",
        "retry",
        "cloud.google.com/iam/docs/access-change-propagation",
    ),
    Known(
        "credentials",
        r"could not find default credentials|oauth2: .*(?:invalid_grant|token expired)|"
        r"Error 401|invalid_grant|Request had invalid authentication",
        "Google does not accept the credentials, or they ran out.",
        "Run `gcloud auth application-default login`, or renew what GOOGLE_APPLICATION_CREDENTIALS names, "
        "then run again.",
        "retry",
        "cloud.google.com/docs/authentication/application-default-credentials",
    ),
    Known(
        "permission",
        r"Required [\"'](?P<permission>[\w.]+)[\"'] permission|Permission '?(?P<denied>[\w.]+)'? "
        r"(?:denied|is required)|IAM_PERMISSION_DENIED|PERMISSION_DENIED|does not have permission|Error 403",
        "Whoever runs this may not do that: {permission}.",
        "Ask for a role that has it, or run as the stack's own automation account. New grants take a few "
        "minutes to work.",
        "ask",
        "cloud.google.com/iam/docs/troubleshooting-access",
    ),
    Known(
        "deadline",
        r"timeout while waiting for|context deadline exceeded|DEADLINE_EXCEEDED|deadline exceeded",
        "Google was not done in the time that Terraform waits. It may still get done.",
        "Look at it in the console. When Google is done, run again; if the object then exists already, it "
        "is named and can be taken over.",
        "retry",
        "developer.hashicorp.com/terraform/language/resources/syntax#operation-timeouts",
        uncertain=True,
    ),
    Known(
        "unavailable",
        r"Error 50[0234]|backendError|\bUNAVAILABLE\b|connection reset by peer|i/o timeout|"
        r"TLS handshake timeout|no such host|connection refused",
        "Google or the network did not answer properly.",
        "Run again; what is done stays done.",
        "retry",
        "cloud.google.com/apis/design/errors",
    ),
    Known(
        "nothing-to-adopt",
        r"Cannot import non-existent remote object",
        "There is no such object to take over.",
        "Run again without --adopt.",
        "change",
        "developer.hashicorp.com/terraform/language/import",
    ),
    Known(
        "provider-version",
        r"no available releases match the given constraints (?P<wanted>.+?)(?= To see | \(|$)",
        "No version of the provider that the blueprint asks for can be installed: {wanted}.",
        "Change `providers:` in the blueprint, or offer that version where providers come from (a mirror).",
        "change",
        "wording of terraform init 1.11 and 1.15; developer.hashicorp.com/terraform/cli/config/config-file",
    ),
    Known(
        "newer-state",
        r"state (?:file|snapshot) was created by Terraform v?(?P<newer>\d[\d.]*\d)",
        "A newer Terraform has written the state, and this one cannot read it.",
        "Use Terraform {newer} or newer, and ask for it under `engine:` so that nobody falls back.",
        "change",
        "wording of terraform init 1.11 and 1.15; developer.hashicorp.com/terraform/language/state",
    ),
    Known(
        "state-place",
        r"Backend configuration changed",
        "The blueprint names another place for this state than the last time.",
        "Change `name`, `state:` or `foundation:` back. A state is moved by hand, with the engine's "
        "`init -migrate-state` in the stack's folder among the work files.",
        "change",
        "wording of terraform init 1.11 and 1.15; developer.hashicorp.com/terraform/cli/commands/init",
    ),
    Known(
        "provider-died",
        r"Plugin did not respond|plugin.*(?:exited|crashed)|error reading from server: EOF|"
        r"rpc error|Failed to (?:load|instantiate) .*(?:plugin|provider)",
        "The provider ended while Terraform was working with it.",
        "Run again. What it was doing at that moment may exist without being in the state; that is named "
        "then, with the command to take it over.",
        "retry",
        "developer.hashicorp.com/terraform/plugin/debugging",
        uncertain=True,
    ),
    Known(
        "disk-full",
        r"no space left on device|file too large|disk quota exceeded",
        "The disk is full.",
        "Free some space, then run again.",
        "retry",
        "man7.org/linux/man-pages/man3/errno.3.html (ENOSPC, EFBIG, EDQUOT)",
    ),
)


def explain(message: str) -> Known | None:
    """The first entry whose sign is in the message, its texts filled in; None for an unknown error.

    Args:
        message: a diagnostic's summary and detail.
    """
    text = " ".join(message.split())
    for known in KNOWN:
        found = [match.groupdict() for match in re.finditer(known.sign, text)]
        if found:
            words = _Words({name: value for parts in found for name, value in parts.items() if value})
            return replace(
                known, meaning=known.meaning.format_map(words), action=known.action.format_map(words)
            )
    return None


class _Words(dict[str, str]):
    """What the sign found, and something readable for what this message leaves out."""

    def __missing__(self, name: str) -> str:
        if name == "permission":
            return self.get("denied", "a permission is missing")
        return {"constraint": "the full text names it", "api": "API", "project": "PROJECT"}.get(name, name)
