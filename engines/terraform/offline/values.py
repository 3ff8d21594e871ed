"""Plausible values for what only the cloud knows: ids, numbers, links, addresses, times.

They are deterministic: the same object gets the same values in every cloud, so plans and goldens are
repeatable. What is made up and visible carries ``offline``, so that nobody takes it for real.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from groundplan.facts.schema import Attribute, Block, ResourceType

from .cloud import Refused
from .codec import UNKNOWN, conform, has_unknown, without_unknown
from .templates import fields, fill

State = dict[str, Any]

MOMENT = "2026-01-01T00:00:00Z"
_MOMENT_MS = 1767225600000
_GKE_VERSION = "1.34"

#: Service agents whose host is not gcp-sa-NAME (Google: "Service agents").
_AGENT_HOSTS = {
    "compute": "compute-system",
    "container": "container-engine-robot",
    "storage": "gs-project-accounts",
    "pubsub": "gcp-sa-pubsub",
    "dataflow": "dataflow-service-producer-prod",
    "file": "cloud-filer",
    "redis": "cloud-redis",
    "run": "serverless-robot-prod",
    "servicenetworking": "service-networking",
    "tpu": "cloud-tpu",
}


def project_number(project: str) -> str:
    """The number that the stand-in gives the project with this id: twelve digits."""
    return _digits("project", project)


def service_agent(service: str, number: str) -> str:
    """Email of the agent of ``NAME.googleapis.com`` in the project with this number."""
    name = service.partition(".")[0]
    return f"service-{number}@{_AGENT_HOSTS.get(name, f'gcp-sa-{name}')}.iam.gserviceaccount.com"


def _digest(*parts: object) -> str:
    return hashlib.sha256("#".join(map(str, parts)).encode()).hexdigest()


def _digits(*parts: object, count: int = 12) -> str:
    return str(int(_digest(*parts), 16))[:count]


_ACCOUNT_EMAIL = "{{account_id}}@{{project}}.iam.gserviceaccount.com"
_LOG_WRITER = "serviceAccount:service-{}@gcp-sa-logging.iam.gserviceaccount.com"

#: Values made of other values of the same object, as ``type.attribute``.
_TEMPLATES = {
    "google_access_context_manager_access_policy.name": "{{policy_number}}",  # without accessPolicies/
    "google_artifact_registry_repository.name": "{{repository_id}}",
    "google_artifact_registry_repository.registry_uri": (
        "{{location}}-docker.pkg.dev/{{project}}/{{repository_id}}"
    ),
    "google_folder.name": "folders/{{folder_id}}",
    "google_logging_folder_sink.writer_identity": _LOG_WRITER.format("folder-{{hash}}"),
    "google_logging_organization_sink.writer_identity": _LOG_WRITER.format("org-{{org_id}}"),
    "google_logging_project_sink.writer_identity": _LOG_WRITER.format("{{project_number}}"),
    "google_project.number": "{{project_number}}",
    "google_project_service_identity.email": "{{agent}}",
    "google_project_service_identity.member": "serviceAccount:{{agent}}",
    "google_service_account.email": _ACCOUNT_EMAIL,
    "google_service_account.member": f"serviceAccount:{_ACCOUNT_EMAIL}",
    "google_service_account_key.name": "{{service_account_id}}/keys/{{hash}}",
    "google_storage_bucket.self_link": "https://www.googleapis.com/storage/v1/b/{{id}}",
    "google_storage_bucket.url": "gs://{{id}}",
    "google_tags_tag_key.namespaced_name": "{{parent_name}}/{{short_name}}",
    "google_tags_tag_value.namespaced_name": "{{parent_name}}/{{short_name}}",
}

#: What the real provider knows before the object exists.
_KNOWN_AT_PLAN = {"google_service_account": ("email", "member")}

#: Attributes of nested blocks, by the end of their path. Google's documented defaults.
_NESTED: dict[str, Any] = {
    "node_config.disk_size_gb": 100,
    "node_config.disk_type": "pd-balanced",
    "node_config.image_type": "COS_CONTAINERD",
    "node_config.machine_type": "e2-medium",
    "node_config.service_account": "default",
    "dns_endpoint_config.endpoint": "gke-offline.gke.goog",
}

#: By name, at any type and depth. A value counts only where the type fits.
_FIXED: dict[str, Any] = {
    "creation_time": _MOMENT_MS,
    "endpoint": "10.0.0.2",
    "generation": 1,
    "kind": "",
    "last_modified_time": _MOMENT_MS,
    "lifecycle_state": "ACTIVE",
    "metageneration": 1,
    "services_ipv4_cidr": "10.8.0.0/20",
    "state": "ACTIVE",
    "status": "READY",
    "time_created": MOMENT,
    "updated": MOMENT,
}

_HEALTHY = ("ACTIVE", "ENABLED", "READY", "RUNNING")

#: Empty in a fresh object.
_EMPTY_AT_FIRST = re.compile(
    r"^(delete|destroy|expire|last|source|purge)_|ipv6|cidr|address|error|reason|^management_project$"
)

#: Computed blocks that other resources read; the others come back empty.
_BLOCKS: dict[str, list[State]] = {
    "google_container_cluster.master_auth": [{"cluster_ca_certificate": "b2ZmbGluZQ=="}],
}


def known_at_plan(kind: ResourceType, planned: State) -> State:
    """Computed attributes that the provider can already tell from the plan."""
    known = {}
    for name in _KNOWN_AT_PLAN.get(kind.type, ()):
        template = _TEMPLATES[f"{kind.type}.{name}"]
        if all(isinstance(planned.get(field), str) for field in fields(template)):
            known[name] = fill(template, planned.get)
    return known


class Maker:
    """Fills in one object.

    Args:
        kind: its type.
        planned: its planned state.
        settings: the provider's own configuration.
        id_: the id if the object exists already.
        attempt: counts up while ids that the server hands out are taken already.
    """

    def __init__(
        self, kind: ResourceType, planned: State, settings: Mapping[str, Any], id_: str = "", attempt: int = 0
    ) -> None:
        self._kind = kind
        self._planned = planned
        self._settings = settings
        self._attempt = attempt
        written = sorted((name, value) for name, value in planned.items() if isinstance(value, str))
        self._seed = _digest(kind.type, written, *([attempt] if attempt else []))
        self._made_up = False
        self.id = ""
        self.id = id_ or self._make_id()
        self.served = self._made_up  #: the id holds a part that the server hands out

    def complete(self) -> State:
        """The planned state with everything that was unknown filled in.

        Raises:
            Refused: something is needed that neither the resource nor the provider configures.
        """
        return self._complete(self._kind.block, self._planned, ())

    def _complete(self, block: Block, state: State, at: tuple[str, ...]) -> State:
        done: State = {}
        for name, attribute in block.attributes.items():
            value = state.get(name)
            if value is UNKNOWN:
                value = self._value((*at, name), attribute)
            done[name] = without_unknown(value) if has_unknown(value) else value
        for name, nested in block.blocks.items():
            value = state.get(name)
            if value is UNKNOWN:
                made = _BLOCKS.get(f"{self._kind.type}.{name}", []) if not at else []
                value = [conform(nested.block, element) for element in made]
            elif isinstance(value, list):
                value = [self._complete(nested.block, e, (*at, name)) for e in value if e is not UNKNOWN]
            done[name] = value
        return done

    def _make_id(self) -> str:
        made = fill(self._kind.id, self._part)
        if self._kind.iam in ("member", "binding"):
            made = _iam_id(self._planned, made)
        return made

    def _part(self, name: str) -> Any:
        """A value for a template: as planned, else made up."""
        value = self._planned.get(name)
        if isinstance(value, str | int) and value != "":
            return value
        if name not in _PLACES:
            self._made_up = True
        made = self._top(name)
        return self._mark(name) if made is None else made

    def _value(self, path: tuple[str, ...], attribute: Attribute) -> Any:
        made = self._top(path[0]) if len(path) == 1 else None
        if made is None:
            made = _NESTED.get(".".join(path[-2:])) if len(path) > 1 else None
        if made is None:
            made = _FIXED.get(path[-1])
        if made is not None and _fits(attribute, made):
            return int(made) if attribute.type == "number" else made
        return self._neutral(path, attribute)

    def _top(self, name: str) -> Any:
        """A value at the top level by what it means, None if its name says nothing."""
        template = _TEMPLATES.get(f"{self._kind.type}.{name}")
        if template:
            return fill(template, self._part)
        special = _SPECIAL.get(name)
        if special:
            return special(self)
        if name.startswith("self_link"):
            return self._link()
        if name.endswith("_id") or "number" in name:
            return _digits(self._seed, name)
        return None

    def _neutral(self, path: tuple[str, ...], attribute: Attribute) -> Any:
        """A value that says little but fits type, enum and range."""
        name, kind = path[-1], attribute.type
        if kind == "number":
            return int((attribute.range or (0,))[0] or 0)
        if kind == "bool":
            return False
        if kind != "string":
            return {} if kind[0] == "map" else []
        if attribute.enum:
            return min(filter(None, attribute.enum), key=_enum_order)
        if attribute.optional or _EMPTY_AT_FIRST.search(name):
            return ""
        if name.endswith(("_time", "_timestamp")):
            return MOMENT
        return self._mark(name)

    def _mark(self, *parts: str) -> str:
        return f"offline-{_digest(self._seed, *parts)[:8]}"

    # -- places

    def _cluster(self) -> dict[str, str]:
        """Project and location as far as a node pool's reference to its cluster names them."""
        parts = str(self._planned.get("cluster")).split("/")
        return dict(zip(parts[::2], parts[1::2], strict=False)) if len(parts) > 1 else {}

    def _project(self) -> str:
        project = self._cluster().get("projects") or self._settings.get("project")
        if not project:
            raise Refused("project: required field is not set", _WHERE.format("project"))
        return str(project)

    def _region(self) -> str:
        region, zone = self._settings.get("region"), self._settings.get("zone")
        if not region and not zone:
            raise Refused("Cannot determine region", _WHERE.format("region' or 'zone"))
        return str(region or zone.rpartition("-")[0])  # type: ignore[union-attr]

    def _zone(self) -> str:
        zone = self._settings.get("zone")
        if not zone:
            raise Refused("Cannot determine zone", _WHERE.format("zone"))
        return str(zone)

    def _location(self) -> str:
        """A cluster without a location is zonal, its node pools are where it is, all else is regional."""
        if location := self._cluster().get("locations"):
            return location
        zonal = self._kind.service == "container.googleapis.com" and self._settings.get("zone")
        return self._zone() if zonal else self._region()

    # -- names and links

    def _name(self) -> str:
        prefix = self._planned.get("name_prefix")
        if isinstance(prefix, str) and prefix:
            return f"{prefix}20260101000000{_digits(self._seed, count=10)}"
        if "{{name}}" not in self._kind.id:
            return self.id
        folder = self._folder()
        number = str(self._attempt + 1) if self._is_version() else _digits(self._seed, "name")
        if not folder:
            return self._mark("name")
        return f"{fill(folder, self._part)}/{number}" if self._kind.id == "{{name}}" else number

    def _folder(self) -> str:
        """Where objects of this type are created, ``projects/{{project}}/alertPolicies``."""
        path = re.sub(r"^v\d\w*/", "", self._kind.create_path).partition("?")[0]
        return path.replace(":addVersion", "/versions")

    def _link(self) -> str:
        compute = self._kind.service == "compute.googleapis.com"
        return ("https://www.googleapis.com/compute/v1/" if compute else self._kind.base_url) + self.id

    def _project_number(self) -> str:
        own = self._kind.type == "google_project"
        return project_number(str(self._part("project_id" if own else "project")))

    def _agent(self) -> str:
        return service_agent(str(self._planned["service"]), self._project_number())

    def _parent_name(self) -> str:
        return str(self._planned.get("parent")).rpartition("/")[2]

    def _gke_version(self) -> str | None:
        """Of a control plane or node pool; a whole version that was asked for is taken as it is."""
        if self._kind.service != "container.googleapis.com":
            return None
        asked = str(self._planned.get("min_master_version") or _GKE_VERSION)
        return asked if asked.count(".") > 1 else f"{asked}.0-gke.offline"

    def _is_version(self) -> bool:
        """Versions of secrets and keys are counted: 1, 2, 3."""
        return self._folder().lower().endswith("versions")

    def _version(self) -> str | None:
        return self.id.rpartition("/")[2] if self._is_version() else self._gke_version()

    def _gateway(self) -> str | None:
        """First usable address of a subnetwork's range."""
        try:
            return str(ipaddress.ip_network(str(self._planned.get("ip_cidr_range")))[1])
        except ValueError:
            return None

    def _address(self) -> str | None:
        """From the ranges that are set aside for documentation."""
        if self._kind.type not in ("google_compute_address", "google_compute_global_address"):
            return None
        return f"203.0.113.{int(_digest(self._seed)[:4], 16) % 254 + 1}"

    def _deletion_policy(self) -> str | None:
        policy = self._kind.deletion_policy
        return policy.default if policy else None


_WHERE = "Set it in this resource, or set provider-level '{}'."
_PLACES = ("project", "project_number", "region", "zone", "location", "network_name")

_SPECIAL: dict[str, Callable[[Maker], Any]] = {
    "address": Maker._address,
    "agent": Maker._agent,
    "deletion_policy": Maker._deletion_policy,
    "gateway_address": Maker._gateway,
    "hash": lambda maker: maker._seed[:8],
    "id": lambda maker: maker.id or _digits(maker._seed),
    "location": Maker._location,
    "master_version": Maker._gke_version,
    "name": Maker._name,
    "network_name": lambda maker: str(maker._planned.get("network")).rpartition("/")[2],
    "node_version": Maker._gke_version,
    "parent_name": Maker._parent_name,
    "project": Maker._project,
    "project_number": Maker._project_number,
    "region": Maker._region,
    "version": Maker._version,
    "zone": Maker._zone,
}


def _enum_order(value: str) -> int:
    """Healthy states first, then as listed, unspecified last."""
    return 0 if value in _HEALTHY else 2 if "UNSPECIFIED" in value else 1


def _fits(attribute: Attribute, value: Any) -> bool:
    if attribute.enum and value not in attribute.enum:
        return False
    if attribute.type == "number":
        return isinstance(value, int) or (isinstance(value, str) and value.isdigit())
    return attribute.type == "string" and isinstance(value, str)


def _iam_id(planned: State, made: str) -> str:
    """The id of an IAM grant: the member in lower case, a condition appended.

    As the provider does: principals keep their case, and a condition adds title, description and expression.
    """
    member = planned.get("member")
    if isinstance(member, str) and not member.startswith(("principal", "all")):
        kind, colon, name = member.partition(":")
        made = made.replace(member, kind + colon + name.lower())
    for condition in planned.get("condition") or []:
        made += "/" + "/".join(
            str(condition.get(key) or "") for key in ("title", "description", "expression")
        )
    return made
