import copy
import json

import pytest
from plan_factory import change, plan_bytes, real_json

from groundplan.plans.model import read_plan
from groundplan.plans.redaction import SENSITIVE, redact

SECRET = "PLANTED-secret-value"


def redacted(*changes, **top):
    """Redact a small plan; the planted secret must be nowhere in it."""
    content = json.loads(plan_bytes(*changes, **top))
    assert SECRET in json.dumps(content)
    result = redact(content)
    assert SECRET not in json.dumps(result)
    return result


def configured(**module):
    return {"configuration": {"root_module": module}}


@pytest.mark.parametrize("name", ["secrets_first", "secrets_second", "secrets_google"])
def test_no_planted_secret_of_a_real_plan_survives(name):
    content = real_json(name)
    assert json.dumps(content).count("PLANTED") >= 5
    assert "PLANTED" not in json.dumps(redact(content))


@pytest.mark.parametrize("name", ["secrets_second", "secrets_google", "builtin_second", "changed"])
def test_redacting_twice_gives_the_same_and_the_input_stays(name):
    content = real_json(name)
    kept = copy.deepcopy(content)
    once = redact(content)
    assert content == kept
    assert redact(once) == once


def test_what_is_not_secret_stays():
    result = redact(real_json("secrets_first"))
    assert result["variables"]["plain"] == {"value": "plainvalue"}
    root = result["configuration"]["root_module"]
    assert root["variables"]["plain"] == {"default": "plainvalue"}
    expressions = {r["name"]: r["expressions"]["input"] for r in root["resources"]}
    assert expressions["pd"] == {"constant_value": "keep"}
    assert expressions["c"] == {"constant_value": "${var.obj}", "references": ["var.obj"]}
    plain = real_json("first")["resource_changes"]
    assert redact(real_json("first"))["resource_changes"] == plain


def test_a_default_of_a_variable_stands_in_clear_twice():
    content = real_json("secrets_first")
    for name, hidden in {"s": True, "e": True, "es": True, "plain": False}.items():
        result = redact(content)
        shown = (
            result["variables"][name]["value"],
            result["configuration"]["root_module"]["variables"][name]["default"],
        )
        assert (shown == (SENSITIVE, SENSITIVE)) is hidden, name


def test_marked_parts_are_replaced_and_the_rest_is_readable():
    marks = {"replication": [{"key": True}, {}], "all": True, "none": True}
    after = {
        "replication": [{"key": SECRET, "at": "us"}, {"key": "b"}],
        "all": [SECRET],
        "none": None,
        "n": 1,
    }
    result = redacted(change("google_secret_manager_secret.s", "create", None, after, after_sensitive=marks))
    assert result["resource_changes"][0]["change"]["after"] == {
        "replication": [{"key": SENSITIVE, "at": "us"}, {"key": "b"}], "all": SENSITIVE, "none": None, "n": 1,
    }  # fmt: skip
    assert read_plan(json.dumps(result).encode()).changes[0].after["all"].sensitive


def test_every_place_that_has_marks():
    hidden = change("google_redis_instance.r", "delete", {"auth_string": SECRET}, None)
    hidden["change"]["before_sensitive"] = {"auth_string": True}
    state = {
        "outputs": {"o": {"sensitive": True, "value": {"a": SECRET}}, "p": {"sensitive": False, "value": 1}},
        "root_module": {
            "resources": [
                {"address": "a.b", "values": {"k": SECRET}, "sensitive_values": {"k": True}},
                {"address": "forgotten.by_terraform_1_11"},
            ],
            "child_modules": [
                {
                    "resources": [
                        {"address": "m.a.b", "values": {"k": SECRET}, "sensitive_values": {"k": True}}
                    ]
                }
            ],
        },
    }
    output = {
        "actions": ["update"],
        "before": SECRET,
        "after": SECRET,
        "before_sensitive": True,
        "after_sensitive": True,
    }
    invocation = {"address": "action.a.b", "config_values": {"k": SECRET}, "config_sensitive": {"k": True}}
    result = redacted(
        hidden,
        resource_drift=[hidden],
        deferred_changes=[{"reason": "unknown", "resource_change": hidden}],
        output_changes={"o": output},
        planned_values=state,
        prior_state={"format_version": "1.0", "values": state},
        action_invocations=[invocation],
        deferred_action_invocations=[{"reason": "x", "action_invocation": invocation}],
    )
    assert result["planned_values"]["outputs"]["p"]["value"] == 1
    assert result["resource_changes"][0]["address"] == "google_redis_instance.r"


def test_what_is_computed_from_a_secret_is_found_without_a_mark():
    after = {"input": SECRET, "output": SECRET, "url": f"https://x/{SECRET}/y", "near": "PLANTED-other"}
    top = configured(variables={"token": {"sensitive": True}})
    result = redacted(
        change("other_thing.t", "create", None, after, after_sensitive={"input": True}),
        variables={"token": {"value": SECRET}},
        checks=[{"instances": [{"problems": [{"message": f"{SECRET} is wrong"}]}]}],
        **top,
    )
    after = result["resource_changes"][0]["change"]["after"]
    assert after == {
        "input": SENSITIVE, "output": SENSITIVE, "url": f"https://x/{SENSITIVE}/y", "near": "PLANTED-other",
    }  # fmt: skip


def test_constants_of_the_configuration_are_shown_only_if_the_plan_shows_them():
    after = {"secret": "projects/p/secrets/s", "deletion_policy": "DELETE"}
    expressions = {
        "secret": {"constant_value": "projects/p/secrets/s"},
        "secret_data_wo": {"constant_value": SECRET},
        "nested": [{"token": {"constant_value": [SECRET]}, "on": {"constant_value": True}}],
        "described": {"constant_value": f'${{sensitive("{SECRET}")}}'},
        "referring": {"constant_value": "${var.token}", "references": ["var.token"]},
    }
    resource = {"address": "google_secret_manager_secret_version.v", "expressions": expressions}
    call = {
        "expressions": {"password": {"constant_value": SECRET}},
        "module": {"variables": {"password": {"default": SECRET}}},
    }
    result = redacted(
        change("google_secret_manager_secret_version.v", "create", None, after),
        configuration={
            "provider_config": {"google": {"expressions": {"access_token": {"constant_value": SECRET}}}},
            "root_module": {"resources": [resource], "module_calls": {"m": call}},
        },
    )
    found = result["configuration"]["root_module"]["resources"][0]["expressions"]
    assert found["secret"] == {"constant_value": "projects/p/secrets/s"}
    assert found["nested"][0] == {"token": {"constant_value": [SENSITIVE]}, "on": {"constant_value": True}}
    assert found["referring"] == expressions["referring"]


def test_a_sensitive_output_or_variable_hides_even_what_is_seen_elsewhere():
    top = configured(
        variables={"short": {"sensitive": True, "default": "us"}},
        outputs={"o": {"sensitive": True, "expression": {"constant_value": "us"}}},
    )
    content = json.loads(
        plan_bytes(change("a.b", "create", None, {"k": "us"}), variables={"short": {"value": "us"}}, **top)
    )
    result = redact(content)
    root = result["configuration"]["root_module"]
    assert result["variables"]["short"]["value"] == root["variables"]["short"]["default"] == SENSITIVE
    assert root["outputs"]["o"]["expression"]["constant_value"] == SENSITIVE
    # Too short to be looked for everywhere: the resource keeps what bears no mark.
    assert result["resource_changes"][0]["change"]["after"] == {"k": "us"}
