import pytest

from groundplan.blueprints.diagnostics import Diagnostic, Position, in_order, render


def diagnostic(line, start, end, **other):
    position = Position("x.yaml", line, start, line, end)
    return Diagnostic("error", "CO005", "it is wrong", "a.b", position, **other)


def carets(text):
    (line,) = [line for line in text.splitlines() if "^" in line]
    return line.partition("│ ")[2]


def test_a_problem_shows_its_lines_carets_and_hint():
    lines = ["a:", "  b:", "    c: 1", "    d: {x: 1}"]
    text = render(diagnostic(4, 8, 14, hint="Write `d: 1`."), lines)
    assert text == (
        "x.yaml:4:8: error[CO005]: it is wrong\n"
        "  │\n"
        "2 │   b:\n"
        "3 │     c: 1\n"
        "4 │     d: {x: 1}\n"
        "  │        ^^^^^^\n"
        "  = Write `d: 1`.\n"
        "  = groundplan explain CO005"
    )


def test_what_it_conflicts_with_is_shown_unless_it_is_on_the_same_line():
    lines = ["a:", "  b: {x: 1, y: 2}"]
    here, there = Position("x.yaml", 2, 7, 2, 11), Position("x.yaml", 1, 1, 1, 2)
    text = render(diagnostic(2, 13, 17, related=(("one", here), ("the other", there))), lines)
    assert "the other: x.yaml:1:1" in text
    assert "one: " not in text


def test_lines_far_below_their_key_show_the_key_and_a_gap():
    lines = ["pools:", "  # a comment", "  a: 1", "  b: 1", "  c: 1", "  d: 1"]
    text = render(diagnostic(6, 3, 4), lines)
    assert "1 │ pools:\n… │\n6 │   d: 1" in text
    assert "b: 1" not in text


def test_the_carets_stand_below_wide_characters_tabs_and_combining_marks():
    assert carets(render(diagnostic(1, 5, 6), ["日本: x"])) == " " * 6 + "^"
    assert carets(render(diagnostic(1, 4, 6), ["a: 日本"])) == "   ^^^^"
    assert carets(render(diagnostic(1, 5, 6), ["a:\t\tx"])) == " " * 10 + "^"
    assert carets(render(diagnostic(1, 6, 7), ["e\u0301: x y"])) == " " * 4 + "^"


@pytest.mark.parametrize("column", [1, 50, 96, 97, 150, 500, 998])
def test_long_lines_are_cut_around_the_caret(column):
    line = "".join(chr(ord("a") + index % 26) for index in range(1000))
    text = render(diagnostic(1, column, column + 3), [line])
    source = text.splitlines()[2].partition("│ ")[2]
    assert len(source) <= 97
    marks = carets(text)
    assert source[marks.index("^") : marks.rindex("^") + 1] == line[column - 1 : column + 2]


def test_a_caret_behind_the_end_of_the_line_and_a_missing_line():
    assert carets(render(diagnostic(1, 3, 3), ["a:"])) == "  ^"
    missing = "x.yaml:9:1: error[CO005]: it is wrong\n  = groundplan explain CO005"
    assert render(diagnostic(9, 1, 1), ["a:"]) == missing


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first():
    long = Diagnostic("error", "CO005", "m", "", Position("x.yaml", 1, 4, 3, 2))
    assert carets(render(long, ["a: {", "b: 1", "}"])) == "   ^"


def test_no_file_can_steer_the_terminal():
    evil = Diagnostic(
        "error", "CO005", "`\x1b[31m\u202e` is wrong", "", Position("x.yaml", 1, 1, 1, 2), hint="\x07"
    )
    text = render(evil, ["\x1b[2Ja\u202eb"])
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x07" not in text
    assert r"\x1b[31m" in text


def test_further_places_and_colours():
    other = Position("x.yaml", 1, 1, 1, 2)
    text = render(
        diagnostic(2, 1, 2, related=(("the first", other),)),
        ["a: 1", "a: 2"],
        paint=lambda text, style: f"<{style}:{text}>",
    )
    assert "<error:error[CO005]>" in text
    assert "<error:^>" in text
    assert "the first: x.yaml:1:1" in text


def test_a_diagnostic_as_json_has_the_documented_keys():
    assert diagnostic(3, 4, 5, hint="h").as_json() == {
        "severity": "error",
        "code": "CO005",
        "message": "it is wrong",
        "path": "a.b",
        "file": "x.yaml",
        "line": 3,
        "column": 4,
        "hint": "h",
    }


def test_diagnostics_are_ordered_by_position_and_said_once():
    first, second = diagnostic(2, 9, 10), diagnostic(10, 1, 2)
    assert in_order([second, first, second]) == (first, second)
