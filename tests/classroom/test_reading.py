"""A submitted notebook is read whatever it is, or refused in a sentence."""

from __future__ import annotations

import json
from typing import Any

import class_of
import pytest
from class_of import code_cell, data
from hypothesis import given
from hypothesis import strategies as st

from memory_tutor import checks, course
from memory_tutor.grading import reading
from memory_tutor.grading.listing import Unreadable

ANSWERS = ["say", "show_history"]


def sources(raw: bytes) -> list[str]:
    return [source for _, source in reading.read(raw, ANSWERS).cells]


@pytest.mark.parametrize("lesson", course.lesson_names())
def test_of_the_courses_own_notebooks_there_is_nothing_to_tell(lesson: str) -> None:
    answers = checks.lesson(lesson).answers
    for book in (class_of.solved(lesson), class_of.untouched(lesson)):
        notebook = reading.read(data(book), answers)
        assert notebook.notes == []
        assert not any(source.startswith("tutor.check(") for _, source in notebook.cells)
        for number, source in notebook.cells:
            assert source == class_of._text_of(book["cells"][number - 1])


@pytest.mark.parametrize("kind", class_of.DAMAGED)
def test_a_file_that_cannot_be_marked_is_told_in_a_line(kind: str) -> None:
    raw, said = class_of.DAMAGED[kind]
    with pytest.raises(Unreadable) as told:
        reading.read(raw)
    assert said in told.value.message
    assert "needed" in told.value.message and "\n" not in told.value.message


def test_encodings() -> None:
    text = json.dumps({"cells": [code_cell("name = 'Zoë'")]}, ensure_ascii=False)
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert sources(text.encode(encoding)) == ["name = 'Zoë'"], encoding


def test_invalid_utf_8_spoils_no_more_than_its_place() -> None:
    raw = data({"cells": [code_cell("x = '?'"), code_cell("y = 1")]}).replace(b"?", b"\xff\xc3")
    first, second = sources(raw)
    assert first.startswith("x = '") and "\ufffd" in first and second == "y = 1"


def test_half_a_character_crosses() -> None:
    assert sources(b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}]}') == ["x = '\ud800'"]


@pytest.mark.parametrize("source", [7, None, {"a": 1}, ["x", 7], [["x"]]])
def test_a_source_of_a_wrong_type_costs_its_cell(source: Any) -> None:
    notebook = reading.read(data({"cells": [code_cell(source), code_cell(["y", " = 1"]), 7, None, []]}))
    assert notebook.cells == [(2, "y = 1")]
    assert notebook.notes == [f"Cell {number} has no text and was left out." for number in (1, 3, 4, 5)]


def test_ten_thousand_cells_are_read_and_more_are_told() -> None:
    book = {"cells": [code_cell("x = 1"), *[{"cell_type": "markdown", "source": "def"}] * 9_999]}
    assert sources(data(book)) == ["x = 1"]
    for cells, said in [
        ([{"cell_type": "raw", "source": ""}] * 20_001, "more than 20,000 cells"),
        ([code_cell("x = 1")] * 2_001, "more than 2,000 code cells"),
        ([code_cell("#" * 2_000_001)], "more than 2,000,000 characters"),
    ]:
        with pytest.raises(Unreadable, match=said):
            reading.read(data({"cells": cells}))


@pytest.mark.parametrize("shape", ["lines", "one text"])
def test_fifty_megabytes_of_output_are_dropped(shape: str) -> None:
    lines = ['7, [{\\"\n'] * 4_600_000
    cell = code_cell("x = 1")
    cell["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": lines if shape == "lines" else "".join(lines)}
    ]
    raw = data({"cells": [cell, code_cell("y = 1")]})
    assert len(raw) > 50_000_000
    assert sources(raw) == ["x = 1", "y = 1"]


def test_many_notes_are_cut() -> None:
    assert len(reading.read(data({"cells": [None] * 5_000})).notes) == 11


@pytest.mark.parametrize("kind", ["markdown", "raw", "", "unknown"])
def test_an_answer_outside_of_code_is_told_and_not_guessed(kind: str) -> None:
    prose = {"cell_type": kind, "source": "```python\ndef say(history, text):\n    return 1\n```\nclass other: ..."}
    notebook = reading.read(data({"cells": [prose]}), ANSWERS)
    assert notebook.cells == []
    (note,) = notebook.notes
    assert note.startswith("Cell 1 is no code cell") and "say" in note and note.endswith("no code cell defines it.")
    notebook = reading.read(data({"cells": [prose, code_cell("def say(history, text): return 2")]}), ANSWERS)
    assert notebook.notes[0].endswith("marked was the say of a code cell.")


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"kernelspec": {"language": "R", "name": "ir"}}, "R"),
        ({"language_info": {"name": "julia"}}, "julia"),
        ({"kernelspec": {"language": "python"}, "language_info": {"name": "ipython"}}, ""),
        ({"kernelspec": None}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_a_kernel_that_is_not_python_is_told(metadata: Any, told: str) -> None:
    notes = reading.read(data({"metadata": metadata, "cells": [code_cell("x = 1")]})).notes
    assert [told in note for note in notes] == [True] * bool(told)


@pytest.mark.parametrize("kind", class_of.CHANGED)
def test_a_changed_notebook_keeps_its_answers(kind: str) -> None:
    lesson = "02_manual_history"
    wanted = set(sources(data(class_of.answered(lesson))))
    assert wanted <= set(sources(data(class_of.CHANGED[kind](class_of.answered(lesson)))))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "worksheets", "cell_type", "source", "input", "metadata", "kernelspec", "language"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    _read_or_refused(json.dumps(value).encode())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    _read_or_refused(raw)
    _read_or_refused(b'{"cells": [{"cell_type": "code", "source": "' + raw + b'"}]}')


def _read_or_refused(raw: bytes) -> None:
    try:
        notebook = reading.read(raw, ANSWERS)
    except Unreadable as told:
        assert told.message.count("\n") == 0 and "needed" in told.message
    else:
        assert all(isinstance(source, str) and source.strip() for _, source in notebook.cells)


def test_long_lists_of_texts_are_told_from_code() -> None:
    """The list that is dropped before the JSON is read is longer than any code may be."""
    assert reading._OUTPUT > 1.5 * reading.MOST_CODE
    lines = [f"x{number} = 1\n" for number in range(30_000)]
    filler = "#" * 5_000_000
    raw = data({"filler": filler, "cells": [code_cell(lines)]})
    assert sources(raw) == ["".join(lines)]
