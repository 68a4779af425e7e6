"""OpenAI's legacy completions: prompts in their four forms, answers whole and streamed."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import validate_type
from openai.types import Completion
from openai.types.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.wire import WIRE
from tests.support.hypothesis_profiles import often
from tests.wire.openai.openai_cases import answer, chunks_of, make_call, render
from tests.wire.played import played
from tests.wire.typed import relaxed, values_of

PATH = "/v1/completions"
ROUTE = next(route for route in WIRE.endpoints if route.pattern == PATH)
TEXT = TextPart("Hello")
LEFT_OUT = (ReasoningPart("Hm."), ToolCallPart("c", "f", "{}"))


def read(body: Any, **params: str) -> CanonicalRequest:
    raw = msgspec.json.encode(body)
    return ROUTE.read(make_call(path=PATH, body=raw), ROUTE, params, read_body(raw, Limits()))


def parse(**fields: Any) -> CanonicalRequest:
    return read({"model": "m", **fields})


def refused(**fields: Any) -> ErrorAnswer:
    with pytest.raises(WireError) as error:
        parse(**fields)
    return error.value.answer


def texts(request: CanonicalRequest, *choices: Sequence[AnswerPart]) -> list[str]:
    """What the choices say, whole and streamed alike."""
    response = answer(*choices)
    whole = render(request, response, endpoint=ROUTE)
    validate_type(type_=Completion, value=whole)
    streamed = [""] * len(choices)
    for chunk in stream(request, response):
        for choice in chunk["choices"]:
            streamed[choice["index"]] += choice["text"]
    said = [choice["text"] for choice in whole["choices"]]
    assert streamed == said
    return said


def stream(request: CanonicalRequest, response: CanonicalResponse) -> list[dict[str, Any]]:
    return chunks_of(played(ROUTE.encode(request, response), response))


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (None, [""]),
        ("Hello", ["Hello"]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [""]),
        ([[1], [2, 3]], ["", ""]),
    ],
)
def test_a_prompt_is_a_user_message(prompt: Any, said: list[str]) -> None:
    request = parse(prompt=prompt)
    assert [(message.role, message.text) for message in request.messages] == [
        ("user", text) for text in said
    ]
    assert request.n == len(said)


def test_tokens_are_carried() -> None:
    assert parse(prompt=[1, 2]).messages[0].parts == (OpaquePart("tokens"),)


def test_the_fields_of_a_request() -> None:
    request = parse(prompt="x", n=3, max_tokens=5, temperature=0.5, top_p=1, stop="\n", stream=True)
    assert (request.model, request.route, request.n) == ("m", PATH, 3)
    assert (request.max_tokens, request.temperature, request.top_p) == (5, 0.5, 1.0)
    assert (request.stop, request.stream) == (("\n",), True)


def test_each_prompt_gets_its_choices() -> None:
    request = parse(prompt=["a", "b"], n=2, echo=True)
    assert request.n == 4
    assert texts(request, [TEXT], [TEXT], [TEXT], [TEXT]) == [
        "aHello",
        "aHello",
        "bHello",
        "bHello",
    ]


@pytest.mark.parametrize("choices", [1, 2, 3, 5])
def test_scripted_choices_are_shared_out_among_the_prompts(choices: int) -> None:
    said = texts(parse(prompt=["a", "b"], echo=True), *([[TEXT]] * choices))
    assert [text[0] for text in said] == sorted(text[0] for text in said)
    assert said[0] == "aHello"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"prompt": 1}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": {}}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt[1]"),
        ({"prompt": ["a", 1]}, "prompt[1]"),
        ({"prompt": [["a"]]}, "prompt[0][0]"),
        ({"prompt": ["a"] * 65, "n": 2}, "prompt"),
        ({"n": 129}, "n"),
        ({"max_tokens": "x"}, "max_tokens"),
        ({"echo": 1}, "echo"),
        ({"logprobs": "x"}, "logprobs"),
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
    ],
)
def test_invalid_value_is_rejected_with_its_path(body: dict[str, Any], place: str) -> None:
    error = refused(**body)
    assert (error.status, error.param) == (400, place)


def test_a_whole_answer_is_all_of_this() -> None:
    assert render(parse(prompt="x"), answer([TEXT]), endpoint=ROUTE) == {
        "id": "cmpl-f00d",
        "object": "text_completion",
        "created": 1735689600,
        "model": "gpt-4o",
        "system_fingerprint": None,
        "choices": [{"text": "Hello", "index": 0, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "total_tokens": 11,
            "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 1,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
    }


def test_a_stream_is_these_chunks() -> None:
    head = {
        "id": "cmpl-f00d",
        "object": "text_completion",
        "created": 1735689600,
        "model": "gpt-4o",
        "system_fingerprint": None,
    }
    choices = [("Hel", None), ("lo", None), ("", "stop")]
    assert stream(parse(prompt="x"), answer([TEXT])) == [
        {
            **head,
            "choices": [{"text": text, "index": 0, "logprobs": None, "finish_reason": reason}],
        }
        for text, reason in choices
    ]


def test_usage_streams_where_it_is_asked_for() -> None:
    request = parse(prompt="x", stream_options={"include_usage": True})
    *chunks, last = stream(request, answer([TEXT]))
    assert {chunk["usage"] for chunk in chunks} == {None}
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 11)


def test_only_text_can_be_said() -> None:
    assert texts(parse(), [*LEFT_OUT, TEXT, RefusalPart("No.")]) == ["HelloNo."]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "stop"),
        ("stop_sequence", "stop"),
    ],
)
def test_a_choice_ends_for_a_reason_that_there_is(finish: FinishReason, reason: str) -> None:
    whole = render(parse(), answer([TEXT], finish=finish), endpoint=ROUTE)
    assert whole["choices"][0]["finish_reason"] == reason
    *_, last = stream(parse(), answer([TEXT], finish=finish))
    assert last["choices"][0]["finish_reason"] == reason


def test_a_choice_of_nothing_ends_all_the_same() -> None:
    (chunk,) = stream(parse(), answer([]))
    assert chunk["choices"][0]["finish_reason"] == "stop"


def test_a_line_separator_keeps_to_its_line() -> None:
    response = answer([TextPart("a\u2028b")])
    sent = played(ROUTE.encode(parse(), response), response)
    assert b"\\u2028" in sent and "\u2028" not in sent.decode()


@relaxed(max_examples=often(500))
@given(
    st.one_of(
        values_of(CompletionCreateParamsNonStreaming), values_of(CompletionCreateParamsStreaming)
    ),
    st.none() | st.integers(1, 20),
    st.none() | st.integers(0, 5),
)
def test_every_request_that_the_official_types_allow_is_accepted(
    body: Any, n: int | None, likely: int | None
) -> None:
    prompt = body.get("prompt")
    if prompt == [] or (isinstance(prompt, list) and [] in prompt):
        prompt = "x"
    request = read({**body, "model": "m", "n": n, "prompt": prompt, "logprobs": likely})
    assert request.stream is bool(body.get("stream"))
    whole = render(request, answer(*[[TEXT]] * request.n), endpoint=ROUTE)
    validate_type(type_=Completion, value=whole)
