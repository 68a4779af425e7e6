"""A step that generates its answer: from the request alone, with what its script adds."""

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
from tests.engine.asking import ask, say

LOREM = {"generate": {"kind": "lorem"}}


def generating(name: str = "s", **produce: object) -> Scenario:
    (document,) = load_documents({"name": name, "steps": [{"produce": {**LOREM, **produce}}]})
    assert dump(document)["steps"] == [{"produce": {**LOREM, **produce}}]
    return compile_scenario(document)


def produced(
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


def answered(scenario: Scenario, request: CanonicalRequest) -> CanonicalResponse:
    response = produced(scenario, request)
    assert isinstance(response, CanonicalResponse)
    return response


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (ask("first", say("assistant", "x"), "last"), "last"),
        (ask(say("user", "two", "parts")), "two\nparts"),
        (ask(say("system", "no user")), ""),
        (ask("said", say("user")), ""),
    ],
)
def test_the_answer_is_made_from_the_last_user_message(
    request_: CanonicalRequest, message: str
) -> None:
    (scripted,) = lorem_answer(message).choices
    (choice,) = answered(generating(), request_).choices
    assert (choice.parts, choice.chunks) == (scripted.parts, scripted.chunks)
    assert choice.finish_reason == "stop"


def test_streams_and_whole_answers_get_the_same() -> None:
    scenario = generating()
    whole, streamed = (answered(scenario, ask("Hi", stream=s)) for s in (False, True))
    assert whole.choices == streamed.choices


def test_lorem_is_not_turned_into_a_call() -> None:
    offered = answered(generating(), ask("What is the weather?", tools=["get_weather"]))
    assert offered.choices == answered(generating(), ask("What is the weather?")).choices


def test_an_answer_may_be_as_long_as_the_limit() -> None:
    error = produced(generating(), ask("a" * 100), 100)
    assert isinstance(error, ErrorAnswer)
    whole = answered(generating(), ask("a" * 100))
    size = sum(len(part.text) for part in whole.choices[0].parts if isinstance(part, TextPart))
    assert produced(generating(), ask("a" * 100), size) == whole


def test_user_message_is_not_filled_as_a_template() -> None:
    (choice,) = answered(generating(), ask("{{ request.model }} {{ x }}")).choices
    assert isinstance(choice.parts[0], TextPart)
    assert choice.parts[0].text.endswith(" {{ request.model }} {{ x }}")


def test_generated_answer_is_repeated_n_times() -> None:
    response = answered(generating(), ask("Hi", n=3))
    assert len(response.choices) == 3
    assert len(set(response.choices)) == 1


def test_usage_is_counted_or_scripted_and_metadata_is_sent() -> None:
    assert answered(generating(), ask("Hi")).usage.output_tokens > 1
    scenario = generating(
        usage={"input_tokens": 7, "output_tokens": 9}, provider_metadata={"openai": {"x": 1}}
    )
    response = answered(scenario, ask("Hi"))
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 9)
    assert response.metadata == {"x": 1}


@pytest.mark.parametrize("message", ["é" * 51, "x" * 90])
def test_a_message_that_is_too_long_to_echo_is_refused(message: str) -> None:
    expected = ErrorAnswer(400, "The answer would hold more text than the limit of 100 bytes.")
    assert produced(generating(), ask(message), limit=100) == expected


def test_only_the_scenario_of_that_name_is_the_catch_all() -> None:
    assert generating("test-mode").catch_all
    assert not generating("test-mode-2").catch_all
    assert not generating("Test-Mode").catch_all


def test_each_mode_may_generate_for_itself() -> None:
    (document,) = load_documents(
        {"name": "s", "steps": [{"produce": {"streaming": LOREM, "non_streaming": {"text": "x"}}}]}
    )
    script = compile_scenario(document).steps[0].produce
    assert isinstance(script.streaming, GeneratedAnswer)
    assert not isinstance(script.non_streaming, GeneratedAnswer)


def test_an_automatic_answer_is_made_for_its_request() -> None:
    scenario = generating(generate={"kind": "auto"}, usage={"input_tokens": 7})
    response = answered(scenario, replace(ask("Hello"), max_tokens=5))
    assert [choice.finish_reason for choice in response.choices] == ["length"]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 5)
    lost = replace(ask("Hello"), json=JsonFormat({"$ref": "#/lost"}, "response_format"))
    refused = produced(scenario, lost)
    assert isinstance(refused, ErrorAnswer) and refused.status == 400


def test_a_script_is_never_cut() -> None:
    (document,) = load_documents({"name": "s", "steps": [{"produce": {"text": "one two three"}}]})
    request = replace(ask("Hello"), max_tokens=1, stop=("two",))
    response = answered(compile_scenario(document), request)
    assert response.choices[0].parts == (TextPart("one two three"),)
