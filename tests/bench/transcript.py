"""What it takes to show a conversation of 30 turns. Run: python tests/bench/transcript.py

The conversation has a system message and a pad, and a window of 12 messages from the seventh turn on. Prints medians of
100 runs and sizes, for the transcript as a page (with its picture) and as plain text.
"""

from __future__ import annotations

import json
import time
from statistics import median

from memory_tutor.cassette import Request, Response
from memory_tutor.transcript import Transcript

TURNS, WINDOW, TIMES = 30, 12, 100


def conversation() -> Transcript:
    transcript, stored = Transcript(), list[dict[str, str]]()
    for number in range(TURNS):
        stored.append({"role": "user", "content": f"Question {number}: " + "what follows from that? " * (number % 5)})
        pad = {"role": "system", "content": f'The pad: {{"goal": "Plan a party", "done": {number}}}'}
        messages = [{"role": "system", "content": "You are a helpful assistant."}, pad, *stored[-WINDOW:]]
        call = transcript.begin(Request("POST", "/v1/chat/completions", {"model": "m", "messages": messages}))
        reply = {"role": "assistant", "content": f"Answer {number}: " + "and so it goes on. " * (number % 7)}
        usage = {"prompt_tokens": 100 + number, "completion_tokens": 20}
        body = {"model": "m", "choices": [{"message": reply}], "usage": usage}
        call.response = Response(200, "application/json", json.dumps(body))
        stored.append(reply)
    return transcript


def main() -> None:
    transcript = conversation()
    for name, show in (("page", transcript._repr_html_), ("plain text", transcript.__repr__)):
        taken = []
        for _ in range(TIMES):
            begun = time.perf_counter()
            shown = show()
            taken.append(time.perf_counter() - begun)
        print(f"{name:<10}  {median(taken) * 1000:6.1f} ms  {len(shown.encode()) / 1000:6.1f} kB")


if __name__ == "__main__":
    main()
