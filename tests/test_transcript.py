"""What the model saw, and pictures: the same facts in HTML and in plain text, and nothing external."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from memory_tutor.cassette import Request, Response
from memory_tutor.pictures import Chart, Lines
from memory_tutor.transcript import Call, Transcript

#: What a page is asked to know.
TAGS = {"div", "p", "b", "br", "details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td"}
TAGS |= {"svg", "defs", "pattern", "path", "rect", "circle", "text"}

SAM = {"role": "user", "content": "My name is Sam"}
HELLO = {"role": "assistant", "content": "Hello Sam!"}
ASK = {"role": "user", "content": "What's my name? <script>alert(1)</script>"}


def chat(*messages: Any, path: str = "/v1/chat/completions", **more: Any) -> Request:
    return Request("POST", path, {"model": "m", "messages": list(messages), **more})


def reply(text: str | None, usage: bool = True, **message: Any) -> Response:
    body: dict[str, Any] = {"model": "real", "choices": [{"message": {"content": text, **message}}]}
    if usage:
        body["usage"] = {"prompt_tokens": 33, "completion_tokens": 7}
    return Response(200, "application/json", json.dumps(body))


def two_calls() -> Transcript:
    transcript = Transcript()
    transcript.begin(chat(SAM)).response = reply("Hello Sam!")
    transcript.begin(chat(SAM, HELLO, ASK)).response = reply("Your name is Sam.", usage=False)
    return transcript


def words(html: str) -> list[str]:
    assert "http" not in html and "<script" not in html and "src=" not in html
    return re.findall(r"\S+", unescape(re.sub(r"<[^>]+>", " ", html)))


def test_plain_text_and_html_say_the_same() -> None:
    transcript = two_calls()
    assert sorted(words(transcript._repr_html_())) == sorted(re.findall(r"\S+", repr(transcript)))
    for fact in ("Request 2: 3 messages to /chat/completions", "33 in the request", "7 in the reply", "not counted"):
        assert fact in repr(transcript)


def test_what_is_new_since_the_call_before() -> None:
    rows = [line.split()[:4] for line in repr(two_calls()[1]).splitlines()[2:5]]
    assert [row[:2] for row in rows] == [["0", "user"], ["1", "assistant"], ["2", "user"]]
    assert ["new" in row for row in rows] == [False, True, True]


def test_what_a_window_keeps_is_not_new_and_what_is_sent_twice_is() -> None:
    transcript = Transcript()
    transcript.begin(chat(SAM, HELLO))
    call = transcript.begin(chat({"role": "system", "content": "Be brief."}, HELLO, HELLO, ASK))
    assert ["new" in line.split()[:4] for line in repr(call).splitlines()[2:6]] == [True, False, True, True]


def test_length_index_slice_and_nothing() -> None:
    transcript = two_calls()
    assert len(transcript) == 2 and transcript[-1].number == 2
    assert [call.number for call in transcript[1:]] == [2]
    assert repr(Transcript()) == "No requests have been made yet." and "No requests" in Transcript()._repr_html_()
    with pytest.raises(IndexError, match=r"There is no request \[-1\]. No requests have been made yet."):
        Transcript()[-1]
    with pytest.raises(IndexError, match="There are 2 so far"):
        transcript[2]


SYSTEM = {"role": "system", "content": "Be brief."}


def pad(goal: str) -> dict[str, str]:
    return {"role": "system", "content": f'The pad: {{"goal": "{goal}"}}'}


def said(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Question {number}"}, {"role": "assistant", "content": f"Answer {number}"}]


def windowed(turns: int, window: int) -> Transcript:
    """A conversation of which each request holds the system message, a pad and the last messages."""
    transcript, stored = Transcript(), list[dict[str, str]]()
    for number in range(turns):
        question, answer = said(number)
        stored.append(question)
        transcript.begin(chat(SYSTEM, pad(str(number)), *stored[-window:])).response = reply(answer["content"])
        stored.append(answer)
    return transcript


@pytest.mark.parametrize(
    "thing",
    [
        windowed(turns=4, window=3),
        windowed(turns=4, window=3)[-1],
        windowed(turns=4, window=3).diff(),
        Chart("t", [("a", 1)], "tokens"),
        Lines("t", {"a": [1, 2], "b": [2, 3]}),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_shown_needs_nothing_that_a_page_may_not_have(thing: Any) -> None:
    """No scripts, style sheets, variables of a theme, addresses: VS Code and a static page have their own."""
    html = thing._repr_html_()
    assert set(re.findall(r"<(\w+)", html)) <= TAGS
    assert not re.search(r"var\(|class=|\bon\w+=|href|src=|@|url\((?!#)", html)
    assert repr(thing), "VS Code shows the plain text alone in a workspace that is not trusted"


def marks(call: Call) -> list[tuple[str, str]]:
    """The mark and the text of each row."""
    table = ElementTree.fromstring(call._repr_html_())
    rows = [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")][1:]
    return [(row[3], row[4]) for row in rows]


def test_what_a_window_dropped_is_told_and_an_old_pad_is_no_loss() -> None:
    call = windowed(turns=3, window=3)[-1]
    assert marks(call) == [
        ("", "Be brief."),
        ("new, pad", 'The pad: {"goal": "2"}'),
        ("", "Question 1"),
        ("new", "Answer 1"),
        ("new", "Question 2"),
        ("dropped", "Question 0"),
        ("dropped", "Answer 0"),
        ("reply", "Answer 2"),
    ]


def test_another_conversation_drops_nothing() -> None:
    transcript = Transcript()
    transcript.begin(chat(SYSTEM, *said(1)))
    assert transcript.begin(chat(SYSTEM, said(2)[0])).dropped == []


def sent(*conversations: list[dict[str, str]], window: int) -> Transcript:
    """Requests of conversations, one after another, each with the system message and the last messages."""
    transcript = Transcript()
    for stored in conversations:
        for end in range(1, len(stored) + 1, 2):
            transcript.begin(chat(SYSTEM, *stored[:end][-window:])).response = reply("OK.")
    return transcript


def left_out(transcript: Transcript) -> list[int]:
    """How many messages each row of the picture has left out."""
    return [len(row.left_out) for row in transcript.strip().rows]


FIVE = [message for number in range(5) for message in said(number)]
SIX = [*FIVE[:6], {"role": "user", "content": "And of Spain?"}, {"role": "assistant", "content": "Madrid."}, *FIVE[6:]]


@pytest.mark.parametrize(
    ("first", "window", "known"),
    [(FIVE, 9, [0] * 5), (FIVE, 5, [0, 0, 0, 2, 4]), (FIVE[:6], 5, [0, 0, 0]), (FIVE[:8], 5, [0, 0, 0, 2])],
    ids=["whole", "slid", "just whole", "just slid"],
)
def test_a_cell_that_is_run_again_with_another_text_begins_a_conversation(
    first: list[dict[str, str]], window: int, known: list[int]
) -> None:
    """Nothing of its own has been left out yet, whatever the last request of the run before held."""
    transcript = Transcript([*sent(first, window=window)])
    for end in range(1, len(SIX) + 1, 2):
        transcript.begin(chat(SYSTEM, *SIX[:end][-9:]))
    assert left_out(transcript) == [*known, 0, 0, 0, 0, 0, 2]
    assert [len(call.dropped) for call in transcript][len(known) :] == [0, 0, 0, 0, 0, 2]


def test_a_question_of_the_conversation_before_that_comes_later_here_is_not_dropped() -> None:
    """The pitfall of a failed call, and its fix: what dangles is sent, and then it is not."""
    norway, italy = ({"role": "user", "content": f"Name one city in {country}."} for country in ("Norway", "Italy"))
    transcript = Transcript()
    transcript.begin(chat(SYSTEM, norway)).error = "no connection"
    assert transcript.begin(chat(SYSTEM, norway, italy)).goes_on, "the question that dangles is of this conversation"
    transcript.begin(chat(SYSTEM, norway)).error = "no connection"
    assert transcript[-1].dropped == [] and left_out(transcript) == [0, 0, 0]


def test_a_whole_history_after_a_window_of_it_has_left_nothing_out() -> None:
    transcript = sent(FIVE[:8], window=3)
    assert left_out(transcript)[-1] == 4
    transcript.begin(chat(SYSTEM, *FIVE[:5]))
    assert transcript[-1].dropped == [] and left_out(transcript)[-1] == 0


@pytest.mark.parametrize("again", [1, 2])
def test_a_request_that_is_sent_again_goes_on(again: int) -> None:
    """The SDK tries again, and so does a learner: what the window has left out stays left out."""
    transcript = sent(FIVE, window=5)
    for _ in range(again):
        transcript.begin(chat(SYSTEM, *FIVE[:9][-5:]))
    assert left_out(transcript)[-1 - again :] == [4] * (again + 1)


def test_a_window_that_holds_on_to_the_first_message_still_drops_others() -> None:
    transcript = Transcript()
    for end in (5, 7):
        transcript.begin(chat(SYSTEM, FIVE[0], *FIVE[end - 3 : end]))
    assert transcript[-1].dropped == FIVE[2:4] and left_out(transcript)[-1] == 2


def test_of_thousands_of_requests_the_last_knows_where_its_conversation_began() -> None:
    transcript = Transcript()
    for number in range(5000):
        transcript.begin(chat({"role": "user", "content": f"{number}"}, {"role": "user", "content": f"{number + 1}"}))
    assert transcript[-1].goes_on
    assert not transcript.begin(chat({"role": "user", "content": "0"}, {"role": "user", "content": "5000"})).goes_on


def test_a_system_message_that_went_missing_is_dropped() -> None:
    transcript = Transcript()
    transcript.begin(chat(SYSTEM, *said(1)))
    assert transcript.begin(chat(*said(1), said(2)[0])).dropped == [SYSTEM]


@pytest.mark.parametrize("text", ["Answer with {", "Use {braces}", "[1, 2]", "{1: 2}", "{" * 5000, ""])
def test_an_instruction_without_a_json_object_is_no_pad(text: str) -> None:
    call = Call(1, chat({"role": "system", "content": text}))
    assert marks(call)[0][0] == "new"


def test_tokens_add_up_over_requests_that_were_not_counted_too() -> None:
    transcript = Transcript()
    for usage in (True, False, True):
        transcript.begin(chat(SAM)).response = reply("Hi", usage=usage)
    assert "in all" not in repr(transcript[0])
    assert "80 in all requests so far" in repr(transcript[2])
    assert "80 in all requests so far" in repr(transcript[2:])
    assert repr(transcript).count("in all requests so far") == 1


def test_a_long_request_shows_its_ends() -> None:
    call = Call(1, chat(*(message for number in range(100) for message in said(number))))
    lines = repr(call).splitlines()
    assert "10 to 169" in lines[12] and "(160 messages not shown)" in lines[12]
    assert "Question 99" in lines[-4] and len(lines) == 45


def test_in_several_requests_what_was_there_before_is_folded() -> None:
    transcript = windowed(turns=4, window=99)
    assert "(5 messages as before)" in repr(transcript).split("Request 4")[1]
    assert "as before" not in repr(transcript[3])


def test_of_very_many_requests_the_newest_are_shown() -> None:
    transcript = windowed(turns=120, window=4)
    for text in (repr(transcript), transcript._repr_html_()):
        assert "Request 120:" in text and "Request 71:" in text and "Request 70:" not in text
        assert "the newest 50 of 120 requests" in text
    assert "request 71: 6 messages, 137 left out" in transcript._repr_html_()


def test_a_transcript_of_three_requests_says_the_same_in_both_forms() -> None:
    transcript = windowed(turns=4, window=3)
    bare = re.sub(r"<svg.*?</svg>", "", transcript._repr_html_())
    assert sorted(words(bare)) == sorted(re.findall(r"\S+", repr(transcript)))
    assert transcript._repr_html_().count("<details") == 4 and transcript._repr_html_().count("<details open") == 1


def test_the_strip_has_a_block_for_each_message_and_hollow_ones_for_those_left_out() -> None:
    html = windowed(turns=4, window=3).strip()._repr_html_()
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    assert svg.get("role") == "img" and "request 4: 5 messages, 4 left out, 33 tokens" in svg.get("aria-label", "")
    patterns = {each.get("id") for each in svg.iter("pattern")}
    blocks = dict[str, int]()
    for path in svg.findall("path"):
        fill = path.get("fill", "")
        assert fill == "none" or fill[5:-1] in patterns
        blocks[fill[5:].partition("-")[0]] = blocks.get(fill[5:].partition("-")[0], 0) + path.get("d", "").count("M")
    assert blocks == {"system": 8, "user": 1 + 2 * 3, "assistant": 3, "": 2 + 4}
    assert {"system", "user", "assistant", "left out"} <= {each.text for each in svg.iter("text")}


def test_the_strips_table_has_all_its_numbers() -> None:
    rows = [line.split() for line in repr(windowed(turns=4, window=3).strip()).splitlines()]
    assert " ".join(rows[1]) == "request messages system user assistant left out prompt completion so far"
    foot = "system, user, assistant: characters; left out: messages; prompt, completion, so far: tokens"
    assert " ".join(rows[-1]) == foot
    assert rows[-2] == ["4", "5", "31", "20", "8", "4", "33", "7", "160"]


@pytest.mark.parametrize("messages", [[], [None, 3, "text", {}], [{"role": "function", "content": "x" * 100_000}]])
def test_a_strip_of_odd_requests(messages: list[Any]) -> None:
    transcript = Transcript()
    for _ in range(3):
        transcript.begin(chat(*messages))
    assert repr(transcript) and ElementTree.fromstring(f"<div>{transcript._repr_html_()}</div>")


def test_a_strip_of_nothing() -> None:
    nothing = Transcript()
    assert repr(nothing.strip()) == repr(nothing) and nothing.strip()._repr_html_() == nothing._repr_html_()


def test_two_requests_are_compared_message_by_message() -> None:
    difference = windowed(turns=4, window=3).diff(0, -1)
    assert [line.split()[:4] for line in repr(difference).splitlines()[2:-1]] == [
        ["in", "both", "system", "9"],
        ["only", "in", "1", "system"],
        ["only", "in", "1", "user"],
        ["only", "in", "4", "system"],
        ["only", "in", "4", "user"],
        ["only", "in", "4", "assistant"],
        ["only", "in", "4", "user"],
    ]
    assert sorted(words(difference._repr_html_())) == sorted(re.findall(r"\S+", repr(difference)))


def test_a_comparison_tells_other_settings_and_folds_what_is_in_both() -> None:
    transcript = Transcript()
    transcript.begin(chat(*said(1), *said(2), temperature=0))
    transcript.begin(chat(*said(1), *said(2), SAM, stop=["."]))
    shown = repr(transcript.diff())
    assert "(4 messages)" in shown and "temperature: 0, then not set" in shown and "stop: not set, then" in shown


@pytest.mark.parametrize("places", [(0, 5), (0, "1"), (None, 0), (0, 1.5)])
def test_a_comparison_needs_two_requests(places: Any) -> None:
    with pytest.raises(IndexError):
        two_calls().diff(*places)


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        (reply(None), ""),
        (reply(None, tool_calls=[{"function": {"name": "look_up"}}]), "(calls look_up)"),
        (Response(400, "application/json", '{"error": {"message": "too long"}}'), "(400: too long)"),
        (Response(502, "text/html", "<h1>Bad</h1>"), "(502: <h1>Bad</h1>)"),
        (Response(200, "application/json", "not json"), ""),
        (Response(200, "text/event-stream", 'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'
                  'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\ndata: [DONE]\n\n'), "Hi"),
        (Response(200, "application/json", '{"output": [{"content": [{"text": "Hi"}]}], "usage": {"input_tokens": 4}}'),
         "Hi"),
        (Response(200, "text/event-stream", 'data: {"type": "response.output_text.delta", "delta": "Hi"}\n\n'
                  'data: {"type": "response.completed", "response": {"usage": {"input_tokens": 4}}}\n\n'), "Hi"),
        (None, "(no reply)"),
    ],
)  # fmt: skip
def test_replies_of_every_kind(response: Response | None, shown: str) -> None:
    call = Call(1, chat(SAM), response)
    assert call.reply == shown
    assert shown in repr(call)


def test_usage_of_a_stream_and_of_a_response_has_one_name() -> None:
    stream = Response(200, "text/event-stream", 'data: {"type": "response.completed", "response": '
                      '{"usage": {"input_tokens": 4, "output_tokens": 2}}}\n\n')  # fmt: skip
    assert Call(1, chat(SAM), stream).usage == {"prompt_tokens": 4, "completion_tokens": 2}


@pytest.mark.parametrize(
    "message",
    [
        None, 3, "text", {}, {"role": None, "content": [{"text": "a"}, 3]},
        {"tool_calls": {"a": 1}}, {"tool_calls": 3}, {"tool_calls": [None, {"function": "x"}]},
    ],
)  # fmt: skip
def test_odd_messages_are_shown(message: Any) -> None:
    call = Call(1, chat(message))
    assert repr(call) and call._repr_html_()


def test_what_would_move_the_cursor_or_cannot_be_stored_is_escaped() -> None:
    call = Call(1, chat({"role": "user\r", "content": "a\rb\x1b[2J\x00\u2028c\ud83d 👩\u200d👧\tend"}))
    for text in (repr(call), call._repr_html_()):
        assert r"a\rb\x1b[2J\x00\u2028c\ud83d 👩" in text and "\u200d👧\\tend" in text
        assert text.encode("utf-8") and not set(text) & {"\r", "\x1b", "\x00", "\u2028"}


def test_a_chart_has_bars_with_names_and_its_numbers_as_text() -> None:
    chart = Chart("Tokens <per> turn", [("turn 1", 20), ("turn 2", 1040.5)], "tokens")
    html = chart._repr_html_()
    assert html.count('role="img"') == 2 and 'aria-label="turn 2: 1,040.5 tokens"' in html
    assert "1,040.5 tokens" in repr(chart)
    # A page that strips pictures leaves a table that still says everything, once.
    bare = re.sub(r"<svg.*?</svg>", "", html)
    assert words(bare) == ["Tokens", "<per>", "turn", "tokens", "turn", "1", "20", "turn", "2", "1,040.5"]
    assert html == Chart("Tokens <per> turn", [("turn 1", 20), ("turn 2", 1040.5)], "tokens")._repr_html_()


@pytest.mark.parametrize("rows", [[], [("nothing", 0)]])
def test_a_chart_of_nothing(rows: list[tuple[str, float]]) -> None:
    assert "empty" in repr(Chart("empty", rows)) and "empty" in Chart("empty", rows)._repr_html_()


def test_lines_have_names_dashes_marks_and_their_numbers_as_a_table() -> None:
    lines = Lines("Tokens & <cost>", {"all": [20, 60, 1200.5], "a window": [20, 60, 100]}, "tokens", "request")
    html = lines._repr_html_()
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    assert svg.get("role") == "img" and "all ends at 1,200.5, a window ends at 100 tokens" in svg.get("aria-label", "")
    paths = [each for each in svg.iter("path") if each.get("stroke-dasharray")]
    assert len({each.get("stroke-dasharray") for each in paths}) == 2
    assert len(list(svg.iter("circle"))) == 3 and len(list(svg.iter("rect"))) == 3
    assert {"all", "a window"} <= {each.text for each in svg.iter("text")}
    table = ElementTree.fromstring(html[html.index("<table") :])
    assert [[cell.text for cell in row] for row in table.iter("tr")] == [
        ["request", "all", "a window"],
        ["1", "20", "20"],
        ["2", "60", "60"],
        ["3", "1,200.5", "100"],
    ]
    assert repr(lines).splitlines()[-1].split() == ["3", "1,200.5", "100"]
    assert "colour" not in html and "color:" not in html and "<cost>" not in html


def test_names_of_lines_that_end_together_do_not_cover_each_other() -> None:
    html = Lines("t", {"a": [1, 5], "b": [2, 5], "c": [3, 5]})._repr_html_()
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    heights = [float(each.get("y", "0")) for each in svg.iter("text") if each.text in ("a", "b", "c")]
    assert all(second - first >= 16 for first, second in pairwise(heights))


@pytest.mark.parametrize("series", [{}, {"a": []}, {"a": [0]}, {"a": [0, 0]}])
def test_lines_of_nothing(series: dict[str, list[float]]) -> None:
    assert "empty" in repr(Lines("empty", series)) and "empty" in Lines("empty", series)._repr_html_()


@pytest.mark.parametrize("series", [{"a": [1], "b": [1, 2]}, {key: [1] for key in "abcde"}])
def test_lines_that_cannot_be_drawn(series: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match=r"as many|told apart"):
        Lines("t", series)
