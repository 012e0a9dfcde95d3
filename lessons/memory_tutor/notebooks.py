"""Notebook files: read, written the same on every system, and run in a fresh kernel."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memory_tutor.errors import TutorError

#: Is told the index of a cell and the cell, after it has run.
OnCell = Callable[[int, Any], None]

MAY_FAIL = "raises-exception"
SOLUTION_ONLY = "solution-only"

#: What stays in a notebook's metadata. Editors add the Python version and more, which differs by machine.
METADATA: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
#: What stays in a cell's metadata: not its timing, nor how an editor last showed it.
CELL_METADATA = {"tags", "nbgrader", "deletable", "editable", "jupyter"}

#: A cell that holds one check: `tutor.check("ask")`.
CHECK_LINE = re.compile(r"""tutor\.check\((["'])(\w+)\1\)""")


class NotebookError(TutorError):
    """A notebook cannot be read, written or run; the message names the file, and the cell where there is one."""


# -- cells ---------------------------------------------------------------------------------------------


def tags(cell: Any) -> list[str]:
    """The tags of a cell."""
    found = cell.metadata.get("tags", [])
    return found if isinstance(found, list) else []


def grading(cell: Any) -> dict[str, Any]:
    """nbgrader's metadata of a cell; {} where it has none."""
    found = cell.metadata.get("nbgrader", {})
    return found if isinstance(found, dict) else {}


def checked_name(cell: Any) -> str | None:
    """The exercise that a check cell checks, if the cell is exactly that one line."""
    match = CHECK_LINE.fullmatch(cell.source) if cell.cell_type == "code" else None
    return match[2] if match else None


def where(file: str, index: int, cell: Any) -> str:
    """A cell, for messages: 'solutions/01_x.ipynb, cell 7 (ask-check)'; cells are counted from 1."""
    return f"{file}, cell {index + 1} ({cell.get('id', 'no id')})"


# -- files ---------------------------------------------------------------------------------------------


def read(path: Path) -> Any:
    """Read a notebook as nbformat's data, without repairing it.

    Raises:
        NotebookError: the file is missing, damaged, of an older format, or two of its cells have one id.
    """
    nbformat = _nbformat()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotebookError(f"{path} cannot be read: {error}") from None
    try:
        data = json.loads(text)
        version = (data["nbformat"], data["nbformat_minor"])
        ids = [cell.get("id") for cell in data["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotebookError(f"{path} is damaged: {type(error).__name__}: {error}") from None
    if version[0] != 4 or version[1] < 5 or None in ids:
        raise NotebookError(
            f"{path} is in an older format: every cell needs an id (nbformat 4.5).\nSave it once in JupyterLab."
        )
    # nbformat would give the second of two cells with one id a new one at random.
    for number, id_ in enumerate(ids):
        if id_ in ids[:number]:
            raise NotebookError(f"{path}, cell {number + 1}: the id {id_!r} is also that of cell {ids.index(id_) + 1}.")
    try:
        notebook = nbformat.v4.to_notebook(data)
        nbformat.validate(notebook)
    except Exception as error:  # jsonschema's ValidationError, or whatever malformed data brings about
        reason = str(error).strip().splitlines()
        raise NotebookError(f"{path} is not a valid notebook: {reason[0] if reason else error!r}") from None
    return notebook


def _nbformat() -> Any:
    """nbformat: imported when it is needed, and half of it without types."""
    import nbformat

    return nbformat


def text_of(notebook: Any) -> str:
    """A notebook as the text of its file: keys sorted, "\\n" at the end of lines, whatever the system."""
    return str(_nbformat().v4.writes_json(notebook)) + "\n"


def write(path: Path, notebook: Any) -> None:
    """Write a notebook, the whole file or nothing."""
    replace_all({path: text_of(notebook)})


def replace_all(files: Mapping[Path, str]) -> None:
    """Write several text files in one go: all of them, or none.

    Each new file is first written whole beside its place, so that what remains to be done is to rename.
    If one rename fails, those already done are put back.

    Raises:
        NotebookError: nothing was changed; the message says which file could not be written, and why.
    """
    staged: dict[Path, Path] = {}
    done: dict[Path, bytes | None] = {}
    path = Path()
    try:
        for path, text in files.items():
            staged[path] = _stage(path, text.encode("utf-8"))
        for path, new in staged.items():
            old = path.read_bytes() if path.exists() else None
            new.replace(path)
            done[path] = old
    except OSError as error:
        for changed, old in done.items():
            if old is None:
                changed.unlink()
            else:
                _stage(changed, old).replace(changed)
        raise NotebookError(f"{path} cannot be written: {error.strerror or error}. Nothing was changed.") from error
    finally:
        for new in staged.values():
            new.unlink(missing_ok=True)


def _stage(path: Path, data: bytes) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(path.stat().st_mode if path.exists() else 0o644)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


# -- normal form ---------------------------------------------------------------------------------------

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
#: A frame of a traceback that shows a file: its path is that of the machine it ran on.
_FILE_FRAME = re.compile(r"^(File |  File )")


def normalise(notebook: Any) -> Any:
    """Drop from a notebook, in place, what differs by machine, editor or moment; outputs stay.

    Returns:
        The same notebook.
    """
    from_dict = _nbformat().from_dict
    notebook.metadata = from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = from_dict({key: part for key, part in cell.metadata.items() if key in CELL_METADATA})
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [line for line in output.traceback if not _shows_file(line)]
    return notebook


def _shows_file(frame: str) -> bool:
    return bool(_FILE_FRAME.match(_ANSI.sub("", frame)))


# -- running -------------------------------------------------------------------------------------------


def environment(**own: str | Path) -> dict[str, str]:
    """The environment of a kernel that runs a notebook for us.

    Nothing of the caller's settings for memory-tutor, the SDK or a database reaches it, so that a key is neither
    used nor shown, unless it is given here.

    Args:
        own: variables to set, with their values.
    """
    settings = ("MEMORY_TUTOR_", "OPENAI_", "MONGODB_URI")
    inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith(settings)}
    return inherited | {name: str(value) for name, value in own.items()}


def run_notebook(
    notebook: Any,
    cwd: Path,
    env: Mapping[str, str],
    on_cell: OnCell | None = None,
    *,
    timeout: float = 300,
) -> Any:
    """Run a notebook in a fresh kernel of this interpreter, to its end, whichever cells fail.

    Args:
        notebook: is changed: its outputs and execution counts become those of this run.
        cwd: the folder that the code runs in.
        env: the kernel's whole environment; `environment()` makes one.
        on_cell: is called with (index, cell) after each cell; what it raises ends the run.
        timeout: for one cell, in seconds.

    Returns:
        The same notebook, without metadata that the run added. `failures` tells what went wrong in it.

    Raises:
        NotebookError: the kernel does not start, dies, or a cell does not end in time.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError

    index, cell = 0, None
    for each in notebook.cells:
        if each.cell_type == "code":
            each.outputs, each.execution_count = [], None
    with tempfile.TemporaryDirectory(prefix="kernel") as private:
        client = NotebookClient(
            notebook,
            km=_kernel_manager(Path(private)),
            timeout=timeout,
            allow_errors=True,
            coalesce_streams=True,
            record_timing=False,
            store_widget_state=False,
            resources={"metadata": {"path": str(cwd)}},
        )
        try:
            with client.setup_kernel(cleanup_kc=True, env={**env, "IPYTHONDIR": private}):
                for index, cell in enumerate(notebook.cells):
                    client.execute_cell(cell, index)
                    if on_cell:
                        on_cell(index, cell)
        except CellTimeoutError:
            raise NotebookError(f"{where('The notebook', index, cell)}: did not end in {timeout:g} s.") from None
        except RuntimeError as error:  # DeadKernelError is one; so is a kernel that does not start
            place = where("The notebook", index, cell) if cell else "The notebook"
            raise NotebookError(f"{place}: the kernel died ({' '.join(str(error).split())[:200]}).") from None
    return normalise(notebook)


def _kernel_manager(private: Path) -> Any:
    """A kernel of this interpreter, whatever kernels the user has installed under the name python3.

    Args:
        private: folder for the connection file, and its sockets: short, as their paths may not be long.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisInterpreter(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> Any:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python 3 (ipykernel)", language="python")

    return AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=ThisInterpreter(),
        connection_file=str(private / "kernel.json"),
        # Over TCP, ipykernel 7.4 warns on stderr that nothing is encrypted.
        transport="tcp" if sys.platform == "win32" else "ipc",
    )


def failures(notebook: Any, file: str) -> list[str]:
    """The cells of a notebook that has run which failed and may not.

    A check cell may never fail here, although it is tagged so that Run All goes past it.

    Args:
        file: name of the notebook for messages.

    Returns:
        One line a cell: where it is, and the exception.
    """
    return [problem for index, cell in enumerate(notebook.cells) for problem in cell_failures(index, cell, file)]


def cell_failures(index: int, cell: Any, file: str) -> list[str]:
    """The same for one cell that has run; at most one line."""
    if MAY_FAIL in tags(cell) and not grading(cell).get("grade") and not checked_name(cell):
        return []
    return [f"{where(file, index, cell)}: {error}" for error in _errors(cell)]


def _errors(cell: Any) -> Iterator[str]:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            yield f"{output.ename}: {' / '.join(output.evalue.splitlines()[:3])}"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for a run, gone afterwards; on Windows a file that is still open may stay in it."""
    with tempfile.TemporaryDirectory(prefix="memory-tutor-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()
