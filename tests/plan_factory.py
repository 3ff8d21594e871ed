"""Plans for tests: files from real Terraform, and small ones in the shape that Terraform gives them."""

import json
from pathlib import Path

from groundplan.plans.model import read_plan

DATA = Path(__file__).with_name("data") / "plans"
GOOGLE = "registry.terraform.io/hashicorp/google"


def real(name):
    """A plan that Terraform wrote."""
    return read_plan(DATA / f"{name}.json")


def real_json(name):
    return json.loads((DATA / f"{name}.json").read_text())


def origins(name):
    """Origins and descriptions of a real plan's resources."""
    content = real_json(f"{name}_origins")
    return {address: tuple(path) for address, path in content["origins"].items()}, content["describe"]


def change(address, actions, before=None, after=None, unknown=None, **rest):
    """One resource change. ``actions`` is a word, or two joined by ``+``."""
    type, name = address.split(".")[-2:]
    body = {
        "actions": actions.split("+"),
        "before": before,
        "after": after,
        "after_unknown": unknown or {},
        "before_sensitive": False if before is None else {},
        "after_sensitive": False if after is None else {},
    }
    outer = {
        key: rest.pop(key) for key in ("index", "previous_address", "action_reason", "deposed") if key in rest
    }
    head = {"address": address, "mode": "managed", "type": type, "name": name, "provider_name": GOOGLE}
    return {**head, **outer, "change": body | rest}


def plan(*changes, **top):
    """A plan with these changes."""
    return read_plan(plan_bytes(*changes, **top))


def plan_bytes(*changes, **top):
    head = {"format_version": "1.2", "terraform_version": "1.15.5", "planned_values": {}}
    return json.dumps({**head, "resource_changes": changes, **top}).encode()
