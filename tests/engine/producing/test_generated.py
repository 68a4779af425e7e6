"""Steps with `generate`: the answer depends on the request and on scripted fields."""

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    ErrorAnswer,
    JsonFormat,
)
from scenarios_app.engine.document import compile_scenario, dump, load_documents
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.producing.lorem import lorem_answer
from scenarios_app.engine.producing.produce import Seed, produce
from scenarios_app.engine.scenario import GeneratedAnswer, RawAnswer, Scenario
from tests.engine.match_builders import chat_request, text_message

LOREM = {"generate": {"kind": "lorem"}}


def generating_scenario(name: str = "s", **produce: object) -> Scenario:
    (document,) = load_documents({"name": name, "steps": [{"produce": {**LOREM, **produce}}]})
    assert dump(document)["steps"] == [{"produce": {**LOREM, **produce}}]
    return compile_scenario(document)


def produce_any(
    scenario: Scenario, request: CanonicalRequest, limit: int = 2_000_000
) -> CanonicalResponse | RawAnswer | ErrorAnswer:
    return produce(
        scenario,
        scenario.steps[0],
        request,
        seed=Seed("5eed"),
        created=0,
        tool_call_prefix="call_",
        groups={},
        max_text_bytes=limit,
    )


def produce_response(scenario: Scenario, request: CanonicalRequest) -> CanonicalResponse:
    response = produce_any(scenario, request)
    assert isinstance(response, CanonicalResponse)
    return response


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (chat_request("first", text_message("assistant", "x"), "last"), "last"),
        (chat_request(text_message("user", "two", "parts")), "two\nparts"),
        (chat_request(text_message("system", "no user")), ""),
        (chat_request("said", text_message("user")), ""),
    ],
)
def test_answer_depends_on_the_last_user_message(request_: CanonicalRequest, message: str) -> None:
    (scripted,) = lorem_answer(message).choices
    (choice,) = produce_response(generating_scenario(), request_).choices
    assert (choice.parts, choice.chunks) == (scripted.parts, scripted.chunks)
    assert choice.finish_reason == "stop"


def test_streams_and_whole_answers_have_equal_choices() -> None:
    scenario = generating_scenario()
    whole_answer, streamed_answer = (
        produce_response(scenario, chat_request("Hi", stream=s)) for s in (False, True)
    )
    assert whole_answer.choices == streamed_answer.choices


def test_lorem_is_not_turned_into_a_call() -> None:
    answer_with_tools = produce_response(
        generating_scenario(), chat_request("What is the weather?", tools=["get_weather"])
    )
    assert (
        answer_with_tools.choices
        == produce_response(generating_scenario(), chat_request("What is the weather?")).choices
    )


def test_an_answer_may_be_as_long_as_the_limit() -> None:
    error = produce_any(generating_scenario(), chat_request("a" * 100), 100)
    assert isinstance(error, ErrorAnswer)
    response = produce_response(generating_scenario(), chat_request("a" * 100))
    size = sum(len(part.text) for part in response.choices[0].parts if isinstance(part, TextPart))
    assert produce_any(generating_scenario(), chat_request("a" * 100), size) == response


def test_user_message_is_not_filled_as_a_template() -> None:
    (choice,) = produce_response(
        generating_scenario(), chat_request("{{ request.model }} {{ x }}")
    ).choices
    assert isinstance(choice.parts[0], TextPart)
    assert choice.parts[0].text.endswith(" {{ request.model }} {{ x }}")


def test_generated_answer_is_repeated_n_times() -> None:
    response = produce_response(generating_scenario(), chat_request("Hi", n=3))
    assert len(response.choices) == 3
    assert len(set(response.choices)) == 1


def test_usage_is_counted_or_scripted_and_metadata_is_sent() -> None:
    assert produce_response(generating_scenario(), chat_request("Hi")).usage.output_tokens > 1
    scenario = generating_scenario(
        usage={"input_tokens": 7, "output_tokens": 9}, provider_metadata={"openai": {"x": 1}}
    )
    response = produce_response(scenario, chat_request("Hi"))
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 9)
    assert response.metadata == {"x": 1}


@pytest.mark.parametrize("message", ["é" * 51, "x" * 90])
def test_message_too_long_to_echo_is_an_error(message: str) -> None:
    expected = ErrorAnswer(400, "The answer would hold more text than the limit of 100 bytes.")
    assert produce_any(generating_scenario(), chat_request(message), limit=100) == expected


def test_only_the_scenario_named_test_mode_is_the_catch_all() -> None:
    assert generating_scenario("test-mode").catch_all
    assert not generating_scenario("test-mode-2").catch_all
    assert not generating_scenario("Test-Mode").catch_all


def test_each_mode_may_generate_or_script_its_answer() -> None:
    (document,) = load_documents(
        {"name": "s", "steps": [{"produce": {"streaming": LOREM, "non_streaming": {"text": "x"}}}]}
    )
    produce_script = compile_scenario(document).steps[0].produce
    assert isinstance(produce_script.streaming, GeneratedAnswer)
    assert not isinstance(produce_script.non_streaming, GeneratedAnswer)


def test_automatic_answer_follows_limits_and_schemas() -> None:
    scenario = generating_scenario(generate={"kind": "auto"}, usage={"input_tokens": 7})
    response = produce_response(scenario, replace(chat_request("Hello"), max_tokens=5))
    assert [choice.finish_reason for choice in response.choices] == ["length"]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 5)
    invalid_request = replace(
        chat_request("Hello"), json=JsonFormat({"$ref": "#/lost"}, "response_format")
    )
    error = produce_any(scenario, invalid_request)
    assert isinstance(error, ErrorAnswer) and error.status == 400


def test_a_script_is_never_cut() -> None:
    (document,) = load_documents({"name": "s", "steps": [{"produce": {"text": "one two three"}}]})
    request = replace(chat_request("Hello"), max_tokens=1, stop=("two",))
    response = produce_response(compile_scenario(document), request)
    assert response.choices[0].parts == (TextPart("one two three"),)
