"""JupyterLite, the notebook of the site: its simple application, with the lessons, and all that it loads beside it."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memory_tutor.site.errors import SiteError, run

KERNEL = "@jupyterlite/pyodide-kernel-extension"
#: Where Pyodide lies in the site.
RUNTIME = "static/pyodide"
#: Loaded with Pyodide, all at once: what the kernel would otherwise look up one after another, and the course.
PRELOADED = ["comm", "ipykernel", "ipython", "jedi", "memory-tutor", "micropip", "piplite", "pyodide-kernel"]
#: All times in the site, seconds since 1970: it is the same whenever it is built.
_EPOCH = "315532800"
#: What JupyterLite's own build leaves lying about.
_LEFT_OVER = "rspack.config*.js"
CONFIG: dict[str, Any] = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "appName": "memory-tutor",
        "faviconUrl": "./notebooks/favicon.ico",
        # It leads to an application that is not in the site.
        "disabledExtensions": ["@jupyter-notebook/lab-extension:interface-switcher"],
        "litePluginSettings": {
            f"{KERNEL}:kernel": {
                "pyodideUrl": f"./{RUNTIME}/pyodide.mjs",
                "disablePyPIFallback": True,
                "loadPyodideOptions": {"packages": PRELOADED},
            }
        },
    },
}


def need() -> None:
    """Go on if JupyterLite is installed.

    Raises:
        SiteError: it is not.
    """
    if find_spec("jupyterlite_core") is None or find_spec("jupyterlite_pyodide_kernel") is None:
        raise SiteError('A site needs JupyterLite. Install it with: pip install "memory-tutor[site]"')


def own_wheels() -> list[Path]:
    """The wheels that the kernel brings along: itself and what stands for ipykernel."""
    folder = _kernel() / "static" / "pypi"
    found = [wheel for wheel in sorted(folder.glob("*.whl")) if not wheel.name.startswith("widgetsnbextension")]
    if not found:
        raise SiteError(f"JupyterLite's kernel has no wheels in {folder}. Install jupyterlite-pyodide-kernel again.")
    return found


def _kernel() -> Path:
    """The folder of the kernel's extension."""
    return Path(sys.prefix, "share", "jupyter", "labextensions", *KERNEL.split("/"))


def build(folder: Path, notebooks: list[Path], scratch: Path) -> None:
    """Build the application with these notebooks.

    Args:
        folder: to make.
        notebooks: the lessons.
        scratch: a folder to make and to use.

    Raises:
        SiteError: it cannot be built.
    """
    lessons = scratch / "lessons"
    lessons.mkdir(parents=True)
    for notebook in notebooks:
        shutil.copyfile(notebook, lessons / notebook.name)
    (scratch / "jupyter-lite.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    # Of the extensions that are installed here, the kernel alone: nbgrader's and others' belong into no site.
    settings = {"ignore_sys_prefix": ["federated_extensions"], "federated_extensions": [str(_kernel())]}
    config = json.dumps({"LiteBuildConfig": settings})
    (scratch / "jupyter_lite_config.json").write_text(config, encoding="utf-8")
    options = ["--lite-dir", str(scratch), "--contents", str(lessons), "--output-dir", str(folder)]
    options += ["--apps", "notebooks", "--apps", "tree", "--source-date-epoch", _EPOCH]
    options += ["--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"]
    run([sys.executable, "-m", "jupyterlite_core", "build", *options], "JupyterLite cannot be built", scratch)
    for file in folder.glob(_LEFT_OVER):
        file.unlink()
    _sort(folder / "api" / "contents" / "all.json")


def _sort(listing: Path) -> None:
    """The list of the lessons, in their order and not in that of a disk."""
    data = json.loads(listing.read_text(encoding="utf-8"))
    data["content"].sort(key=lambda entry: entry["name"])
    listing.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")
