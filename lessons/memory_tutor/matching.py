"""Which cells of a learner's notebook are which cells of the course."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_tutor.names import tutor_calls
from memory_tutor.notebooks import checked_name, grading

#: Ids that editors give to new cells: eight hexadecimal digits, or a UUID. The course's own are words.
_EDITORS_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?")
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
#: From which likeness on, 0 to 1, a text without an id is taken for a text of the course.
_ALIKE = 0.6


@dataclass
class Matches:
    """Which cells are which.

    Args:
        index: the id of a cell of the course to the number of the learner's cell that it became.
        course_id: the same the other way round.
        old_course: numbers of cells that an earlier version of the course brought, as far as one can tell
            without it, to the name of the exercise that they answer, or "".
    """

    index: dict[str, int] = field(default_factory=dict)
    course_id: dict[int, str] = field(default_factory=dict)
    old_course: dict[int, str] = field(default_factory=dict)

    def add(self, index: int, id_: str) -> None:
        self.index[id_] = index
        self.course_id[index] = id_


def same_text(one: Any, other: Any) -> bool:
    """Whether two cells are of one kind and read the same; blank space at the ends does not count."""
    return bool(one.cell_type == other.cell_type and one.source.strip() == other.source.strip())


def match(theirs: Sequence[Any], original: Mapping[str, Any], lesson: Mapping[str, Any]) -> Matches:
    """Find the course's cells in a learner's notebook, wherever they are by now.

    A copied cell has the marks of the first and another id, a pasted one perhaps another's id, a notebook that
    went through other tools no marks or no ids: the surest signs are looked for first.

    Args:
        theirs: the learner's cells.
        original: the lesson's cells as the learner got them, by id; empty if that is not known.
        lesson: those of today.
    """
    found = Matches()
    wanted = {**lesson, **original}
    calls = {id(cell): _calls(cell) for cell in (*wanted.values(), *theirs)}
    signs: list[Callable[[Any, Any], bool]] = [
        lambda mine, cell: mine.get("id") == cell.id and _mark(mine) == _mark(cell),
        lambda mine, cell: _mark(cell) != "" and _mark(mine) == _mark(cell),
        lambda mine, cell: mine.get("id") == cell.id and _mark(mine) == "",
        lambda mine, cell: cell.source.strip() != "" and same_text(mine, cell) and not _is_other(mine, wanted),
        lambda mine, cell: calls[id(mine)] == calls[id(cell)] != [] and not _is_other(mine, wanted),
    ]
    for sign in signs:
        for id_, cell in wanted.items():
            if id_ in found.index:
                continue
            for number, mine in enumerate(theirs):
                if number not in found.course_id and mine.cell_type == cell.cell_type and sign(mine, cell):
                    found.add(number, id_)
                    break
    if not original:
        found.old_course = _left_of_an_earlier_version(theirs, found, lesson)
    return found


def _calls(cell: Any) -> list[tuple[str, str]]:
    """What a cell asks of the tutor: a prediction stays that prediction, whatever was chosen in it."""
    return tutor_calls(cell.source) if cell.cell_type == "code" and "tutor." in cell.source else []


def _mark(cell: Any) -> str:
    return str(grading(cell).get("grade_id", ""))


def _is_other(mine: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether a cell says that it is a copy of a marked cell of the course, so that its text is no sign."""
    return _mark(mine) != "" and any(_mark(mine) == _mark(cell) for cell in wanted.values())


def _left_of_an_earlier_version(theirs: Sequence[Any], found: Matches, lesson: Mapping[str, Any]) -> dict[int, str]:
    left: dict[int, str] = {}
    for number, mine in enumerate(theirs):
        if number in found.course_id:
            continue
        marks = grading(mine)
        id_ = mine.get("id")
        named = bool(id_) and not _EDITORS_ID.fullmatch(str(id_)) and id_ not in lesson
        unnamed = not id_ and (checked_name(mine) is not None or _reads_like_the_course(mine, lesson))
        copied = any(_mark(mine) == _mark(cell) != "" for cell in lesson.values())
        if (marks.get("solution") or marks.get("locked") or named or unnamed) and not copied:
            left[number] = _answered(mine)
    return left


def _answered(mine: Any) -> str:
    """The exercise that a cell answers, by its mark, or by its id where it lost that; "" if none."""
    if grading(mine).get("solution"):
        return _mark(mine)
    defined = _DEFINITION.search(mine.source) if str(mine.get("id")).endswith("-answer") else None
    return defined[1] if defined else ""


def _reads_like_the_course(mine: Any, lesson: Mapping[str, Any]) -> bool:
    if mine.cell_type != "markdown":
        return False
    return any(
        difflib.SequenceMatcher(None, mine.source, cell.source, autojunk=False).ratio() > _ALIKE
        for cell in lesson.values()
        if cell.cell_type == "markdown"
    )
