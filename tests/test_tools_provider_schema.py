"""The generator of the provider's facts, run on small bindings made up here in the form of the real ones."""

import importlib
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from groundplan.facts import schema
from groundplan.facts.schema import Attribute, Block, NestedBlock, walk

TOOLS = Path(__file__).resolve().parent.parent / "tools"
sys.path.append(str(TOOLS))
bindings = importlib.import_module("provider_bindings")
behaviour = importlib.import_module("provider_behaviour")
files = importlib.import_module("provider_files")
generator = importlib.import_module("provider_schema")


# --- bindings made up in the form of the generated code ---------------------------------------------


def role(name: str, word: str) -> str:
    computed, optional = "computed" in word, "optional" in word
    required = "required" in word
    return f"    // {name} - computed: {computed}, optional: {optional}, required: {required}\n".lower()


def member(name: str, word: str, getter: str) -> str:
    """A member of a class: ``getter`` is String, List …, tolist List, or ``new …``."""
    if getter.startswith("new "):
        return role(name, word) + f"    _x = {getter};\n    get x() {{\n        return this._x;\n    }}\n"
    call = f"this.get{getter.removeprefix('tolist ')}Attribute('{name}')"
    call = f"cdktn.Fn.tolist({call})" if getter.startswith("tolist ") else call
    return role(name, word) + f"    get x() {{\n        return {call};\n    }}\n"


def entry(name: str, value: str, nesting: str, storage: str, is_block: bool = False) -> str:
    return (
        f"        {name}: {{\n            value: {value},\n            isBlock: {str(is_block).lower()},\n"
        f'            type: "{nesting}",\n            storageClassType: "{storage}",\n        }},\n'
    )


def text(name: str, word: str = "optional") -> tuple[str, str]:
    """A string attribute: its member and, if it can be set, its entry."""
    settable = word != "computed"
    return member(name, word, "String"), entry(
        name, "cdktn.stringToHclTerraform(this._x)", "simple", "string"
    ) if settable else ""


def small(name: str) -> str:
    """A structure's name as its functions have it."""
    return name[0].lower() + name[1:]


def struct(name: str, *members: tuple[str, str]) -> str:
    """A structure: the function that writes it and the class that reads it."""
    return (
        f"function {small(name)}ToHclTerraform(struct) {{\n    const attrs = {{\n"
        + "".join(e for _, e in members)
        + f"    }};\n    return attrs;\n}}\nclass {name}OutputReference extends cdktn.ComplexObject {{\n"
        + "".join(m for m, _ in members)
        + "}\n"
    )


def resource(tf_name: str, provider: str, version: str, structs: str, *members: tuple[str, str]) -> str:
    return (
        structs
        + "class Thing extends cdktn.TerraformResource {\n"
        + f"            terraformResourceType: '{tf_name}',\n            terraformGeneratorMetadata: {{\n"
        + f"                providerName: '{provider}',\n                providerVersion: '{version}',\n"
        + "".join(m for m, _ in members)
        + "    synthesizeHclAttributes() {\n        const attrs = {\n"
        + "".join(e for _, e in members)
        + "        };\n    }\n}\n//# sourceMappingURL=data:application/json;base64,eyJ2Z\n"
    )


def wheel(folder: Path, package: str, version: str, types: dict[str, str]) -> Path:
    """A wheel with an npm package inside, as pip would download it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, code in {**types, "not-wanted": "nonsense"}.items():
            file = name if "/" in name else f"{name}/index.js"
            info = tarfile.TarInfo(f"package/lib/{file}")
            info.size = len(code.encode())
            tar.addfile(info, io.BytesIO(code.encode()))
    path = folder / f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        built = zipfile.ZipInfo(f"x/_jsii/{package}.jsii.tgz", (2026, 10, 14, 9, 4, 0))
        archive.writestr(built, packed.getvalue())
    return path


def thing_structs(prefix: str) -> str:
    """Structures of a type: a block inside a block, a repeated block, and objects that are only read."""
    return (
        struct(f"{prefix}StatusInner", text("zone", "computed"))
        + struct(f"{prefix}Status", text("state", "computed"), (
            member("inner", "computed", f'new {prefix}StatusInnerList(this, "inner", true)'), ""))
        + struct(f"{prefix}NodeTaint", text("key", "required"), text("note"))
        + struct(
            f"{prefix}Node",
            text("machine"),
            (
                member("taint", "optional", f'new {prefix}NodeTaintList(this, "taint", true)'),
                entry("taint", f"cdktn.listMapperHcl({small(prefix)}NodeTaintToHclTerraform, true)(x)",
                      "set", f"{prefix}NodeTaintList", is_block=True),
            ),
        )
        + struct(f"{prefix}Timeouts", text("create"))
    )  # fmt: skip


def thing_members(prefix: str) -> list[tuple[str, str]]:
    plain = "cdktn.listMapperHcl(cdktn.stringToHclTerraform, false)(this._x)"
    return [
        text("name", "required"),
        text("id", "computed optional"),
        text("etag", "computed"),
        (member("size", "optional", "Number"),
         entry("size", "cdktn.numberToHclTerraform(this._x)", "simple", "number")),
        (member("zones", "optional", "tolist List"), entry("zones", plain, "set", "stringList")),
        (member("secret_wo", "optional", "String"),
         entry("secret_wo", "cdktn.markWriteOnlyAttribute(cdktn.stringToHclTerraform(this._x))", "simple",
               "string")),
        (member("labels", "optional", "StringMap"),
         entry("labels", "cdktn.hashMapperHcl(cdktn.stringToHclTerraform)(this._x)", "map", "stringMap")),
        (member("all_labels", "computed", 'new cdktn.StringMap(this, "all_labels")'), ""),
        (member("ports", "computed", "NumberList"), ""),
        (member("regions", "computed", "tolist List"), ""),
        (member("status", "computed", f'new {prefix}StatusList(this, "status", false)'), ""),
        (member("node", "required", f'new {prefix}NodeOutputReference(this, "node")'),
         entry("node", f"(0, index_1.{small(prefix)}NodeToHclTerraform)(this._x.internalValue)", "list",
               f"{prefix}NodeList", is_block=True)),
        (member("timeouts", "optional", f'new {prefix}TimeoutsOutputReference(this, "timeouts")'),
         entry("timeouts", f"{small(prefix)}TimeoutsToHclTerraform(this._x.internalValue)", "struct",
               f"{prefix}Timeouts", is_block=True)),
    ]  # fmt: skip


BEHAVIOUR = {
    "google_thing": {
        "service": "thing.googleapis.com",
        "id": "projects/{{project}}/things/{{name}}",
        "updates": {"": "id labels node zones", "node": "taint", "node.taint": "note"},
        "replaces": {"": "name", "node.taint": "key"},
        "attributes": {
            "size": {"integer": True, "default": 3, "range": [1, 9]},
            "secret_wo": {"force_new": True},
            "node.machine": {"enum": ["small", "large"]},
        },
    }
}
PROVIDER = {"google": "cdktn-provider-google", "google-beta": "cdktn-provider-google-beta"}


class Workshop:
    """A generator with folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = folder / "facts"
        self.behaviour = folder / "behaviour"
        self.behaviour.mkdir()
        self.write_behaviour(BEHAVIOUR)
        (self.behaviour / "types.txt").write_text("google_thing\ngoogle_other\ngoogle_gone\n")
        (self.behaviour / "sources.json").write_text('{"source": "the source, of 2026-08-21"}')

    def write_behaviour(self, entries: dict, name: str = "thing.json") -> None:
        (self.behaviour / name).write_text(json.dumps(entries))

    def wheels(self, package: str, release: str, *, google=(), beta=(), drop=(), other=False) -> list[Path]:
        """Wheels with google_thing, which has additional members and lacks some."""
        made = []
        for provider, more in (("google", google), ("google-beta", beta)):
            prefix = "Thing" if provider == "google" else "GoogleThing"
            members = [m for m in thing_members(prefix) if not any(f"// {name} -" in m[0] for name in drop)]
            code = resource("google_thing", provider, release, thing_structs(prefix), *members, *more)
            folder = "thing" if provider == "google" else "google-thing"
            types = {folder: code}
            if other:
                types[folder.replace("thing", "other")] = resource(
                    "google_other", provider, release, "", text("name", "required")
                )
            made.append(wheel(self.folder, PROVIDER[provider], package, types))
        return made

    def run(self, wheels: list[Path], *options: str):
        arguments = [word for path in wheels for word in ("--wheel", str(path))]
        arguments += ["--facts", str(self.facts), "--behaviour", str(self.behaviour), *options]
        return CliRunner().invoke(generator.main, arguments)

    def type(self, name: str = "google_thing") -> schema.ResourceType:
        return msgspec.json.decode((self.facts / f"{name}.json").read_bytes(), type=schema.ResourceType)


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


# --- shapes -------------------------------------------------------------------------------------------


def test_shapes_are_read_from_the_wheel(workshop):
    google, beta = (
        bindings.read_wheel(path, ["google_thing"]) for path in workshop.wheels("21.1.0", "8.7.0")
    )
    status = {"inner": ["set", ["object", {"zone": "string"}]], "state": "string"}
    taint = Block(
        {"key": Attribute(type="string", required=True), "note": Attribute(type="string", optional=True)}
    )
    expected = Block(
        {
            "all_labels": Attribute(type=["map", "string"], computed=True),
            "etag": Attribute(type="string", computed=True),
            "id": Attribute(type="string", optional=True, computed=True),
            "labels": Attribute(type=["map", "string"], optional=True),
            "name": Attribute(type="string", required=True),
            "ports": Attribute(type=["list", "number"], computed=True),
            "regions": Attribute(type=["set", "string"], computed=True),
            "secret_wo": Attribute(type="string", optional=True, write_only=True),
            "size": Attribute(type="number", optional=True),
            "status": Attribute(type=["list", ["object", status]], computed=True),
            "zones": Attribute(type=["set", "string"], optional=True),
        },
        {
            "node": NestedBlock(
                nesting="list",
                min_items=1,
                max_items=1,
                block=Block(
                    {"machine": Attribute(type="string", optional=True)},
                    {"taint": NestedBlock(nesting="set", block=taint)},
                ),
            ),
            "timeouts": NestedBlock(
                nesting="single", block=Block({"create": Attribute(type="string", optional=True)})
            ),
        },
    )
    assert google.types == {"google_thing": expected}
    assert beta.types == google.types
    assert (google.provider, google.provider_version, google.version) == ("google", "8.7.0", "21.1.0")
    assert google.date == "2026-10-14"


def test_a_large_type_is_split_over_files(workshop):
    whole = resource("google_thing", "google", "8.7.0", thing_structs("Thing"), *thing_members("Thing"))
    structs, main = whole.split("class Thing extends")
    main = "class Thing extends" + main
    half = len(structs.split("class ThingNodeTaint")[0])
    parts = {
        "thing/index.js": main,
        "thing/index-structs/structs0.js": structs[:half],
        "thing/index-structs/structs400.js": structs[half:],
    }
    read = [
        bindings.read_wheel(wheel(workshop.folder, PROVIDER["google"], version, types), ["google_thing"])
        for version, types in (("1.0", {"thing": whole}), ("1.1", parts))
    ]
    assert read[0].types == read[1].types


def test_the_provider_s_configuration_has_its_roles_in_the_declarations(workshop):
    code = resource(
        "google",
        "google",
        "8.7.0",
        "function batchToHclTerraform(struct) {\n"
        + entry("send_after", "cdktn.stringToHclTerraform(struct.x)", "simple", "string")
        + entry("mode", "cdktn.stringToHclTerraform(struct.x)", "simple", "string")
        + "}\n",
        text("project"),
        text("alias"),
        (role("batch", "optional") + "    _batch;\n",
         entry("batch", "cdktn.listMapperHcl(batchToHclTerraform, true)(this._x)", "list", "BatchList",
               is_block=True)),
    )  # fmt: skip
    declarations = (
        "export interface Batch {\n"
        "    /** Docs {@link https://x#mode P#mode} */\n    readonly mode: string;\n"
        "    /** Docs {@link https://x#send_after P#send_after} */\n    readonly sendAfter?: string;\n}\n"
    )
    types = {"provider/index.js": code, "provider/index.d.ts": declarations}
    read = bindings.read_wheel(wheel(workshop.folder, PROVIDER["google"], "21.1.0", types), [])
    inner = Block(
        {
            "mode": Attribute(type="string", required=True),
            "send_after": Attribute(type="string", optional=True),
        }
    )
    assert read.types["provider"] == Block(
        {"project": Attribute(type="string", optional=True)},
        {"batch": NestedBlock(nesting="list", block=inner)},
    )


@pytest.mark.parametrize(
    ("found", "is_set", "expected"),
    [
        ("string", False, "string"),
        ("Boolean", False, "bool"),
        ("List", False, ["list", "string"]),
        ("numberList", True, ["set", "number"]),
        ("stringMapList", False, ["list", ["map", "string"]]),
        ("stringListList", True, ["set", ["list", "string"]]),
        ("anyMap", False, ["map", "dynamic"]),
        ("ThingNodeList", False, None),
        ("", False, None),
    ],
)
def test_plain_types(found, is_set, expected):
    assert bindings._plain(found, is_set) == expected


def test_code_of_another_generator_is_refused_by_name(workshop):
    old = resource("google_thing", "google", "8.7.0", "", text("name", "required"))
    for broken, message in (
        (old.replace("// name -", "// renamed -"), "thing: no role is given for name"),
        (old.replace("synthesizeHclAttributes", "synthesize"), "thing: the function that lists"),
    ):
        path = wheel(workshop.folder, PROVIDER["google"], "21.1.0", {"thing": broken})
        with pytest.raises(bindings.BindingsError, match=message):
            bindings.read_wheel(path, ["google_thing"])


def test_a_wheel_without_the_package_or_the_types_is_refused(workshop):
    path = workshop.folder / "empty-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("empty/__init__.py", "")
    with pytest.raises(bindings.BindingsError, match="one npm package"):
        bindings.read_wheel(path, ["google_thing"])
    with pytest.raises(bindings.BindingsError, match="none of the wanted"):
        bindings.read_wheel(workshop.wheels("21.1.0", "8.7.0")[0], ["google_nothing"])


# --- behaviour ----------------------------------------------------------------------------------------


def test_shapes_and_behaviour_become_one(workshop):
    assert workshop.run(workshop.wheels("21.1.0", "8.7.0")).exit_code == 0
    thing = workshop.type()
    assert thing.id == "projects/{{project}}/things/{{name}}"
    assert thing.provider_version == "8.7.0"
    facts = dict(walk(thing.block))
    assert facts["size"] == Attribute(type="number", optional=True, integer=True, default=3, range=(1.0, 9.0))
    assert facts["name"].force_new is True
    assert facts["labels"].force_new is False
    assert facts["node.taint.key"].force_new is True
    assert facts["node.machine"].enum == ("small", "large")
    assert facts["etag"].force_new is False, "what is only read has nothing to replace"
    assert facts["timeouts.create"].force_new is False
    assert not [path for path, member in facts.items() if member.force_new is None]


def test_what_has_no_entry_is_not_known_and_says_so(workshop):
    wheels = workshop.wheels("21.1.0", "8.7.0", google=[text("fresh")], beta=[text("fresh")], other=True)
    result = workshop.run(wheels)
    fresh = workshop.type().block.attributes["fresh"]
    assert (fresh.force_new, fresh.source) == (None, "bindings")
    assert workshop.type("google_other").block.attributes["name"].force_new is None
    assert "- google_thing (1): fresh\n" in result.output
    assert "- google_other (1): name\n" in result.output


def test_members_and_types_only_in_google_beta_are_marked(workshop):
    google, beta = workshop.wheels("21.1.0", "8.7.0", beta=[text("preview")])
    code = resource("google_other", "google-beta", "8.7.0", "", text("name", "required"))
    members = thing_members("GoogleThing")
    thing = resource(
        "google_thing", "google-beta", "8.7.0", thing_structs("GoogleThing"), *members, text("preview")
    )
    beta = wheel(
        workshop.folder, PROVIDER["google-beta"], "21.1.0", {"google-other": code, "google-thing": thing}
    )
    assert workshop.run([google, beta]).exit_code == 0
    assert workshop.type().block.attributes["preview"].provider == "google-beta"
    assert workshop.type().block.attributes["name"].provider == "google"
    assert workshop.type("google_other").provider == "google-beta"
    assert workshop.type("google_other").block.attributes["name"].provider == "google"
    index = json.loads((workshop.facts / "index.json").read_text())
    assert (index["google"], index["google_beta"]) == (["google_thing"], ["google_other"])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"google_thing": {"attributes": {"size": {"forcenew": True}}}},
            "size: forcenew cannot be said here",
        ),
        ({"google_thing": {"attributes": {"size": {"type": "bool"}}}}, "size: type cannot be said here"),
        ({"google_thing": {"attributes": {"size": {"range": "wide"}}}}, "size: Expected"),
        ({"google_thing": {"colour": "red"}}, "google_thing: colour cannot be said here"),
        ({"google_thing": {"updates": {"": "size"}, "replaces": {"": "size"}}}, "size stands in two places"),
    ],
)
def test_behaviour_that_no_schema_can_take_is_refused(workshop, entries, message):
    workshop.write_behaviour(entries)
    result = workshop.run(workshop.wheels("21.1.0", "8.7.0"))
    assert result.exit_code == 1
    assert message in result.output
    assert not workshop.facts.exists(), "nothing is half written"


def test_a_type_in_two_behaviour_files_is_refused(workshop):
    workshop.write_behaviour(BEHAVIOUR, "again.json")
    result = workshop.run(workshop.wheels("21.1.0", "8.7.0"))
    assert result.exit_code == 1
    assert "google_thing stands in another file too" in result.output


# --- a new release --------------------------------------------------------------------------------------


def test_the_report_says_what_a_new_release_changed(workshop):
    workshop.run(workshop.wheels("21.1.0", "8.7.0"))
    more = [text("fresh"), text("size", "required")]
    wheels = workshop.wheels("22.0.0", "9.0.0", google=more, beta=more, drop=["zones", "size"], other=True)
    report = workshop.folder / "report.md"
    result = workshop.run(wheels, "--report", str(report))
    assert (result.exit_code, result.output) == (0, "")
    assert (
        report.read_text()
        == """# Provider schema: 8.7.0 -> 9.0.0

## Types added: 1

- google_other

## Wanted, but in neither provider: 1

- google_gone

## Attributes and blocks added: 1

- google_thing fresh: string, optional

## Attributes and blocks removed: 1

- google_thing zones: set(string), optional

## Changed: 3

- google_thing size: type "number" -> "string"
- google_thing size: required false -> true
- google_thing size: optional true -> false

## Behaviour without an attribute (remove it from tools/behaviour): 1

- google_thing zones

## Behaviour not known (read the provider's source, add it to tools/behaviour): 2

- google_other (1): name
- google_thing (1): fresh
"""
    )
    index = json.loads((workshop.facts / "index.json").read_text())
    assert (index["provider_version"], index["bindings_version"]) == ("9.0.0", "22.0.0")
    assert "22.0.0, of 2026-10-14: provider 9.0.0" in index["sources"]["bindings"]


def test_a_type_that_is_gone_loses_its_file_and_its_behaviour_is_reported(workshop):
    workshop.run(workshop.wheels("21.1.0", "8.7.0", other=True))
    assert (workshop.facts / "google_other.json").exists()
    workshop.write_behaviour({"google_other": {"replaces": {"": "name"}}}, "other.json")
    result = workshop.run(workshop.wheels("21.1.0", "8.7.0"))
    assert not (workshop.facts / "google_other.json").exists()
    assert "## Types removed: 1\n\n- google_other\n" in result.output
    assert "- google_other: no such type\n" in result.output


def test_disagreement_of_the_two_providers_is_reported_and_google_counts(workshop):
    wheels = workshop.wheels("21.1.0", "8.7.0", google=[text("kind", "required")], beta=[text("kind")])
    result = workshop.run(wheels)
    assert "- google_thing kind: required true -> false (google -> google-beta)\n" in result.output
    assert workshop.type().block.attributes["kind"].required


def test_check_writes_nothing_and_tells_by_its_exit_code(workshop):
    wheels = workshop.wheels("21.1.0", "8.7.0")
    assert workshop.run(wheels, "--check").exit_code == 1
    assert not workshop.facts.exists()
    workshop.run(wheels)
    before = files.read_texts(workshop.facts)
    assert workshop.run(wheels, "--check").exit_code == 0
    (workshop.facts / "google_thing.json").write_text(before["google_thing.json"].replace("true", "false", 1))
    assert workshop.run(wheels, "--check").exit_code == 1
    workshop.run(wheels)
    assert files.read_texts(workshop.facts) == before


def test_the_date_moves_only_with_the_facts(workshop):
    wheels = workshop.wheels("21.1.0", "8.7.0")
    for today, expected in (("2026-11-01", "2026-11-01"), ("2026-12-01", "2026-11-01")):
        made = generator.generate(wheels, workshop.facts, workshop.behaviour, today)
        files.write_texts(made.texts, workshop.facts)
        assert json.loads(made.texts["index.json"])["checked"] == expected
    workshop.write_behaviour({})
    made = generator.generate(wheels, workshop.facts, workshop.behaviour, "2026-12-02")
    assert json.loads(made.texts["index.json"])["checked"] == "2026-12-02"


def test_wheels_of_two_releases_or_of_one_provider_are_refused(workshop):
    google = workshop.wheels("21.1.0", "8.7.0")[0]
    beta = workshop.wheels("21.2.0", "8.8.0")[1]
    for wheels in ([google, beta], [google]):
        result = workshop.run(wheels)
        assert result.exit_code == 1
        assert "needed: one release of google and google-beta; given: google 8.7.0" in result.output


def test_wheels_in_the_cache_are_not_downloaded_again(workshop):
    wheels = workshop.wheels("21.1.0", "8.7.0")
    assert generator.download("21.1.0", workshop.folder) == wheels


# --- the checked-in files ---------------------------------------------------------------------------------


def shape(block: Block, provider: str) -> Block:
    """What the bindings of ``provider`` know of a checked-in block."""
    return Block(
        {
            name: Attribute(type=a.type, required=a.required, optional=a.optional, computed=a.computed,
                            write_only=a.write_only)
            for name, a in block.attributes.items()
            if provider == "google-beta" or a.provider == "google"
        },
        {
            name: NestedBlock(nesting=b.nesting, min_items=b.min_items, max_items=b.max_items,
                              block=shape(b.block, provider))
            for name, b in block.blocks.items()
            if provider == "google-beta" or b.provider == "google"
        },
    )  # fmt: skip


def checked_in() -> dict[str, schema.ResourceType]:
    return files.read_types(schema.DATA)


def test_checked_in_facts_are_their_shapes_and_the_checked_in_behaviour():
    known = behaviour.read_behaviour(TOOLS / "behaviour")
    for name, found in checked_in().items():
        providers = ("google", "google-beta") if found.provider == "google" else ("google-beta",)
        shapes = {provider: shape(found.block, provider) for provider in providers}
        made = behaviour.join(name, found.provider_version, shapes, known.get(name, behaviour.NOTHING))
        assert made == found, f"{name}: run tools/provider_schema.py"


def test_checked_in_files_have_the_generator_s_layout():
    texts = files.read_texts(schema.DATA)
    texts.pop("index.json")
    assert {files.file_name(name): files.type_text(found) for name, found in checked_in().items()} == texts


def test_behaviour_and_wanted_types_match_the_checked_in_facts():
    found = checked_in()
    known = behaviour.read_behaviour(TOOLS / "behaviour")
    stale = [
        f"{name} {path}"
        for name, facts in known.items()
        for path in facts.entries.keys() - dict(walk(found[name].block)).keys()
    ]
    assert not stale
    wanted = (TOOLS / "behaviour" / "types.txt").read_text().split()
    assert wanted == sorted(set(wanted), key=lambda name: (name.startswith("data."), name))
    assert {*wanted, "provider"} == found.keys()
