"""Other names for another class: exchanged on the way, and back again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_tutor.learner import Learner, PipeLearner
from memory_tutor.variation import NAMES, Variation

ALL = [name for group in NAMES for name in group]
TEXTS = st.lists(
    st.sampled_from([*ALL, *map(str.lower, ALL), *map(str.upper, ALL), " ", "\n", "\\", '"', "é", "n", "A", "Ad", "s"])
).map("".join)


@given(TEXTS, st.integers())
def test_what_goes_there_and_back_is_what_it_was(text: str, seed: int) -> None:
    variation = Variation(seed)
    assert variation.ours(variation.theirs(text)) == text
    assert len(variation.theirs(text)) == len(text)
    assert variation.ours(json.dumps(variation.theirs(text))) == json.dumps(text)


def test_names_stay_with_their_like_and_differ_by_seed() -> None:
    assert len({name for group in NAMES for name in group}) == len(ALL)
    assert all(len(set(map(len, group))) == 1 for group in NAMES)
    assert len({Variation(seed).theirs("Ada in Oslo") for seed in range(20)}) > 10
    assert not [(one, other) for one in ALL for other in ALL if one != other and one.lower().endswith(other.lower())]
    assert Variation(3).theirs("ada") == Variation(3).theirs("Ada").lower() == Variation(3).theirs("ADA").lower()
    assert Variation(3).theirs(["Adapter", {"Ada": None}]) == ["Adapter", {"Ada": None}]


def test_what_is_nested_beyond_reason_is_refused() -> None:
    nested: object = "Ada"
    for _ in range(1000):
        nested = [nested]
    with pytest.raises(ValueError, match="too deep"):
        Variation(1).ours(nested)


CELLS = [
    'from openai import OpenAI\nclient, model = OpenAI(api_key="k"), "m"',
    "def ask(text):\n"
    "    print(text)\n"
    "    asked = client.chat.completions.create(model=model, messages=[{'role': 'user', 'content': text}])\n"
    "    return text, asked.choices[0].message.content, text.count('Ada')",
]


def test_a_check_says_and_sees_its_own_names_and_the_code_others() -> None:
    seed = next(seed for seed in range(9) if "Ada" not in Variation(seed).theirs("Ada Bob"))
    with PipeLearner(CELLS, seed=seed) as learner:
        views: list[Learner] = [learner, learner.fresh(["ask"]), learner.on_ascii()]
        for view in views:
            view.script("Hello, Ada and Bob")
            outcome = view.call("ask", "I am Ada")
            assert outcome.value == ("I am Ada", "Hello, Ada and Bob", 0)
            assert outcome.stdout == "I am Ada\n"
            assert view.requests[0].messages == [{"role": "user", "content": "I am Ada"}]
            assert view.seed == seed
