"""Pyodide, Python for browsers: its files, and the list from which it loads packages when a cell imports them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterable
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name, parse_wheel_filename

from memory_tutor.site import wheels
from memory_tutor.site.errors import SiteError, run

#: The npm package: Pyodide without the packages that its makers build.
PACKAGE, VERSION = "pyodide", "314.0.7"
#: What a browser loads of it.
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"


def fetch(folder: Path) -> Path:
    """Fetch Pyodide's npm package.

    Args:
        folder: to make, for it.

    Returns:
        The folder that holds its files.

    Raises:
        SiteError: npm is not there, or does not get it.
    """
    folder.mkdir(parents=True)
    problem = f"Pyodide cannot be fetched (get {PACKAGE}@{VERSION} from npm by hand, and name its folder: --pyodide)"
    run(["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], problem, folder)
    made = folder / "package"
    made.mkdir()
    for archive in folder.glob("*.tgz"):
        with tarfile.open(archive) as packed:
            for member in packed:
                if (name := member.name.removeprefix("package/")) in (*FILES, LOCK) and (
                    file := packed.extractfile(member)
                ):
                    (made / name).write_bytes(file.read())
    return made


def read_lock(folder: Path) -> dict[str, Any]:
    """Pyodide's own list of packages, which also says which Python it is.

    Raises:
        SiteError: this is no folder of Pyodide.
    """
    missing = [name for name in (*FILES, LOCK) if not (folder / name).is_file()]
    if missing:
        raise SiteError(f"{folder} is not Pyodide: it has no {', '.join(missing)}.")
    lock: dict[str, Any] = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    return lock


def lay(folder: Path, runtime: Path, lock: dict[str, Any], packages: Iterable[Path]) -> None:
    """Lay down what a browser loads: Pyodide, wheels, and a list that names these wheels alone.

    Args:
        folder: to make.
        runtime: with Pyodide's files.
        lock: Pyodide's own list.
        packages: the wheels.
    """
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(runtime / name, folder / name)
    markers = wheels.environment(lock)
    entries = {}
    for wheel in sorted(packages, key=lambda wheel: wheel.name):
        shutil.copyfile(wheel, folder / wheel.name)
        entry = _entry(wheel, markers)
        entries[entry["name"]] = entry
    for entry in entries.values():
        entry["depends"] = [name for name in entry["depends"] if name in entries]
    text = json.dumps({**lock, "packages": entries}, sort_keys=True, separators=(",", ":"))
    (folder / LOCK).write_text(text, encoding="utf-8")


def _entry(wheel: Path, markers: dict[str, str]) -> dict[str, Any]:
    """What the list says of a package."""
    name, version, *_ = parse_wheel_filename(wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        paths = archive.namelist()
        (about,) = [path for path in paths if path.endswith(".dist-info/METADATA") and path.count("/") == 1]
        metadata = HeaderParser().parsestr(archive.read(about).decode("utf-8"))
    code = [path.split("/") for path in paths if path.endswith((".py", ".so")) and ".dist-info/" not in path]
    return {
        "name": canonicalize_name(name),
        "version": str(version),
        "file_name": wheel.name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "imports": sorted({parts[0].split(".")[0] for parts in code}),
        "depends": sorted(set(wheels.requirements(metadata.get_all("Requires-Dist") or [], markers))),
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }
