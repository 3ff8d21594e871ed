"""The stand-in's parts without Terraform: values, checks, planning, replacement, ids, files."""

import json
import threading

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundplan.engines.terraform.offline import codec, planning, sameness, semantics
from groundplan.engines.terraform.offline.check import _attribute, problems
from groundplan.engines.terraform.offline.cloud import Cloud, CloudObject, Refused
from groundplan.engines.terraform.offline.codec import UNKNOWN
from groundplan.engines.terraform.offline.faults import Fault, Faults
from groundplan.engines.terraform.offline.provider import Provider
from groundplan.engines.terraform.offline.replacement import replacing_paths
from groundplan.engines.terraform.offline.templates import fill, import_readings
from groundplan.engines.terraform.offline.values import Maker, project_number
from groundplan.engines.terraform.offline.wire import pb
from groundplan.facts.schema import Attribute, Block, NestedBlock, ResourceType, resource_type, type_names

OPTIONAL = {"type": "string", "optional": True}
MADE = {"type": "string", "optional": True, "computed": True}


def kind(blocks=None, *, type_name="google_thing", facts=None, **attributes):
    fields = {name: Attribute(**spec) for name, spec in attributes.items()}
    block = Block(fields, blocks or {})
    return ResourceType(type=type_name, provider_version="8.7.0", block=block, **(facts or {}))


def nested(nesting="list", facts=None, blocks=None, **attributes):
    block = Block({name: Attribute(**spec) for name, spec in attributes.items()}, blocks or {})
    return NestedBlock(nesting=nesting, block=block, **(facts or {}))


def plan(of, config, prior=None, **settings):
    whole = codec.conform(of.block, config)
    before = codec.conform(of.block, prior)
    planned = planning.plan(of, whole, before, settings)
    paths = list(replacing_paths(of, before, planned, whole)) if before else []
    return planned, paths


class TestCodec:
    @settings(max_examples=30, deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.just(UNKNOWN),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        )
    )
    def test_round_trip(self, value):
        assert codec.decode(codec.encode(value)) == value

    def test_decimals_arrive_exactly(self):
        block = kind(share={"type": "number", "optional": True}).block
        assert msgpack.unpackb(codec.encode({"share": 0.1})) == {"share": "0.1"}
        assert codec.conform(block, {"share": "0.1"}) == {"share": 0.1}
        assert codec.conform(block, {"share": "3"}) == {"share": 3}

    def test_any_extension_is_unknown(self):
        assert codec.decode(msgpack.packb({"a": msgpack.ExtType(12, b"\x81\x01\xc2")})) == {"a": UNKNOWN}

    def test_unknown_is_neither_true_nor_false(self):
        with pytest.raises(TypeError):
            bool(UNKNOWN)

    def test_conform(self):
        of = kind({"disk": nested(size={"type": "number", "optional": True})}, name=OPTIONAL)
        assert codec.conform(of.block, {"disk": [{"size": "10"}], "gone": 1}) == {
            "name": None,
            "disk": [{"size": 10}],
        }
        assert codec.conform(of.block, {}) == {"name": None, "disk": []}
        assert codec.conform(of.block, None) is None


class TestCheck:
    def texts(self, spec, value):
        return [problem.text for problem in problems(kind(x=OPTIONAL | spec), {"x": value})]

    @pytest.mark.parametrize(
        ("spec", "good", "bad"),
        [
            ({"enum": ("A", "B")}, "A", "a"),
            ({"enum": ("A", "B"), "enum_ignore_case": True}, "a", "c"),
            ({"enum": ("A",), "or_empty": True}, "", "c"),
            ({"regex": ("^[a-z]+$",)}, "abc", "Abc"),
            ({"not_regex": ("goog",)}, "abc", "googly"),
            ({"length": (2, 3)}, "abc", "a"),
            ({"format": "cidr"}, "10.0.0.1/8", "10.0.0.1/40"),
            ({"format": "ip"}, "10.0.0.1", "10.0.0"),
            ({"format": "json"}, "{}", "{"),
            ({"format": "base64"}, "YWJj", "?"),
            ({"format": "hh:mm"}, "23:59", "24:00"),
            ({"format": "go_duration"}, "1h30m", "1 hour"),
            ({"type": "number", "range": (1, None)}, 1, 0),
            ({"type": "number", "range": (None, 5)}, 5, 6),
            ({"type": "number", "integer": True}, 2, 2.5),
            ({"type": ["list", "string"], "max_items": 1}, ["a"], ["a", "b"]),
            ({"type": ["list", "string"], "element_enum": ("A",)}, ["A"], ["b"]),
            ({"type": ["list", "string"], "element_format": "cidr"}, ["10.0.0.0/8"], ["x"]),
        ],
    )
    def test_values(self, spec, good, bad):
        assert self.texts(spec, good) == []
        assert self.texts(spec, UNKNOWN) == []
        assert len(self.texts(spec, bad)) == 1

    def test_path_and_deprecation(self):
        of = kind({"pool": nested(mode=OPTIONAL | {"enum": ("A",)})}, old=OPTIONAL | {"deprecated": True})
        found = list(problems(of, {"old": "x", "pool": [{"mode": "A"}, {"mode": "B"}]}))
        assert [(p.path, p.warning) for p in found] == [(("old",), True), (("pool", 1, "mode"), False)]

    def groups(self, config):
        of = kind(
            {"c": nested(d=OPTIONAL | {"exactly_one_of": ("c.d", "c.e")}, e=OPTIONAL)},
            a=OPTIONAL | {"conflicts_with": ("b",)},
            b=OPTIONAL | {"required_with": ("f",)},
            f=OPTIONAL,
        )
        return [problem.text for problem in problems(of, codec.conform(of.block, config))]

    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ({"a": "1"}, ()),
            ({"a": "1", "b": "1", "f": "1"}, ("a conflicts with b",)),
            ({"a": UNKNOWN, "b": "1", "f": UNKNOWN}, ()),
            ({"b": "1"}, ("b needs f to be set too",)),
            ({"c": [{}]}, ("exactly one of c.d, c.e must be set",)),
            ({"c": [{"d": UNKNOWN}]}, ()),
            ({"c": [{"d": "1", "e": "1"}]}, ("only one of c.d, c.e may be set",)),
        ],
    )
    def test_groups(self, config, words):
        assert self.groups(config) == list(words)

    def test_a_group_speaks_once_and_points_into_the_block(self):
        one = {"exactly_one_of": ("c.d", "c.e")}
        of = kind({"c": nested(d=OPTIONAL | one, e=OPTIONAL | one)})
        (found,) = problems(of, {"c": [{"d": None, "e": None}]})
        assert found.path == ("c", 0, "d")


class TestPlanning:
    def test_defaults_and_what_the_cloud_chooses(self):
        of = kind(
            mode=OPTIONAL | {"default": "AUTO"},
            uid={"type": "string", "computed": True},
            size=MADE,
            note=OPTIONAL,
        )
        planned, _ = plan(of, {})
        assert planned == {"mode": "AUTO", "uid": UNKNOWN, "size": UNKNOWN, "note": None}
        prior = {"mode": "AUTO", "uid": "u1", "size": "10", "note": ""}
        planned, paths = plan(of, {}, prior)
        assert (planned, paths) == (prior, [])  # "" and not set are the same to the SDK
        assert plan(of, {}, prior | {"note": "by hand"})[0]["note"] is None
        assert plan(of, {"size": "20"}, prior)[0]["size"] == "20"

    def test_false_is_a_default_too(self):
        of = kind(on={"type": "bool", "optional": True, "default": False})
        assert plan(of, {})[0] == {"on": False}

    def test_provider_settings(self):
        of = kind(
            project=MADE,
            region=MADE,
            deletion_policy=MADE,
            facts={
                "plan_defaults": {
                    "project": "{{provider.project}}",
                    "region": "{{provider.region}}",
                    "deletion_policy": "DELETE",
                }
            },
        )
        assert plan(of, {}, project="ml")[0] == {
            "project": "ml",
            "region": UNKNOWN,
            "deletion_policy": "DELETE",
        }
        assert plan(of, {}, deletion_policy="ABANDON")[0]["deletion_policy"] == "ABANDON"
        assert plan(of, {"project": "own"}, project="ml")[0]["project"] == "own"

    def test_provider_settings_may_be_unknown(self):
        topic = resource_type("google_pubsub_topic")
        planned, _ = plan(topic, {"name": "t"}, project=UNKNOWN, default_labels=UNKNOWN)
        assert planned["project"] is UNKNOWN and planned["effective_labels"] is UNKNOWN

    def test_write_only_is_never_planned(self):
        assert plan(kind(secret=OPTIONAL | {"write_only": True}), {"secret": "s"})[0] == {"secret": None}

    def test_empty_computed_block_keeps_what_is_there(self):
        of = kind({"upgrade": nested(facts={"computed": True}, surge={"type": "number", "optional": True})})
        assert plan(of, {})[0] == {"upgrade": UNKNOWN}
        assert plan(of, {"upgrade": []}, {"upgrade": [{"surge": 1}]})[0] == {"upgrade": [{"surge": 1}]}

    def test_set_members_find_their_prior_selves(self):
        of = kind({"rule": nested("set", port={"type": "number", "optional": True}, note=OPTIONAL, uid=MADE)})
        prior = {"rule": [{"port": 80, "note": "a", "uid": "1"}, {"port": 80, "note": None, "uid": "2"}]}
        planned, _ = plan(of, {"rule": [{"port": 80}, {"port": 80, "note": "a"}]}, prior)
        assert planned["rule"] == [prior["rule"][1], prior["rule"][0]]
        planned, _ = plan(of, {"rule": [{"port": 443}]}, prior)
        assert planned["rule"][0]["uid"] is UNKNOWN

    def test_reordered_set_is_no_change(self):
        of = kind(zones={"type": ["set", "string"], "optional": True, "force_new": True})
        assert plan(of, {"zones": ["b", "a"]}, {"zones": ["a", "b"]}) == ({"zones": ["a", "b"]}, [])

    @pytest.mark.parametrize(
        ("rule", "old", "new"),
        [
            ("self_link_or_name", "https://www.googleapis.com/compute/v1/projects/p/global/networks/n", "n"),
            ("self_link_or_name", "https://www.googleapis.com/compute/v1/projects/p/x/n", "projects/p/x/n"),
            ("case", "US", "us"),
            ("cidr_or_size", "10.0.0.0/20", "/20"),
            ("project_number", "projects/123/x", "projects/ml/x"),
            ("duration", "3600s", "1h"),
            ("base64", "YQ==", "YQ=="),
            ("kms_key_version", "projects/p/k/cryptoKeyVersions/3", "projects/p/k"),
            ("empty_or_default:STANDARD", None, "STANDARD"),
            ("empty_or_false", None, False),
        ],
    )
    def test_differences_that_do_not_count(self, rule, old, new):
        spec = {"type": "bool" if new is False else "string", "optional": True, "diff_suppress": rule}
        assert sameness.suppressed(Attribute(**spec), old, new)
        assert not sameness.suppressed(Attribute(**spec), old, "something/else")
        assert not sameness.suppressed(Attribute(**OPTIONAL), old, new)

    def test_service_account_is_known_at_plan(self):
        account = resource_type("google_service_account")
        planned, _ = plan(account, {"account_id": "trainer"}, project="ml")
        assert planned["member"] == "serviceAccount:trainer@ml.iam.gserviceaccount.com"
        assert plan(account, {"account_id": UNKNOWN}, project="ml")[0]["email"] is UNKNOWN


class TestReplacement:
    def test_an_unknown_value_may_be_another_one(self):
        of = kind(network=OPTIONAL | {"force_new": True})
        assert plan(of, {"network": UNKNOWN}, {"network": "n"})[1] == [("network",)]

    def test_unset_and_zero_are_the_same(self):
        of = kind(on={"type": "bool", "optional": True, "force_new": True})
        assert plan(of, {"on": False}, {"on": None})[1] == []
        assert plan(of, {"on": True}, {"on": None})[1] == [("on",)]

    def test_not_known_counts_as_update(self):
        assert plan(kind(x=OPTIONAL | {"force_new": None}), {"x": "b"}, {"x": "a"})[1] == []

    def test_list_elements(self):
        of = kind(
            {
                "gpu": nested(
                    type=OPTIONAL | {"force_new": True}, count=OPTIONAL, uid=MADE | {"force_new": True}
                )
            }
        )
        prior = {"gpu": [{"type": "l4", "count": "1", "uid": "u"}]}
        assert plan(of, {"gpu": [{"type": "l4", "count": "2"}]}, prior)[1] == []
        assert plan(of, {"gpu": [{"type": "h100", "count": "1"}]}, prior)[1] == [("gpu", 0, "type")]
        assert plan(of, {"gpu": []}, prior)[1] == [("gpu",)]
        # A new element in which only the cloud's own choice could force a replacement does not.
        assert plan(of, {"gpu": [{"type": "l4"}, {"count": "1"}]}, prior)[1] == []
        assert plan(of, {"gpu": [{"type": "l4"}, {"type": "l4"}]}, prior)[1] == [("gpu",)]

    def test_set_members(self):
        of = kind({"rule": nested("set", port=OPTIONAL | {"force_new": True}, note=OPTIONAL)})
        prior = {"rule": [{"port": "80", "note": "a"}]}
        assert plan(of, {"rule": [{"port": "80", "note": "a"}]}, prior)[1] == []
        assert plan(of, {"rule": [{"port": "443"}]}, prior)[1] == [("rule",)]

    @pytest.mark.parametrize(("old", "new", "forced"), [(10, 20, False), (20, 10, True), (True, False, True)])
    def test_shrinking(self, old, new, forced):
        of = kind(size={"type": "number", "optional": True}, facts={"force_new_if_shrinks": ("size",)})
        planned, before = {"size": new}, {"size": old}
        assert list(replacing_paths(of, before, planned, planned)) == ([("size",)] if forced else [])

    @pytest.mark.parametrize(("new", "forced"), [("10.0.0.0/20", False), ("10.0.0.0/28", True)])
    def test_a_range_may_only_grow(self, new, forced):
        of = kind(ip=OPTIONAL, facts={"force_new_if_shrinks": ("ip",)})
        assert bool(plan(of, {"ip": new}, {"ip": "10.0.0.0/24"})[1]) is forced


class TestValues:
    def test_project_number(self):
        assert project_number("ml") == project_number("ml") != project_number("ml2")
        assert project_number("ml").isdigit() and len(project_number("ml")) == 12

    def test_templates(self):
        known = {"project": "p", "cluster": "projects/p/locations/l/clusters/c", "service": "a/b"}
        assert fill("projects/{{project}}/clusters/{{cluster}}/x", known.get) == "projects/p/clusters/c/x"
        assert fill("{{cluster}}/{{urlencode(service)}}", known.get) == f"{known['cluster']}/a%2Fb"

    def test_import_forms(self):
        bucket = resource_type("google_storage_bucket")
        assert next(import_readings(bucket, "ml-data"))["name"] == "ml-data"
        member = resource_type("google_project_iam_member")
        (parts,) = import_readings(member, "ml roles/viewer user:a@b.c office hours")
        assert parts == {
            "project": "ml",
            "role": "roles/viewer",
            "member": "user:a@b.c",
            "condition_title": "office hours",
        }

    def test_a_place_that_nobody_names_is_refused(self):
        with pytest.raises(Refused, match="project: required field is not set"):
            Maker(resource_type("google_compute_network"), {"name": "n", "project": UNKNOWN}, {})
        with pytest.raises(Refused, match="Cannot determine region"):
            Maker(resource_type("google_compute_subnetwork"), {"name": "n", "project": "p"}, {})

    def test_server_made_names(self):
        policy = Maker(resource_type("google_access_context_manager_access_policy"), {"title": "ml"}, {})
        assert policy.served and policy.id.isdigit()
        version = {"secret": "projects/p/secrets/s", "name": UNKNOWN}
        ids = [
            Maker(resource_type("google_secret_manager_secret_version"), version, {}, attempt=i).id
            for i in (0, 1)
        ]
        assert ids == ["projects/p/secrets/s/versions/1", "projects/p/secrets/s/versions/2"]

    def test_a_node_pool_is_where_its_cluster_is(self):
        pool = {"name": "p", "cluster": "projects/ml/locations/europe-west4/clusters/c", "project": "ml"}
        maker = Maker(resource_type("google_container_node_pool"), pool, {"zone": "us-central1-a"})
        assert maker.id == "projects/ml/locations/europe-west4/clusters/c/nodePools/p"

    def test_region_follows_the_zone(self):
        subnetwork = {"name": "n", "project": "p"}
        maker = Maker(resource_type("google_compute_subnetwork"), subnetwork, {"zone": "europe-west4-b"})
        assert maker.id == "projects/p/regions/europe-west4/subnetworks/n"

    def test_every_type_has_values_that_fit(self):
        for name in type_names("google-beta"):
            of = resource_type(name, "google-beta")
            written = {n: "n" for n, a in of.block.attributes.items() if a.required and a.type == "string"}
            planned = planning.plan(of, codec.conform(of.block, written), None, {})
            settings = {"project": "p", "region": "us-central1", "zone": "us-central1-a"}
            maker = Maker(of, planned, settings)
            state = maker.complete()
            assert maker.id and "None" not in maker.id, name
            assert not codec.has_unknown(state), name
            wrong = {
                field: (state[field], texts)
                for field, attribute in of.block.attributes.items()
                if attribute.computed and state[field]  # empty stands for not set
                if (texts := list(_attribute(attribute, state[field])))
            }
            assert wrong == {}, name


class TestCloud:
    def item(self, id_="projects/p/topics/t", **attributes):
        return CloudObject("google_pubsub_topic", id_, id_, {"project": "p", **attributes})

    def test_life_of_an_object(self, tmp_path):
        cloud = Cloud(tmp_path)
        assert cloud.get("google_pubsub_topic", "projects/p/topics/t") is None
        assert cloud.add(self.item(labels={"a": "1"}))
        assert not cloud.add(self.item())
        cloud.put(self.item(labels={"a": "2"}))
        assert [item.attributes["labels"] for item in cloud.all()] == [{"a": "2"}]
        assert cloud.types() == {"google_pubsub_topic"}
        cloud.remove(self.item())
        cloud.remove(self.item())
        assert list(cloud.all()) == []
        assert list(tmp_path.rglob("*.tmp")) == []

    def test_only_one_of_many_wins(self, tmp_path):
        cloud, won = Cloud(tmp_path), []
        threads = [threading.Thread(target=lambda: won.append(cloud.add(self.item()))) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False] * 15 + [True]

    def test_long_ids_fit_into_file_names(self, tmp_path):
        cloud = Cloud(tmp_path)
        ids = ["projects/p/" + "x" * 300 + str(i) for i in range(2)]
        assert all(cloud.add(self.item(id_)) for id_ in ids)
        assert sorted(item.id for item in cloud.all()) == ids

    def test_a_broken_file_is_named(self, tmp_path):
        cloud = Cloud(tmp_path)
        cloud.add(self.item())
        (path,) = tmp_path.glob("*/*.json")
        path.write_text("{")
        with pytest.raises(Refused, match=path.name):
            cloud.get("google_pubsub_topic", "projects/p/topics/t")

    @pytest.mark.parametrize(
        ("type_name", "id_", "attributes", "key"),
        [
            ("google_storage_bucket", "data", {"project": "p"}, "data"),
            ("google_logging_metric", "errors", {"project": "p"}, "p:errors"),
            ("google_pubsub_topic", "projects/p/topics/t", {"project": "p"}, "projects/p/topics/t"),
        ],
    )
    def test_names_are_unique_where_googles_are(self, type_name, id_, attributes, key):
        assert semantics.storage_key(resource_type(type_name), id_, attributes) == key


class TestProvider:
    def provider(self, tmp_path):
        return Provider("google", Cloud(tmp_path), Faults([]))

    def request(self, name, config):
        block = resource_type(name).block
        value = pb.DynamicValue(msgpack=codec.encode(codec.conform(block, config)))
        null = pb.DynamicValue(msgpack=codec.encode(None))
        return pb.PlanRequest(type_name=name, config=value, proposed_new_state=value, prior_state=null)

    def test_settings_belong_to_a_connection(self, tmp_path):
        provider = self.provider(tmp_path)
        for peer, project in (("ipv4:127.0.0.1:1", "a"), ("ipv4:127.0.0.1:2", "b")):
            config = pb.DynamicValue(msgpack=codec.encode({"project": project}))
            provider.configure(pb.ConfigureRequest(config=config), peer)
        request = self.request("google_compute_network", {"name": "n"})
        for peer, project in (("ipv4:127.0.0.1:1", "a"), ("ipv4:127.0.0.1:2", "b")):
            planned = codec.decode(provider.plan(request, peer).planned_state.msgpack)
            assert planned["project"] == project
        with pytest.raises(Refused, match="does not know this connection"):
            provider.plan(request, "ipv4:127.0.0.1:3")

    def test_google_lacks_what_only_beta_has(self, tmp_path):
        google = {item.type_name for item in self.provider(tmp_path).metadata(None, "").resources}
        beta = Provider("google-beta", Cloud(tmp_path), Faults([])).metadata(None, "").resources
        assert google < {item.type_name for item in beta}


class TestFaults:
    def test_after_and_times(self):
        faults = Faults([Fault(type="a", action="create", error="Error 403", after=1, times=1)])
        faults.strike("a", "create", "x")
        faults.strike("b", "create", "x")
        with pytest.raises(Refused, match="Error 403"):
            faults.strike("a", "create", "x")
        faults.strike("a", "create", "x")

    def test_from_environment(self, monkeypatch):
        monkeypatch.setenv("GROUNDPLAN_OFFLINE_FAULTS", json.dumps([{"id": "gone", "error": "Error 500"}]))
        faults = Faults.from_environment()
        faults.strike("any", "read", "there")
        with pytest.raises(Refused):
            faults.strike("any", "read", "projects/p/gone")
