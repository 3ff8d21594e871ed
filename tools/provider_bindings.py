"""Reads the shape of Terraform types from generated provider bindings.

The packages ``cdktn-provider-google`` and ``cdktn-provider-google-beta`` are generated from the schema that
the real provider prints. Their wheel carries an npm package whose compiled JavaScript still says everything
about names, roles, types and nesting. It is read straight from the archives; nothing is unpacked to disk.

Two places of the generated code are used, and they must agree on the generator's version:

* a comment above each member of a class, ``// name - computed: true, optional: true, required: false``,
  followed by what gives its type: a getter for plain values, ``new Child(this, "name")`` for structures;
* the entries of the ``…ToHclTerraform`` functions, for everything that can be set: block or attribute,
  list or set. A block without a list mapper may stand only once.

The bindings do not know replacement, defaults, enums, conflicts, sensitivity or limits other than one.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from groundplan.facts.schema import Attribute, Block, CtyType, NestedBlock

#: Name of the provider's own configuration block among the types.
PROVIDER_CONFIG = "provider"

SOURCE_MAP = "\n//# sourceMappingURL="
DECLARATION = re.compile(r"^(?:export )?(?=(?:class|function|interface) )", re.MULTILINE)
DECLARED = re.compile(r"(?:class|function|interface) (\w+)")
MEMBER = re.compile(r"// (\w+) - computed: (true|false), optional: (true|false), required: (true|false)\n")
GETTER = re.compile(r"(tolist\()?this\.get(\w+)Attribute\(")
CHILD = re.compile(r" = new (?:\w+\.)?(\w+?)(List|Map|OutputReference)?\(this, \"\w+\"(?:, (true|false))?\)")
ENTRY = re.compile(
    r"^ +(\w+): \{\n +value: (.+),\n +isBlock: (true|false),\n"
    r' +type: "(\w+)",\n +storageClassType: "([^"]+)",',
    re.MULTILINE,
)
ENTRIES_OF_A_TYPE = re.compile(r"^    synthesizeHclAttributes\(\) \{\n(.*?)^    \}", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"(\w+)ToHclTerraform")
#: The link in the comment has the Terraform name.
PROPERTY = re.compile(r"#(\w+) \w+#\w+\}(?:(?!readonly).)*?readonly \w+(\??):", re.DOTALL)
RELEASE = re.compile(r"providerName: '([\w-]+)',\s+providerVersion: '([\w.-]+)'")

PLAIN = {"": "string", "string": "string", "number": "number", "boolean": "bool", "any": "dynamic"}
COLLECTION = {"List": "list", "Map": "map"}
#: ``string``, ``Boolean``, ``List`` (of strings), ``numberList``, ``stringMapList`` (a list of maps) …
PLAIN_TYPE = re.compile(r"(string|number|boolean|any|)((?:List|Map)*)", re.IGNORECASE)


class BindingsError(Exception):
    """The bindings do not look as expected: another generator, or an archive without the package."""


@dataclass(frozen=True)
class Bindings:
    """The shapes of the wanted types in one release of one provider."""

    provider: str  #: ``google`` or ``google-beta``
    provider_version: str
    version: str  #: of the package
    date: str  #: day on which the package was built, YYYY-MM-DD
    types: dict[str, Block]  #: those of the wanted that it has, and PROVIDER_CONFIG


def read_wheel(wheel: Path, wanted: Iterable[str]) -> Bindings:
    """The shapes of the ``wanted`` types that the bindings in ``wheel`` have.

    Raises:
        BindingsError: the wheel carries no npm package, or its code is not understood.
    """
    folders = {folder: name for name in [*wanted, PROVIDER_CONFIG] for folder in _folders(name)}
    sources = dict(_sources(wheel, folders))
    if not sources:
        raise BindingsError(f"{wheel.name}: none of the wanted types found")
    release = RELEASE.search(next(iter(sources.values())))
    if not release:
        raise BindingsError(f"{wheel.name}: the provider's version is not where it was")
    with zipfile.ZipFile(wheel) as archive:
        year, month, day = max(info.date_time for info in archive.infolist())[:3]
    return Bindings(
        provider=release[1],
        provider_version=release[2],
        version=wheel.name.split("-")[1],
        date=f"{year}-{month:02}-{day:02}",
        types={folders[folder]: _shape(folder, source) for folder, source in sorted(sources.items())},
    )


def _shape(folder: str, source: str) -> Block:
    try:
        return _Code(source).shape()
    except BindingsError as error:
        raise BindingsError(f"{folder}: {error}") from None


def _folders(name: str) -> tuple[str, ...]:
    """Folders in which a type may stand; google leaves its prefix out, google-beta keeps it."""
    if name.startswith("data."):
        return ("data-" + name.removeprefix("data.").replace("_", "-"),)
    kebab = name.replace("_", "-")
    return (kebab, kebab.removeprefix("google-"))


def _sources(wheel: Path, folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Folder and JavaScript of each of ``folders`` that the wheel has; a large type is split over files."""
    wanted = frozenset(folders)
    texts: dict[str, list[str]] = {}
    with zipfile.ZipFile(wheel) as archive:
        packages = [name for name in archive.namelist() if name.endswith(".jsii.tgz")]
        if len(packages) != 1:
            raise BindingsError(f"{wheel.name}: expected one npm package inside, found {len(packages)}")
        with (
            archive.open(packages[0]) as packed,
            gzip.open(packed) as unpacked,
            tarfile.open(fileobj=unpacked, mode="r|") as package,
        ):
            for member in package:
                parts = member.name.split("/")
                if len(parts) < 4 or parts[2] not in wanted or not member.name.endswith(_endings(parts[2])):
                    continue
                file = package.extractfile(member)
                assert file is not None, "a file, by its name"
                text = file.read().decode()
                texts.setdefault(parts[2], []).append(text.partition(SOURCE_MAP)[0])
    for folder, found in texts.items():
        yield folder, "\n".join(found)


def _endings(folder: str) -> tuple[str, ...]:
    """The compiled code; for the provider's configuration also its declarations."""
    return (".js", ".d.ts") if folder == PROVIDER_CONFIG else (".js",)


@dataclass(frozen=True)
class _Member:
    """One member of a class: its role, and the code that gives its type."""

    computed: bool
    optional: bool
    required: bool
    code: str


@dataclass(frozen=True)
class _Entry:
    """How one settable member is written to Terraform."""

    value: str
    is_block: bool
    nesting: str  #: simple, list, set, map or struct
    storage: str

    @property
    def function(self) -> str:
        """The struct's name with a small first letter, or string, number, boolean, any."""
        found = FUNCTION.search(self.value)
        return found[1] if found else self.storage

    @property
    def repeated(self) -> bool:
        return "listMapper" in self.value or "hashMapper" in self.value


class _Code:
    """The generated code of one type."""

    def __init__(self, source: str) -> None:
        self._declared: dict[str, str] = {}
        self._main = ""
        for text in DECLARATION.split(source):
            found = DECLARED.match(text)
            if found:
                self._declared[found[1]] = text
                if "synthesizeHclAttributes() {" in text:
                    self._main = text

    def shape(self) -> Block:
        entries = ENTRIES_OF_A_TYPE.search(self._main)
        if not entries:
            raise BindingsError("the function that lists a type's attributes is not where it was")
        block = self._block(_members(self._main), entries[1])
        block.attributes.pop("alias", None)  # Terraform's own, in the provider's configuration
        return block

    def _block(self, members: dict[str, _Member], entries_text: str) -> Block:
        entries = {
            name: _Entry(value, is_block == "true", nesting, storage)
            for name, value, is_block, nesting, storage in ENTRY.findall(entries_text)
        }
        if missing := entries.keys() - members.keys():
            raise BindingsError(f"no role is given for {', '.join(sorted(missing))}")
        attributes: dict[str, Attribute] = {}
        blocks: dict[str, NestedBlock] = {}
        for name, member in members.items():
            entry = entries.get(name)
            if entry and entry.is_block:
                blocks[name] = self._nested(member, entry)
            else:
                attributes[name] = Attribute(
                    type=self._type(member, entry),
                    required=member.required,
                    optional=member.optional,
                    computed=member.computed,
                    write_only=bool(entry and "markWriteOnlyAttribute" in entry.value),
                )
        return Block(attributes, blocks)

    def _nested(self, member: _Member, entry: _Entry) -> NestedBlock:
        block = self._struct(entry.function)
        if entry.nesting == "struct":
            return NestedBlock(nesting="single", block=block)
        return NestedBlock(
            nesting="set" if entry.nesting == "set" else "list",
            computed=member.computed,
            min_items=int(member.required),
            max_items=None if entry.repeated else 1,
            block=block,
        )

    def _struct(self, name: str) -> Block:
        interface = name[0].upper() + name[1:]
        class_text = self._declared.get(interface + "OutputReference")
        entries_text = self._text(name + "ToHclTerraform")
        if class_text is None:  # in the provider's configuration, whose structures cannot be referred to
            return self._block(_members_of_interface(self._text(interface)), entries_text)
        return self._block(_members(class_text), entries_text)

    def _type(self, member: _Member, entry: _Entry | None) -> CtyType:
        """Type of an attribute: of what is written if it can be set, else of what is read."""
        if entry and (plain := _plain(entry.storage, is_set=entry.nesting == "set")):
            return plain
        if getter := GETTER.search(member.code):
            plain = _plain(getter[2], is_set=bool(getter[1]))
        elif child := CHILD.search(member.code):
            name, kind, is_set = child[1], child[2] or "", child[3] == "true"
            plain = _plain(name + kind, is_set) or self._structure(name, kind, is_set)
        else:
            plain = None
        if not plain:
            raise BindingsError(f"no type found in: {member.code.strip()[:100]}")
        return plain

    def _structure(self, name: str, kind: str, is_set: bool) -> CtyType:
        """Type of a structure in an attribute; its members are only types, without roles."""
        members = _members(self._text(name + "OutputReference"))
        of = ["object", {name: self._type(member, None) for name, member in members.items()}]
        return [_collection(kind, is_set), of] if kind in COLLECTION else of

    def _text(self, name: str) -> str:
        try:
            return self._declared[name]
        except KeyError:
            raise BindingsError(f"{name} is not in the code") from None


def _members(class_text: str) -> dict[str, _Member]:
    """Members of a class by Terraform name, in order of their names."""
    _, *found = MEMBER.split(class_text)
    members = {
        name: _Member(computed == "true", optional == "true", required == "true", code)
        for name, computed, optional, required, code in zip(*[iter(found)] * 5, strict=True)
    }
    return dict(sorted(members.items()))


def _members_of_interface(text: str) -> dict[str, _Member]:
    """The same from an interface, where a question mark says optional; nothing there is computed."""
    return {
        name: _Member(computed=False, optional=bool(optional), required=not optional, code="")
        for name, optional in sorted(PROPERTY.findall(text))
    }


def _plain(name: str, is_set: bool) -> CtyType | None:
    """``numberList`` -> ``["list", "number"]``; None if ``name`` is not a plain type."""
    found = PLAIN_TYPE.fullmatch(name)
    if not found or not name:
        return None
    plain: CtyType = PLAIN[found[1].lower()]
    kinds = re.findall("List|Map", found[2])
    for depth, kind in enumerate(kinds, start=1):
        plain = [_collection(kind, is_set and depth == len(kinds)), plain]
    return plain


def _collection(kind: str, is_set: bool) -> str:
    return "set" if is_set else COLLECTION[kind]
