import sys
import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from groundplan.blueprints.diagnostics import render
from groundplan.blueprints.files import read_source
from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.loader import parse
from groundplan.blueprints.tree import Items, Map, Scalar, Source, dotted, find, scalars, undotted
from groundplan.errors import BlueprintError, InputError

DATA = Path(__file__).parent / "data" / "blueprints"


def load(text, loader=None):
    root, diagnostics = parse(Source("x.yaml", text), loader)
    assert not diagnostics, [render(one) for one in diagnostics]
    return root


def plain(node):
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key: plain(entry.value) for key, entry in node.entries.items()}


def everything(node):
    """A tree with all positions, for comparison."""
    if isinstance(node, Scalar):
        return node.text, node.quoted, node.position
    if isinstance(node, Items):
        return [everything(item) for item in node.items], node.position
    return {
        (key, everything(entry.key)): everything(entry.value) for key, entry in node.entries.items()
    }, node.position


def problems(text):
    try:
        return parse(Source("x.yaml", text))[1]
    except BlueprintError as error:
        return error.diagnostics


def test_scalars_keep_their_source_text():
    tree = load("a: 123456789012\nb: 1.30\nc: no\nd: 0x1F\ne: 2026-12-15\nf: 1_000\ng: ~\nh: 02:00\n")
    assert plain(tree) == {
        "a": "123456789012", "b": "1.30", "c": "no", "d": "0x1F", "e": "2026-12-15", "f": "1_000", "g": "~",
        "h": "02:00",
    }  # fmt: skip


def test_quoted_text_is_decoded_and_is_neither_null_nor_blank():
    tree = load('a: "null"\nb: \'~\'\nc: "x\\ty"\nd: ""\ne: |\n  two\n  lines\nf: null\ng:\nh: !!str null\n')
    values = {key: entry.value for key, entry in tree.entries.items()}
    assert plain(tree) | {"e": ""} == {
        "a": "null", "b": "~", "c": "x\ty", "d": "", "e": "", "f": "null", "g": "", "h": "null",
    }  # fmt: skip
    assert {key for key, value in values.items() if value.is_null} == {"f"}
    assert {key for key, value in values.items() if value.is_blank} == {"g"}


def test_everything_knows_where_it_stands():
    tree = load("a:\n  - b: {c: dé, e: '日'}\n    f: 12\n")
    key, value, steps = find(tree, ("a", 0, "b", "e"))
    assert steps == 4
    assert (str(key.position), str(value.position)) == ("x.yaml:2:16", "x.yaml:2:19")
    assert value.position.end_column == 22
    assert (tree.position.line, tree.position.end_line, tree.position.end_column) == (1, 3, 10)


def test_lines_end_as_editors_see_it():
    tree = load("a: 1\r\nb: 2\rc: 3\nd: \u2028 x\n")
    assert [entry.key.position.line for entry in tree.entries.values()] == [1, 2, 3, 4]


def test_anchors_aliases_and_merge_keys():
    text = "a: &x {k: 1, l: 2}\nb: *x\nc: {<<: *x, k: 3}\nd: {<<: [{m: 1, l: 9}, *x], '<<': 4}\n"
    tree = plain(load(text))
    assert tree["b"] == {"k": "1", "l": "2"}
    assert tree["c"] == {"k": "3", "l": "2"}
    assert tree["d"] == {"m": "1", "l": "9", "k": "1", "<<": "4"}
    assert str(find(load(text), ("c", "l"))[1].position) == "x.yaml:1:17"


def test_a_key_twice_is_refused_with_both_lines_and_everything_below_is_kept():
    text = "a:\n  x: {k: 1}\n  y: 1\n  x: {l: 2}\n"
    root, (problem,) = parse(Source("x.yaml", text))
    assert (problem.code, str(problem.position)) == ("SY002", "x.yaml:4:3")
    assert "line 2" in problem.message
    assert [(label, str(place)) for label, place in problem.related] == [("first written", "x.yaml:2:3")]
    assert plain(find(root, ("a", "x"))[1]) == {"k": "1", "l": "2"}


@pytest.mark.parametrize(
    ("text", "code", "place", "word"),
    [
        ("a: 1\n\tb: 2\n", "SY001", "2:1", "tab"),
        ("a:\n- x\n-\ty: 1\n", "SY001", "3:2", "tab"),
        ("a: b: c\n", "SY001", "1:5", "cannot stand here"),
        ("a: [1,\nb: 2\n", "SY001", "1:4", "no end"),
        ("a: {b: 1\nc: 2\n", "SY001", "1:4", "no end"),
        ("a: 'x\nb: y\n", "SY001", "1:4", "no end"),
        ("a: @x\n", "SY001", "1:4", "cannot begin"),
        ("a:\n   b: 1\n  c: 2\n", "SY001", "3:3", "indentation"),
        ("a: x\x07y\n", "SY001", "1:5", "U+0007"),
        ("%YAML 3.0\n---\na: 1\n", "SY001", "1:1", "YAML"),
        ("a: 1\na: 2\n", "SY002", "2:1", "twice"),
        ("{[a]: b}\n", "SY002", "1:2", "text"),
        ("x: {<<: {a: 1}, <<: {b: 2}}\n", "SY002", "1:17", "twice"),
        ("a: *x\n", "SY003", "1:4", "anchor"),
        ("a: &x [*x]\n", "SY003", "1:8", "inside"),
        ("a: &x 1\nb: &x 2\n", "SY003", "2:4", "twice"),
        ("a: {<<: 1}\n", "SY003", "1:9", "merge key"),
        ("a: !!python/object/apply:os.system [id]\n", "SY004", "1:4", "!!python"),
        ("a: !foo {b: 1}\n", "SY004", "1:4", "!foo"),
        ("a: !!binary aGk=\n", "SY004", "1:4", "!!binary"),
        ("a: " + "[" * 101 + "\n", "SY005", "1:103", "deeper"),
        ("", "SY006", "1:1", "empty"),
        ("# nothing\n", "SY006", "1:1", "empty"),
        ("a: 1\n---\nb: 2\n", "SY006", "2:1", "second document"),
    ],
)  # fmt: skip
def test_what_is_no_blueprint_gives_one_clear_message(text, code, place, word):
    (problem,) = problems(text)
    assert (problem.code, str(problem.position).removeprefix("x.yaml:")) == (code, place)
    assert word in problem.message


def test_aliases_cannot_blow_up():
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
    )
    deep = "a0: &a0 " + "[" * 60 + "]" * 60 + "\na1: " + "[" * 60 + "*a0" + "]" * 60 + "\n"
    merges = (
        "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\n"
        f"b: {{<<: [{', '.join(['*a'] * 50_000)}]}}\n"
    )
    began = time.process_time()
    for text in (bomb, deep, merges, "[" * 100_000):
        (problem,) = problems(text)
        assert problem.code in ("SY005", "SY001")
    assert time.process_time() - began < 3


def test_both_loaders_agree_on_real_blueprints():
    texts = [path.read_text() for path in [*library_blueprints().values(), *DATA.glob("*.yaml")]]
    assert len(texts) > 3
    for text in texts:
        trees = [parse(Source("x", text), loader) for loader in (yaml.CSafeLoader, yaml.SafeLoader)]
        assert everything(trees[0][0]) == everything(trees[1][0])
        assert trees[0][1] == trees[1][1]


texts = st.text("abz019 -_.:/~é日😀'\"{}[],#&*!|>%@", max_size=12)
values = st.recursive(
    texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@given(values, st.booleans())
def test_both_loaders_agree_on_made_up_blueprints(value, flow):
    text = yaml.safe_dump({"k": value}, default_flow_style=flow, allow_unicode=True)
    trees = [
        everything(parse(Source("x", text), loader)[0]) for loader in (yaml.CSafeLoader, yaml.SafeLoader)
    ]
    assert trees[0] == trees[1]


@given(st.text(max_size=60))
def test_any_text_gives_a_tree_or_a_message(text):
    source = Source("x.yaml", text)
    try:
        root, diagnostics = parse(source)
    except BlueprintError as error:
        (diagnostic,) = error.diagnostics
        diagnostics = [diagnostic]
    else:
        assert isinstance(root, Scalar | Items | Map)
        for scalar in scalars(root):
            assert 1 <= scalar.position.line <= len(source.lines)
    for diagnostic in diagnostics:
        assert render(diagnostic)


@given(st.lists(st.integers(0, 99) | st.text(min_size=1, max_size=5), max_size=4))
def test_paths_are_written_and_read(path):
    assert undotted(dotted(tuple(path))) == tuple(path)


class TestFiles:
    def test_text_comes_from_files_and_from_stdin(self, tmp_path, monkeypatch):
        file = tmp_path / "x.yaml"
        file.write_bytes("\ufeffa: é\n".encode())
        assert read_source(file).text == "a: é\n"
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"a: 1\n")))
        source = read_source("-")
        assert (source.name, source.text) == ("<stdin>", "a: 1\n")

    def test_each_thing_that_can_be_wrong_with_a_file_has_its_message(self, tmp_path, monkeypatch):
        missing, folder = tmp_path / "missing.yaml", tmp_path
        latin, large = tmp_path / "latin.yaml", tmp_path / "large.yaml"
        latin.write_bytes(b"a: 1\nb: \xe9\n")
        large.write_bytes(b"#" * 2_000_001)
        for path, words in {
            missing: "does not exist",
            folder: "is a folder",
            latin: "is not UTF-8 text (line 2)",
            large: "is larger than 2 MB",
            "x\0y": "cannot be read",
            "a" * 5000: "cannot be read",
        }.items():
            with pytest.raises(InputError) as caught:
                read_source(path)
            assert words in caught.value.message
            assert caught.value.exit_code == 1

    def test_a_file_that_may_not_be_read(self, tmp_path, monkeypatch):
        def refuse(*_args, **_more):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(InputError, match="may not be read"):
            read_source(tmp_path / "x.yaml")

    def test_an_endless_file_is_not_read_to_its_end(self):
        with pytest.raises(InputError, match="larger"):
            read_source("/dev/zero")
