"""What a check sees of a folder that a learner's code has written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_tutor.checks import folders


def test_files_and_folders_are_told_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.json").write_bytes(b"{}")
    (tmp_path / "b").write_bytes(b"")
    assert folders.entries(tmp_path) == {"b": b"", "inner": folders.FOLDER, "inner/a.json": b"{}"}


def test_a_folder_that_is_not_there_has_no_entries(tmp_path: Path) -> None:
    assert folders.entries(tmp_path / "gone") == {}


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(10**8)
    assert folders.entries(tmp_path) == {"large": f"a file of more than {folders.BYTES:,} bytes"}


def test_depth_and_number_have_an_end(tmp_path: Path) -> None:
    tmp_path.joinpath(*"abcdefghij").mkdir(parents=True)
    assert len(folders.entries(tmp_path)) == folders.DEPTH + 1
    for number in range(folders.ENTRIES + 50):
        (tmp_path / str(number)).touch()
    assert len(folders.entries(tmp_path, 0)) == folders.ENTRIES


@pytest.mark.skipif(os.name == "nt", reason="needs links and pipes of POSIX")
def test_nothing_is_followed_and_nothing_is_waited_for(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (folder / "to a folder").symlink_to(outside)
    (folder / "to a file").symlink_to(outside / "secret")
    (folder / "to itself").symlink_to(folder / "to itself")
    os.mkfifo(folder / "pipe")
    assert set(folders.entries(folder).values()) == {"no regular file"}
    assert folders.entries(folder / "to a folder") == {}
