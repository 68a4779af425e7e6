"""OpenAI's legacy completions: prompts in their four forms, responses streamed or not."""

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
from tests.support.hypothesis_profiles import example_count
from tests.wire.json_strategies import relaxed, values_of
from tests.wire.openai.openai_cases import answer, make_call, parse_chunks, render
from tests.wire.stream_encoding import encode_stream

PATH = "/v1/completions"
ROUTE = next(route for route in WIRE.endpoints if route.pattern == PATH)
TEXT = TextPart("Hello")
PARTS_WITHOUT_TEXT = (ReasoningPart("Hm."), ToolCallPart("c", "f", "{}"))


def read(body: Any, **params: str) -> CanonicalRequest:
    raw = msgspec.json.encode(body)
    return ROUTE.read(make_call(path=PATH, body=raw), ROUTE, params, read_body(raw, Limits()))


def parse(**fields: Any) -> CanonicalRequest:
    return read({"model": "m", **fields})


def catch_error(**fields: Any) -> ErrorAnswer:
    with pytest.raises(WireError) as raised:
        parse(**fields)
    return raised.value.answer


def render_texts(request: CanonicalRequest, *choices: Sequence[AnswerPart]) -> list[str]:
    """Return the text of each choice; check that a stream has the same."""
    response = answer(*choices)
    body = render(request, response, endpoint=ROUTE)
    validate_type(type_=Completion, value=body)
    streamed = [""] * len(choices)
    for chunk in stream_chunks(request, response):
        for choice in chunk["choices"]:
            streamed[choice["index"]] += choice["text"]
    rendered_texts = [choice["text"] for choice in body["choices"]]
    assert streamed == rendered_texts
    return rendered_texts


def stream_chunks(request: CanonicalRequest, response: CanonicalResponse) -> list[dict[str, Any]]:
    return parse_chunks(encode_stream(ROUTE.encode(request, response), response))


@pytest.mark.parametrize(
    ("prompt", "expected_texts"),
    [
        (None, [""]),
        ("Hello", ["Hello"]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [""]),
        ([[1], [2, 3]], ["", ""]),
    ],
)
def test_a_prompt_is_a_user_message(prompt: Any, expected_texts: list[str]) -> None:
    request = parse(prompt=prompt)
    assert [(message.role, message.text) for message in request.messages] == [
        ("user", text) for text in expected_texts
    ]
    assert request.n == len(expected_texts)


def test_token_prompt_is_an_opaque_part() -> None:
    assert parse(prompt=[1, 2]).messages[0].parts == (OpaquePart("tokens"),)


def test_fields_of_a_request_are_read() -> None:
    request = parse(prompt="x", n=3, max_tokens=5, temperature=0.5, top_p=1, stop="\n", stream=True)
    assert (request.model, request.route, request.n) == ("m", PATH, 3)
    assert (request.max_tokens, request.temperature, request.top_p) == (5, 0.5, 1.0)
    assert (request.stop, request.stream) == (("\n",), True)


def test_each_prompt_gets_its_choices() -> None:
    request = parse(prompt=["a", "b"], n=2, echo=True)
    assert request.n == 4
    assert render_texts(request, [TEXT], [TEXT], [TEXT], [TEXT]) == [
        "aHello",
        "aHello",
        "bHello",
        "bHello",
    ]


@pytest.mark.parametrize("choices", [1, 2, 3, 5])
def test_scripted_choices_are_shared_out_among_the_prompts(choices: int) -> None:
    texts = render_texts(parse(prompt=["a", "b"], echo=True), *([[TEXT]] * choices))
    assert [text[0] for text in texts] == sorted(text[0] for text in texts)
    assert texts[0] == "aHello"


@pytest.mark.parametrize(
    ("body", "param"),
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
def test_invalid_value_is_rejected_with_its_path(body: dict[str, Any], param: str) -> None:
    error = catch_error(**body)
    assert (error.status, error.param) == (400, param)


def test_response_has_exact_fields() -> None:
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


def test_stream_has_exact_chunks() -> None:
    head = {
        "id": "cmpl-f00d",
        "object": "text_completion",
        "created": 1735689600,
        "model": "gpt-4o",
        "system_fingerprint": None,
    }
    choices = [("Hel", None), ("lo", None), ("", "stop")]
    assert stream_chunks(parse(prompt="x"), answer([TEXT])) == [
        {
            **head,
            "choices": [{"text": text, "index": 0, "logprobs": None, "finish_reason": reason}],
        }
        for text, reason in choices
    ]


def test_usage_is_streamed_if_requested() -> None:
    request = parse(prompt="x", stream_options={"include_usage": True})
    *chunks, last = stream_chunks(request, answer([TEXT]))
    assert {chunk["usage"] for chunk in chunks} == {None}
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 11)


def test_parts_without_text_are_left_out() -> None:
    assert render_texts(parse(), [*PARTS_WITHOUT_TEXT, TEXT, RefusalPart("No.")]) == ["HelloNo."]


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
def test_finish_reason_is_translated(finish: FinishReason, reason: str) -> None:
    body = render(parse(), answer([TEXT], finish=finish), endpoint=ROUTE)
    assert body["choices"][0]["finish_reason"] == reason
    *_, last = stream_chunks(parse(), answer([TEXT], finish=finish))
    assert last["choices"][0]["finish_reason"] == reason


def test_choice_without_parts_is_finished() -> None:
    (chunk,) = stream_chunks(parse(), answer([]))
    assert chunk["choices"][0]["finish_reason"] == "stop"


def test_line_separator_is_escaped() -> None:
    response = answer([TextPart("a\u2028b")])
    stream_bytes = encode_stream(ROUTE.encode(parse(), response), response)
    assert b"\\u2028" in stream_bytes and "\u2028" not in stream_bytes.decode()


@relaxed(max_examples=example_count(500))
@given(
    st.one_of(
        values_of(CompletionCreateParamsNonStreaming), values_of(CompletionCreateParamsStreaming)
    ),
    st.none() | st.integers(1, 20),
    st.none() | st.integers(0, 5),
)
def test_every_request_that_the_official_types_allow_is_accepted(
    body: Any, n: int | None, logprobs: int | None
) -> None:
    prompt = body.get("prompt")
    if prompt == [] or (isinstance(prompt, list) and [] in prompt):
        prompt = "x"
    request = read({**body, "model": "m", "n": n, "prompt": prompt, "logprobs": logprobs})
    assert request.stream is bool(body.get("stream"))
    response_body = render(request, answer(*[[TEXT]] * request.n), endpoint=ROUTE)
    validate_type(type_=Completion, value=response_body)
