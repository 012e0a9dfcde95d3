"""A learner's notebook and a new version of its lesson become one notebook, in which nothing is lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import nbformat
import pytest

from memory_tutor import course
from memory_tutor.answering import with_choice
from memory_tutor.merging import AT_THE_END, BESIDE, Merged, merge, same_cells
from memory_tutor.workspace import read_notebook
from tiny_course import cell, code, prose

STUB = '"""Do it."""\n    raise NotImplementedError  # put your code in place of this line'
Change = Callable[[Any], None]


def lesson(**texts: str) -> Any:
    """A lesson with a prediction, a cell to edit and two exercises; texts replace those of cells."""
    locked = {"locked": True}
    cells = [
        prose("title", "# One"),
        code("setup", 'tutor = memory_tutor.start("01_one")'),
        code("guess-predict", 'tutor.predict("guess", choice="")'),
        code("demo", "print(1)"),
        code("demo-try", "size = 5\nprint(size)"),
        prose("ask-task", "Write `ask`.", grade_id="task_ask", **locked),
        code("ask-answer", f"def ask(text):\n    {STUB}", grade_id="ask", solution=True),
        code("ask-check", 'tutor.check("ask")', grade_id="check_ask", grade=True, **locked),
        prose("say-task", "Write `say`.", grade_id="task_say", **locked),
        code("say-answer", f"def say(text):\n    {STUB}", grade_id="say", solution=True),
        code("say-check", 'tutor.check("say")', grade_id="check_say", grade=True, **locked),
        prose("summary", "## In three sentences"),
    ]
    for each in cells:
        each.source = texts.get(each.id.replace("-", "_"), each.source)
    return nbformat.v4.new_notebook(cells=cells)


#: The next version: its title, a demonstration, the task of `say` and a new cell differ.
NEW = {"title": "# One, again", "demo": "print(2)", "say_task": "Write `say` well."}


def new_version() -> Any:
    made = lesson(**NEW)
    made.cells.insert(5, prose("extra", "Something new."))
    return made


def learners(*changes: Change) -> Any:
    """The learner's notebook: run, with `ask` answered, a prediction made, and other changes."""
    book = lesson()
    cell(book, "guess-predict").source = 'tutor.predict("guess", choice="b")'
    answered(book)
    for each in book.cells:
        if each.cell_type == "code":
            each.execution_count = 3
            each.outputs = [nbformat.v4.new_output("stream", text=f"of {each.id}")]
    for change in changes:
        change(book)
    return book


ANSWER = "def ask(text):\n    return helper(text)"


def answered(book: Any) -> None:
    cell(book, "ask-answer").source = ANSWER


def add(after: str, made: Any) -> Change:
    def change(book: Any) -> None:
        book.cells.insert(book.cells.index(cell(book, after)) + 1, copy.deepcopy(made))

    return change


def put(id_: str, source: str) -> Change:
    def change(book: Any) -> None:
        cell(book, id_).source = source

    return change


def sources(made: Merged) -> list[str]:
    return [each.source for each in made.book.cells]


def ids(made: Merged) -> list[str]:
    return [each.id for each in made.book.cells]


def run(made: Merged) -> dict[str, Any]:
    """What the notebook's cells define when all are run."""
    space: dict[str, Any] = {"helper": lambda text: text}
    for each in made.book.cells:
        if each.cell_type == "code" and "tutor" not in each.source:
            exec(each.source, space)
    return space


@pytest.fixture(params=[True, False], ids=["original kept", "none kept"])
def original(request: pytest.FixtureRequest) -> Any:
    return lesson() if request.param else None


def check(made: Merged) -> None:
    nbformat.validate(made.book)
    assert len(set(ids(made))) == len(ids(made))
    wanted = [each.id for each in new_version().cells]
    assert [each for each in ids(made) if each in wanted] == wanted


# -- the usual ----------------------------------------------------------------------------------------


def test_the_lesson_is_the_new_one_with_the_learners_answers(original: Any) -> None:
    theirs = learners()
    before = copy.deepcopy(theirs)
    made = merge(original, theirs, new_version())
    check(made)
    assert theirs == before
    assert (made.answers, made.predictions, made.own) == (["ask"], ["guess"], 0)
    assert cell(made.book, "ask-answer").source == ANSWER
    assert cell(made.book, "guess-predict").source == 'tutor.predict("guess", choice="b")'
    assert cell(made.book, "title").source == "# One, again"
    assert cell(made.book, "demo").source == "print(2)"
    assert cell(made.book, "say-answer").source == f"def say(text):\n    {STUB}"
    assert "extra" in ids(made)
    # What was shown stays with the code that showed it, but a check may have changed.
    assert cell(made.book, "ask-answer").outputs and not cell(made.book, "demo").outputs
    assert cell(made.book, "demo-try").outputs and not cell(made.book, "ask-check").outputs
    assert made.left_behind == (0 if original else 1)


def test_merging_again_changes_nothing(original: Any) -> None:
    theirs = learners(add("demo", code("0a1b2c3d", "mine = 1")), put("demo", "print('edited')"))
    once = merge(original, theirs, new_version())
    for base in (lesson(), new_version(), None):  # whatever a process that was killed has left
        again = merge(base, once.book, new_version())
        assert same_cells(again.book, once.book)


def test_a_task_that_changed_is_to_be_read_again(original: Any) -> None:
    made = merge(original, learners(put("say-answer", "def say(text): return text")), new_version())
    assert made.answers == ["ask", "say"]
    assert made.reread == ["say"]


def test_a_stub_that_changed_is_the_new_one(original: Any) -> None:
    new = lesson(say_answer=f"def say(text, more):\n    {STUB}")
    made = merge(original, learners(), new)
    assert cell(made.book, "say-answer").source == f"def say(text, more):\n    {STUB}"
    assert made.answers == ["ask"]


@pytest.mark.parametrize(
    "begun",
    [
        f"def say(text):\n    first = text\n    {STUB}",
        f"def say(text):\n    {STUB}\n# first the text, then the reply",
        f"def helper(text):\n    return text\n\n\ndef say(text):\n    {STUB}",
    ],
)
def test_an_answer_that_was_begun_is_an_answer(original: Any, begun: str) -> None:
    made = merge(original, learners(put("say-answer", begun)), new_version())
    assert cell(made.book, "say-answer").source == begun


def test_a_stub_put_back_from_the_new_version_is_no_answer() -> None:
    new = lesson(ask_answer=f"def ask(text, more):\n    {STUB}")
    made = merge(lesson(), learners(put("ask-answer", cell(new, "ask-answer").source)), new)
    assert made.answers == []


# -- answers elsewhere ---------------------------------------------------------------------------------


def without_marks(book: Any) -> None:
    for each in book.cells:
        each.metadata = nbformat.from_dict({})


def without_ids_and_marks(book: Any) -> None:
    without_marks(book)
    book.nbformat_minor = 2
    for each in book.cells:
        each.pop("id")


def new_ids(book: Any) -> None:
    for number, each in enumerate(book.cells):
        each.id = f"{number:08x}"


def moved(book: Any) -> None:
    book.cells.append(book.cells.pop(book.cells.index(cell(book, "ask-answer"))))


def rewritten_in_a_cell_of_their_own(book: Any) -> None:
    book.cells.append(code("0a1b2c3d", ANSWER))
    cell(book, "ask-answer").source = cell(lesson(), "ask-answer").source


def answer_cell_deleted(book: Any) -> None:
    book.cells.append(code("0a1b2c3d", ANSWER))
    book.cells.remove(cell(book, "ask-answer"))


def copied_with_its_marks(book: Any) -> None:
    again = copy.deepcopy(cell(book, "ask-answer"))
    again.id = "0a1b2c3d"
    book.cells.append(again)
    cell(book, "ask-answer").source = cell(lesson(), "ask-answer").source


def pasted_and_id_taken(book: Any) -> None:
    cell(book, "ask-answer").id = "0a1b2c3d"
    book.cells.append(code("ask-answer", "mine = 1"))


def reversed_order(book: Any) -> None:
    book.cells.reverse()


@pytest.mark.parametrize(
    "change",
    [
        without_marks,
        without_ids_and_marks,
        new_ids,
        moved,
        rewritten_in_a_cell_of_their_own,
        answer_cell_deleted,
        copied_with_its_marks,
        pasted_and_id_taken,
        reversed_order,
    ],
)
def test_an_answer_is_found_by_its_name_wherever_it_is(original: Any, change: Change) -> None:
    made = merge(original, learners(change), new_version())
    check(made)
    assert made.answers == ["ask"]
    assert cell(made.book, "ask-answer").source == ANSWER
    assert sources(made).count(ANSWER) == 1
    assert made.predictions == ["guess"]
    assert 'tutor.predict("guess", choice="b")' in sources(made)
    assert sources(made).count("# One, again") == 1
    assert ("mine = 1" in sources(made)) == (change is pasted_and_id_taken)


def test_of_two_that_answer_both_stay_and_the_last_counts(original: Any) -> None:
    later = "def ask(text):\n    return 'later'"
    made = merge(original, learners(add("ask-check", code("0a1b2c3d", later))), new_version())
    check(made)
    assert cell(made.book, "ask-answer").source == ANSWER
    assert run(made)["ask"]("x") == "later"


def test_code_that_does_not_parse_is_carried_as_it_is(original: Any) -> None:
    broken = "def ask(text:\n    return ("
    made = merge(original, learners(put("ask-answer", broken)), new_version())
    assert cell(made.book, "ask-answer").source == broken
    alone = learners(answer_cell_deleted, put("0a1b2c3d", broken))
    assert cell(merge(original, alone, new_version()).book, "ask-answer").source == broken


@pytest.mark.parametrize("deleted", [True, False])
def test_one_cell_that_answers_two_exercises_stands_once_and_no_stub_follows(original: Any, deleted: bool) -> None:
    both = "def ask(text):\n    return 'A'\ndef say(text):\n    return 'S'"

    def change(book: Any) -> None:
        for id_ in ("ask-answer", "say-answer"):
            if deleted:
                book.cells.remove(cell(book, id_))
            else:
                cell(book, id_).source = cell(lesson(), id_).source
        book.cells.append(code("0a1b2c3d", both))

    made = merge(original, learners(change), new_version())
    check(made)
    assert sources(made).count(both) == 1
    assert run(made)["say"]("x") == "S"
    assert made.answers == ["ask", "say"]


def test_a_name_bound_otherwise_is_not_hidden_by_a_stub(original: Any) -> None:
    def change(book: Any) -> None:
        book.cells.remove(cell(book, "ask-answer"))
        add("demo", code("0a1b2c3d", "ask = lambda text: 'L'"))(book)

    made = merge(original, learners(change), new_version())
    check(made)
    assert run(made)["ask"]("x") == "L"


def test_a_helper_goes_before_the_answer_that_needs_it_to_be_defined(original: Any) -> None:
    decorated = "@loud\ndef ask(text):\n    return text"

    def change(book: Any) -> None:
        book.cells.append(code("0a1b2c3d", "shout = str.upper"))
        book.cells.append(code("0a1b2c3e", "def loud(f):\n    return lambda text: shout(f(text))"))
        book.cells.append(code("0a1b2c3f", "print('not needed')"))
        cell(book, "ask-answer").source = decorated
        moved(book)

    made = merge(original, learners(change), new_version())
    check(made)
    assert run(made)["ask"]("x") == "X"
    assert sources(made)[-1] == "print('not needed')"


# -- the learner's own ---------------------------------------------------------------------------------


def test_cells_of_their_own_stay_behind_the_cell_that_they_stood_behind(original: Any) -> None:
    picture = nbformat.v4.new_markdown_cell("My notes ![a](attachment:a.png)", id="0a1b2c3f")
    picture.attachments = {"a.png": {"image/png": "aGVsbG8="}}
    theirs = learners(
        add("demo", code("0a1b2c3d", "first = 1")),
        add("0a1b2c3d", code("0a1b2c3e", "second = 2")),
        add("summary", picture),
        lambda book: book.cells.insert(0, prose("0a1b2c30", "On top")),
    )
    made = merge(original, theirs, new_version())
    check(made)
    assert made.own == 4
    at = ids(made).index("demo")
    assert sources(made)[at : at + 3] == ["print(2)", "first = 1", "second = 2"]
    assert made.book.cells[-1].attachments == picture.attachments
    assert sources(made)[0] == "On top"


def test_own_cells_stay_when_their_neighbour_is_gone(original: Any) -> None:
    new = new_version()
    new.cells.remove(cell(new, "demo"))
    made = merge(original, learners(add("demo", code("0a1b2c3d", "mine = 1"))), new)
    at = ids(made).index("0a1b2c3d")
    assert ids(made)[at - 1] == "guess-predict"
    assert "demo" not in ids(made)


def test_a_copy_of_a_locked_cell_can_be_deleted(original: Any) -> None:
    again = prose("0a1b2c3d", "Write `ask`.", grade_id="task_ask", locked=True)
    again.metadata.update(deletable=False, editable=False)
    made = merge(original, learners(add("summary", again)), new_version())
    assert dict(cell(made.book, "0a1b2c3d").metadata) == {}


def test_an_edit_stays_where_the_course_changed_nothing() -> None:
    theirs = learners(put("demo-try", "size = 7\nprint(size)"), put("summary", "My summary"))
    made = merge(lesson(), theirs, new_version())
    assert cell(made.book, "demo-try").source == "size = 7\nprint(size)"
    assert cell(made.book, "summary").source == "My summary"
    assert made.edits == 2


@pytest.mark.parametrize("edited", ["print('mine')", "print('```')"])
def test_what_both_changed_is_the_courses_with_theirs_as_a_note(edited: str) -> None:
    made = merge(lesson(), learners(put("demo", edited), put("title", "# Mine")), new_version())
    check(made)
    at = ids(made).index("demo")
    note = made.book.cells[at + 1]
    assert (made.book.cells[at].source, note.cell_type) == ("print(2)", "markdown")
    assert BESIDE in note.source and edited in note.source
    assert cell(made.book, "title").source == "# One, again"
    assert made.book.cells[1].source.endswith("# Mine")
    assert made.beside == 2


def test_what_a_locked_cell_was_made_to_say_is_not_kept() -> None:
    made = merge(lesson(), learners(put("ask-check", "print('PASSED')")), new_version())
    assert cell(made.book, "ask-check").source == 'tutor.check("ask")'


def test_an_answer_that_is_no_longer_asked_for_stands_at_the_end(original: Any) -> None:
    new = lesson()
    new.cells = [each for each in new.cells if not each.id.startswith("ask")]
    made = merge(original, learners(), new)
    assert made.dropped == ["ask"]
    assert sources(made)[-2:] == [AT_THE_END, ANSWER]
    assert "nbgrader" not in made.book.cells[-1].metadata
    again = merge(original, made.book, new)
    assert same_cells(again.book, made.book)
    nothing = merge(original, learners(put("ask-answer", cell(lesson(), "ask-answer").source)), new)
    assert nothing.dropped == [] and AT_THE_END not in sources(nothing)


def test_notes_in_a_task_whose_lock_is_gone_stay_as_a_note() -> None:
    made = merge(lesson(), learners(without_marks, put("say-task", "Write `say`. Mine: a list.")), new_version())
    at = ids(made).index("say-task")
    assert sources(made)[at] == NEW["say_task"] and "Mine: a list." in sources(made)[at + 1]


def test_an_answer_without_its_mark_that_is_no_longer_asked_for_stands_at_the_end(original: Any) -> None:
    new = lesson()
    new.cells = [each for each in new.cells if not each.id.startswith("ask")]
    made = merge(original, learners(without_marks), new)
    assert made.dropped == ["ask"] and sources(made)[-1] == ANSWER


def test_an_edit_of_a_cell_that_is_gone_is_kept_and_a_prediction_is_not() -> None:
    new = lesson()
    new.cells = [each for each in new.cells if each.id not in ("demo-try", "guess-predict")]
    made = merge(lesson(), learners(put("demo-try", "size = 7")), new)
    assert sources(made)[-2:] == [AT_THE_END, "size = 7"]
    assert not any("predict" in source for source in sources(made))


def test_a_kernel_that_the_learner_chose_stays(original: Any) -> None:
    theirs = learners()
    theirs.metadata["kernelspec"] = {"name": "mine", "display_name": "Mine"}
    assert merge(original, theirs, new_version()).book.metadata.kernelspec.name == "mine"


# -- predictions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "choices", "written"),
    [
        ('tutor.predict("guess", choice="")', {"guess": "b"}, 'tutor.predict("guess", choice="b")'),
        ('tutor.predict("guess", "")', {"guess": "(b)"}, 'tutor.predict("guess", "(b)")'),
        ('x = "é"; tutor.predict("é", choice="")', {"é": "c"}, 'x = "é"; tutor.predict("é", choice="c")'),
        ('tutor.predict("guess")', {"guess": "b"}, 'tutor.predict("guess")'),
        ('tutor.predict("guess", choice="")', {"other": "b"}, 'tutor.predict("guess", choice="")'),
        ("tutor.predict(", {"guess": "b"}, "tutor.predict("),
    ],
)
def test_a_choice_is_written_into_the_cell(source: str, choices: dict[str, str], written: str) -> None:
    assert with_choice(code("x", source), choices)[0] == written


def test_a_choice_goes_into_a_cell_that_changed(original: Any) -> None:
    new = new_version()
    cell(new, "guess-predict").source = '# Choose:\ntutor.predict("guess", choice="")'
    made = merge(original, learners(put("guess-predict", "tutor.predict('guess', 'B')")), new)
    assert cell(made.book, "guess-predict").source == '# Choose:\ntutor.predict("guess", choice="B")'
    assert made.predictions == ["guess"]


# -- the real lessons ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", course.lesson_names() if course.has("solutions") else [])
def test_a_solved_notebook_keeps_every_answer_of_a_real_lesson(name: str) -> None:
    """The solution plays the learner; the new version has every text changed."""
    old, solved = read_notebook(course.path("lessons", name)), read_notebook(course.path("solutions", name))
    new = nbformat.from_dict(json.loads(json.dumps(old)))
    for each in new.cells:
        if each.cell_type == "markdown":
            each.source += "\n\nMore."
    asked = [each.metadata.nbgrader.grade_id for each in old.cells if each.metadata.get("nbgrader", {}).get("solution")]
    for base in (old, None):
        made = merge(base, solved, new)
        nbformat.validate(made.book)
        assert made.answers == asked
        kept = {each.id: each.source for each in made.book.cells}
        for each in solved.cells:
            if each.metadata.get("nbgrader", {}).get("solution"):
                assert kept[each.id] == each.source
    untouched = merge(old, old, new)
    assert same_cells(untouched.book, new)
    assert (untouched.answers, untouched.own, untouched.edits, untouched.beside) == ([], 0, 0, 0)
