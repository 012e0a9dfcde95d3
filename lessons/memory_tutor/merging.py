"""A learner's notebook and a new version of its lesson made into one notebook, in which nothing is lost.

Three notebooks are looked at: the *original* that the learner got, *theirs* as it is now, and the *lesson* of
today. What the learner changed is kept, what the course changed is taken over. Where both changed a cell, the
lesson's stands, and below it a note with the learner's.
"""

from __future__ import annotations

import copy
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memory_tutor.answering import Answers, loaded_names, with_choice
from memory_tutor.matching import Matches, match, same_text
from memory_tutor.names import LintSyntaxError, bound_names
from memory_tutor.notebooks import grading

AT_THE_END = "## From the earlier version of this lesson\n\nThe lesson no longer asks for these; they are yours."
BESIDE = "Your version of the cell above, from before the update:"
ELSEWHERE = "# {name} is defined in another cell of yours."


@dataclass
class Merged:
    """The notebook that a merge made, and what became of the learner's things.

    Args:
        book: the new notebook.
        answers: names of answers that stand in the new version's answer cells.
        predictions: names of predictions whose choice was carried over.
        edits: how many other cells of the course keep what the learner wrote in them.
        own: how many cells of the learner's own were carried over.
        beside: how many versions of the learner's stand as a note below a cell that the course changed too.
        dropped: names of answers that the lesson no longer asks for, and that stand at the end.
        reread: names of answers whose task has changed.
        left_behind: how many cells differ, and may or may not be the learner's: where there is no original.
    """

    book: Any
    answers: list[str] = field(default_factory=list)
    predictions: list[str] = field(default_factory=list)
    edits: int = 0
    own: int = 0
    beside: int = 0
    dropped: list[str] = field(default_factory=list)
    reread: list[str] = field(default_factory=list)
    left_behind: int = 0


def merge(original: Any | None, theirs: Any, lesson: Any) -> Merged:
    """Carry what a learner has written over into a lesson's new version.

    Args:
        original: the lesson as the learner got it; None if that is not known.
        theirs: the learner's notebook.
        lesson: of today.

    Returns:
        A new notebook; the three are left as they are.
    """
    return _Merge(original, theirs, lesson).run()


def same_cells(one: Any, other: Any) -> bool:
    """Whether two notebooks hold the same text, outputs and metadata aside."""
    return [(cell.cell_type, cell.source) for cell in one.cells] == [
        (cell.cell_type, cell.source) for cell in other.cells
    ]


class _Merge:
    def __init__(self, original: Any | None, theirs: Any, lesson: Any) -> None:
        self.theirs = theirs.cells
        self.original = {cell.id: cell for cell in original.cells if "id" in cell} if original else {}
        self.lesson = {cell.id: cell for cell in lesson.cells}
        self.known = original is not None
        self.matches: Matches = match(self.theirs, self.original, self.lesson)
        self.answers = Answers(self.theirs, self.matches, self.original, self.lesson)
        self.made = Merged(copy.deepcopy(lesson))
        if theirs.metadata.get("kernelspec"):  # a kernel that the learner chose
            self.made.book.metadata = copy.deepcopy(theirs.metadata)

    def run(self) -> Merged:
        blocks: dict[str, list[Any]] = {id_: self._course_cell(cell) for id_, cell in self.lesson.items()}
        before, after, top = self._own_cells()
        end = list(self._no_longer_asked_for())
        cells = list(top)
        for id_, block in blocks.items():
            cells += [*before[id_], *block, *after[id_]]
        if end:
            cells += [_prose(AT_THE_END), *end]
        self.made.book.cells = cells
        _make_ids_unique(cells)
        return self.made

    # -- cells of the course ---------------------------------------------------------------------------

    def _course_cell(self, new: Any) -> list[Any]:
        """What stands in the place of a cell of the lesson."""
        marks = grading(new)
        if marks.get("solution"):
            return [self._answer_cell(new, str(marks.get("grade_id")))]
        index = self.matches.index.get(new.id)
        if index is None:
            return [copy.deepcopy(new)]
        mine = self.theirs[index]
        if marks.get("locked"):
            return self._locked(new, mine)
        if same_text(mine, new):
            return [_with_run_of(new, mine)]
        predicted, names = with_choice(new, self.answers.choices)
        if predicted.strip() == mine.source.strip():
            self.made.predictions += names
            return [_with_text_of(new, mine)]
        old = self.original.get(new.id)
        if old is not None and same_text(mine, old):
            return self._prediction(new)
        if (old is not None and same_text(old, new)) or (old is None and self.known):
            self.made.edits += 1
            return [_with_text_of(new, mine)]
        return self._changed_by_both(new, mine)

    def _locked(self, new: Any, mine: Any) -> list[Any]:
        """The lesson's cell; a text that was written into it in spite of the lock is no check, and stays as a note."""
        old = self.original.get(new.id)
        if new.cell_type == "code" or old is None or same_text(mine, old) or same_text(mine, new):
            return [copy.deepcopy(new)]
        self.made.beside += 1
        return [copy.deepcopy(new), _note(mine)]

    def _prediction(self, new: Any) -> list[Any]:
        """The lesson's cell; with the learner's choice, if it is a prediction that has one."""
        source, names = with_choice(new, self.answers.choices)
        cell = copy.deepcopy(new)
        cell.source = source
        self.made.predictions += names
        return [cell]

    def _changed_by_both(self, new: Any, mine: Any) -> list[Any]:
        (cell,) = self._prediction(new)
        if not same_text(cell, new):
            return [cell]
        if self.known:
            self.made.beside += 1
            return [cell, _note(mine)]
        if mine.cell_type == "code":
            self.made.left_behind += 1
        return [cell]

    def _answer_cell(self, new: Any, name: str) -> Any:
        index = self.answers.place(name)
        if index is None:
            cell = copy.deepcopy(new)
            if self.answers.is_elsewhere(name):  # a stub here would stand in the way of the answer
                cell.source = ELSEWHERE.format(name=name)
                self.made.answers.append(name)
            return cell
        self.made.answers.append(name)
        if self._task_has_changed(new, name):
            self.made.reread.append(name)
        return _with_text_of(new, self.theirs[index])

    def _task_has_changed(self, stub: Any, name: str) -> bool:
        """Whether the task or the stub reads otherwise than when the learner wrote the answer."""
        for new in self.lesson.values():
            old = self.original.get(new.id)
            if old is None and not self.known and new is not stub and new.id in self.matches.index:
                old = self.theirs[self.matches.index[new.id]]  # locked cells are as the learner got them
            is_task = grading(new).get("grade_id") == f"task_{name}" or new is stub
            if is_task and old is not None and not same_text(old, new):
                return True
        return False

    # -- cells of the learner's own --------------------------------------------------------------------

    def _own_cells(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]], list[Any]]:
        """The learner's own cells, as they stand before or after which cell of the lesson, or at the top."""
        place: dict[int, tuple[str, str]] = {}
        at = ""
        for index in range(len(self.theirs)):
            id_ = self.matches.course_id.get(index)
            if id_ is not None:
                at = id_ if id_ in self.lesson else at
            elif index not in self.answers.taken and index not in self.matches.old_course:
                place[index] = ("after", at)
        self._keep_helpers_before_their_answers(place)
        before: dict[str, list[Any]] = defaultdict(list)
        after: dict[str, list[Any]] = defaultdict(list)
        top: list[Any] = []
        for index, (side, id_) in place.items():
            cell = _own(self.theirs[index], fresh_id=self.theirs[index].get("id") in self.lesson)
            self.made.own += 1
            (before[id_] if side == "before" else after[id_] if id_ else top).append(cell)
        return before, after, top

    def _keep_helpers_before_their_answers(self, place: dict[int, tuple[str, str]]) -> None:
        """Where an answer moves up to its place, what it needs when it is defined goes before it."""
        order = {id_: number for number, id_ in enumerate(self.lesson)}
        for id_, index in self.answers.placed.items():
            needed = loaded_names(self.theirs[index].source)
            for helper in sorted((each for each in place if each < index), reverse=True):
                side, at = place[helper]
                cell = self.theirs[helper]
                comes_later = at != "" and order[at] >= order[id_] and (side, at) != ("before", id_)
                if cell.cell_type == "code" and comes_later and needed & _bound(cell.source):
                    place[helper] = ("before", id_)
                    needed |= loaded_names(cell.source)

    def _no_longer_asked_for(self) -> Iterator[Any]:
        """What the learner wrote into cells that the lesson no longer has."""
        for index, id_ in sorted((index, id_) for id_, index in self.matches.index.items() if id_ not in self.lesson):
            old, mine = self.original[id_], self.theirs[index]
            marks = grading(old)
            if same_text(mine, old) or (marks.get("locked") and not marks.get("solution")):
                continue
            if with_choice(old, self.answers.choices)[0].strip() == mine.source.strip():
                continue  # a prediction that is no longer asked
            if index in self.answers.taken:
                continue
            if marks.get("solution"):
                self.made.dropped.append(str(marks.get("grade_id")))
            else:
                self.made.own += 1
            yield _own(mine, fresh_id=True)
        for index, name in self.matches.old_course.items():
            if index in self.answers.taken or (name and self.answers.is_stub(index, name)):
                continue
            if name:
                self.made.dropped.append(name)
                yield _own(self.theirs[index], fresh_id=True)
            elif self.theirs[index].cell_type == "code":
                self.made.left_behind += 1


# -- cells ---------------------------------------------------------------------------------------------


def _with_run_of(new: Any, mine: Any) -> Any:
    """The lesson's cell, with what the learner's run of the same code showed."""
    cell = copy.deepcopy(new)
    if cell.cell_type == "code" and mine.cell_type == "code":
        cell.outputs = copy.deepcopy(mine.get("outputs", []))
        cell.execution_count = mine.get("execution_count")
    return cell


def _with_text_of(new: Any, mine: Any) -> Any:
    """The lesson's cell, which holds what the learner wrote, and what their run of it showed."""
    cell = _with_run_of(new, mine)
    cell.source = mine.source
    if "attachments" in mine:
        cell.attachments = copy.deepcopy(mine.attachments)
    return cell


def _own(mine: Any, *, fresh_id: bool = False) -> Any:
    """A cell of the learner's, which they may edit and delete, and which is nobody's exercise."""
    cell = copy.deepcopy(mine)
    if cell.metadata.pop("nbgrader", None) is not None:
        cell.metadata.pop("deletable", None)
        cell.metadata.pop("editable", None)
    if fresh_id:
        cell.pop("id", None)
    return cell


def _note(mine: Any) -> Any:
    """What the learner had in a cell, to read and not to run."""
    if mine.cell_type != "code":
        cell = _own(mine, fresh_id=True)
        cell.source = f"*{BESIDE}*\n\n{mine.source}"
        return cell
    fence = "```"
    while fence in mine.source:
        fence += "`"
    return _prose(f"*{BESIDE}*\n\n{fence}python\n{mine.source}\n{fence}")


def _prose(text: str) -> Any:
    import nbformat

    return nbformat.v4.new_markdown_cell(text)  # type: ignore[no-untyped-call]


def _make_ids_unique(cells: list[Any]) -> None:
    """Give an id to cells that have none, or that of another cell."""
    seen: set[str] = set()
    for cell in cells:
        if not cell.get("id") or cell.id in seen:
            cell.id = uuid.uuid4().hex[:8]
        seen.add(cell.id)


def _bound(source: str) -> set[str]:
    try:
        return bound_names(source)
    except LintSyntaxError:
        return set()
