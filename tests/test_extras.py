"""An optional part that is not installed is told in one sentence, with the line that installs it."""

from __future__ import annotations

import tomllib

import pytest

from memory_tutor import extras
from memory_tutor.checkout import Checkout


def test_what_is_installed_is_no_matter() -> None:
    for extra in extras.EXTRAS:
        extras.need(extra)


def test_what_is_not_installed_is_said_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "redis", ("Redis", ("redis", "no_such_package.within")))
    with pytest.raises(extras.MissingExtra) as caught:
        extras.need("redis")
    assert 'pip install "memory-tutor[redis]"' in caught.value.message


def test_every_extra_is_one_of_the_package() -> None:
    with (Checkout.here().root / "pyproject.toml").open("rb") as file:
        offered = tomllib.load(file)["project"]["optional-dependencies"]
    assert extras.EXTRAS.keys() <= offered.keys()
