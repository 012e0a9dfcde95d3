"""Wheels that are written by us: the same content is the same bytes, on whatever day and machine."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

#: The oldest time that a zip can tell.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, bytes], requires: Iterable[str] = ()
) -> Path:
    """Write a wheel of pure Python.

    Args:
        folder: in which it is written.
        name: of the distribution.
        version: of it.
        files: their paths as in site-packages to their content.
        requires: names of other distributions.

    Returns:
        The wheel.
    """
    wheel = folder / f"{name.lower().replace('-', '_')}-{version}-py3-none-any.whl"
    about = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {other}" for other in requires]
    own = {
        f"{about}/METADATA": "".join(f"{line}\n" for line in metadata).encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: memory-tutor\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": b"",
    }
    write_zip(wheel, {**files, **own})
    return wheel


def write_zip(file: Path, members: Mapping[str, bytes]) -> None:
    """Write a zip, its members in order of their names."""
    with zipfile.ZipFile(file, "w") as made:
        for path, data in sorted(members.items()):
            member = zipfile.ZipInfo(path, _TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            member.create_system = 3  # or Windows would write another number
            made.writestr(member, data, compresslevel=9)
