"""From the bytes of a submitted notebook to the code that is run, and to what the teacher should know of it.

A notebook is read by its JSON alone, leniently: ids, metadata and outputs may be whatever they are, and the outputs
are dropped. Its limits keep a hostile file from costing more than a few seconds and a few hundred megabytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memory_tutor.codec import shorten
from memory_tutor.grading import json_bytes
from memory_tutor.grading.listing import Unreadable
from memory_tutor.notebooks import CHECK_LINE
from memory_tutor.resetting import defines

#: Cells of a notebook, code cells that are run, and characters of code. The largest lesson has 95 cells.
MOST_CELLS, MOST_CODE_CELLS, MOST_CODE = 20_000, 2_000, 2_000_000
#: Lists, objects and values in a file: each costs memory many times its size.
MOST_PARTS = 3_000_000
#: Bytes of a list of texts that is an output for sure. Jupyter makes an item of each printed line.
_OUTPUT = 4_000_000


@dataclass
class Notebook:
    """What of a notebook counts.

    Args:
        cells: number of each code cell among all cells, from 1, and its source; check cells are left out.
        notes: for the teacher, one line each.
    """

    cells: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(data: bytes, answers: Iterable[str] = ()) -> Notebook:
    """Read a notebook.

    Args:
        data: the file.
        answers: what the lesson asks to define: told where it stands outside of code cells.

    Raises:
        Unreadable: there is nothing to mark; the message says why, and what to do.
    """
    document = _document(data)
    notebook = Notebook()
    others: list[tuple[int, str, str]] = []
    for number, cell in enumerate(_cells(document), start=1):
        if number > MOST_CELLS:
            raise Unreadable(f"It has more than {MOST_CELLS:,} cells. The notebook of the lesson is needed.")
        kind, source = _cell(cell)
        if source is None:
            notebook.notes.append(f"Cell {number} has no text and was left out.")
        elif kind != "code":
            others.append((number, kind, source))
        elif source.strip() and not CHECK_LINE.fullmatch(source.strip()):
            notebook.cells.append((number, source))
    _limit(notebook)
    notebook.notes = _shortened([*_language(document), *_misplaced(others, notebook, answers), *notebook.notes])
    return notebook


def _shortened(notes: list[str], most: int = 10) -> list[str]:
    return notes if len(notes) <= most else [*notes[:most], f"And {len(notes) - most} more lines like these."]


def _limit(notebook: Notebook) -> None:
    if len(notebook.cells) > MOST_CODE_CELLS:
        raise Unreadable(f"It has more than {MOST_CODE_CELLS:,} code cells. The notebook of the lesson is needed.")
    if sum(len(source) for _, source in notebook.cells) > MOST_CODE:
        raise Unreadable(f"Its code has more than {MOST_CODE:,} characters. The notebook of the lesson is needed.")


# -- the file ------------------------------------------------------------------------------------------


def _document(data: bytes) -> dict[str, Any]:
    if not data.strip(b"\x00 \t\r\n\xef\xbb\xbf"):
        raise Unreadable("The file is empty. It is needed again, saved and closed before it is handed in.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8", "surrogatepass")
    if len(data) > _OUTPUT:
        data = json_bytes.without_long_lists(data, _OUTPUT)
    if len(data) > MOST_PARTS and json_bytes.parts(data) > MOST_PARTS:
        raise Unreadable("It is made of too many parts to be a notebook. The notebook of the lesson is needed.")
    # Half a character, or a byte of another encoding, spoils the place that it stands in and nothing else.
    text = data.decode("utf-8-sig", "replace")
    try:
        document = json.loads(text, strict=False)
    except RecursionError:
        raise Unreadable("It is nested too deeply to be a notebook. The notebook of the lesson is needed.") from None
    except ValueError as error:
        raise Unreadable(f"The file is damaged ({_said(error)}). It is needed again.") from None
    if not isinstance(document, dict):
        raise Unreadable("The file is JSON, but no notebook. The .ipynb file of the lesson is needed.")
    return document


def _said(error: ValueError) -> str:
    return shorten(re.sub(r": line \d+ column.*", "", " ".join(str(error).split())), 80).lower() or "no JSON"


def _cells(document: dict[str, Any]) -> Iterator[Any]:
    """The cells, of today's format and of those before version 4."""
    if isinstance(document.get("cells"), list):
        yield from document["cells"]
    elif isinstance(sheets := document.get("worksheets"), list):
        for sheet in sheets:
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list):
                yield from sheet["cells"]
    else:
        raise Unreadable("The file is JSON, but no notebook: it has no cells. The .ipynb file of the lesson is needed.")


def _cell(cell: Any) -> tuple[str, str | None]:
    """Kind and text of a cell; None for a text that is none."""
    if not isinstance(cell, dict):
        return "", None
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return str(cell.get("cell_type", ""))[:20], source if isinstance(source, str) else None


# -- what the teacher should know ----------------------------------------------------------------------


def _language(document: dict[str, Any]) -> Iterator[str]:
    metadata = document.get("metadata")
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        language = part.get(name) if isinstance(part, dict) else None
        if isinstance(language, str) and language.strip() and not language.lower().startswith(("python", "ipython")):
            yield f"The notebook says that it is in {language[:20]!r}; it was run as Python."
            return


def _misplaced(others: list[tuple[int, str, str]], notebook: Notebook, answers: Iterable[str]) -> Iterator[str]:
    """Answers that are written where nothing runs."""
    names = sorted(answers)
    if not others or not names:
        return
    pattern = re.compile(rf"^[ \t>]*(?:async\s+)?(?:def|class)\s+({'|'.join(map(re.escape, names))})\b", re.MULTILINE)
    for number, kind, source in others:
        for name in dict.fromkeys(pattern.findall(source)):
            also = any(defines(code, name) for _, code in notebook.cells)
            yield (
                f"Cell {number} is no code cell ({kind or 'of no kind'}) and was not run, but holds {name}; "
                + (f"marked was the {name} of a code cell." if also else "no code cell defines it.")
            )
