"""What a replayed call costs, as a ratio to the same call over httpx2.MockTransport. Run: python tests/bench/replay.py

Prints, from one run on one machine: the ratio for cassettes of 1, 100 and 5,000 interactions, the time of a
miss, and what `import memory_tutor` and its start add to `import openai` and vcr. Trust the ratios.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import httpx2
import openai

from memory_tutor import replay
from memory_tutor.cassette import Interaction, Recording, Request, Response

CALLS = 300
ROUNDS = 7
SIZES = (1, 100, 5_000)


def conversation(number: int) -> list[dict[str, str]]:
    """A request of four messages that no other number has."""
    return [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": f"My name is Sam, and my number is {number}."},
        {"role": "assistant", "content": "Hello Sam! How can I help you today?"},
        {"role": "user", "content": "What's my name?"},
    ]


REPLY = json.dumps(
    {
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Your name is Sam."}}
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46},
    }
)


def recording(size: int) -> Recording:
    return Recording(
        Interaction(
            Request("POST", "/chat/completions", {"model": "m", "messages": conversation(number)}),
            Response(200, "application/json", REPLY),
        )
        for number in range(size)
    )


def per_call(client: openai.OpenAI, size: int) -> float:
    """The mean time of a call, in milliseconds."""
    begin = time.perf_counter()
    for call in range(CALLS):
        client.chat.completions.create(model="m", messages=conversation(call % size))  # type: ignore[arg-type]
    return (time.perf_counter() - begin) / CALLS * 1e3


def floor() -> float:
    replay.close()
    headers = {"content-type": "application/json"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=REPLY.encode(), headers=headers))
    with openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport)) as client:
        return per_call(client, 1)


def replayed(size: int, recorded: Recording) -> float:
    replay._enter(replay.Tape("bench", "replay", recorded))
    with openai.OpenAI(api_key="k") as client:
        return per_call(client, size)


def miss() -> float:
    """The median time of a refused request, in milliseconds."""
    client = openai.OpenAI(api_key="k")
    times = []
    for number in range(20):
        messages = [*conversation(3)[:-1], {"role": "user", "content": f"Whats my name, {number}?"}]
        begin = time.perf_counter()
        try:
            client.chat.completions.create(model="m", messages=messages)  # type: ignore[arg-type]
        except replay.NotRecorded:
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def seconds(code: str) -> float:
    """The best of three fresh interpreters, in seconds."""

    def once() -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begin

    return min(once() for _ in range(3))


def best(measure: Callable[[], float]) -> float:
    gc.collect()
    return measure()


def main() -> None:
    recordings = {size: recording(size) for size in SIZES}
    floors: list[float] = []
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):  # interleaved, so that a noisy moment does not fall on one size alone
        floors.append(best(floor))
        for size in SIZES:
            times[size].append(best(lambda size=size: replayed(size, recordings[size])))
    base = statistics.median(floors)
    print(f"floor, httpx2.MockTransport with no tape open: {base:.2f} ms a call (median of {ROUNDS} x {CALLS})")
    for size in SIZES:
        took = statistics.median(times[size])
        print(f"replay, {size:>5} interactions: {took:.2f} ms a call, {took / base:.2f} times the floor")
        replay._enter(replay.Tape("bench", "replay", recordings[size]))
        print(f"        a miss: {miss():.1f} ms")
    replay.close()
    bare = seconds("import openai, vcr")
    package = seconds("import openai, vcr, memory_tutor") - bare
    print(f"import openai, vcr: {bare:.2f} s; with import memory_tutor: {package:+.2f} s")
    print(f"and all that start() imports: {seconds('import openai, vcr, memory_tutor.tutor') - bare:+.2f} s")


if __name__ == "__main__":
    main()
