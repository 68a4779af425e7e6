"""The scenarios that come with the product, as documents and as conversations."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from scenarios_app.engine.canonical import CanonicalRequest, Message, Tool
from scenarios_app.engine.document import compile_scenario
from scenarios_app.engine.document.files import read_files
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.parts import TextPart, ToolCallPart, ToolResultPart

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
FILES = sorted(EXAMPLES.glob("*.json"))
CONVERSATIONS = ("demo.json", "openai_tool_calls.json", "anthropic_tool_use.json")
INDEX = build_index(map(compile_scenario, read_files([EXAMPLES / name for name in CONVERSATIONS])))
OPENAI = ("openai", "/v1/chat/completions")
ANTHROPIC = ("anthropic", "/v1/messages")


def user(text: str) -> Message:
    return Message("user", (TextPart(text),))


def called(*names: str, id: str = "c") -> Message:
    return Message("assistant", tuple(ToolCallPart(f"{id}{n}", n, "{}") for n in names))


def results(*names: str, id: str = "c", error: bool = False) -> Message:
    parts = (ToolResultPart(f"{id}{n}", n, "a result", error) for n in names)
    return Message("tool", tuple(parts))


def winner(
    messages: list[Message], at: tuple[str, str] = OPENAI, tools: tuple[str, ...] = ()
) -> tuple[str, str] | None:
    provider, path = at
    request = CanonicalRequest(
        provider=provider,
        path=path,
        route=path,
        model="some-model",
        messages=tuple(messages),
        tools=tuple(map(Tool, tools)),
    )
    candidate = next(INDEX.candidates(request), None)
    return (candidate.scenario.name, candidate.step.label) if candidate else None


def test_there_are_the_examples_that_the_readme_names() -> None:
    assert {file.name for file in FILES} >= set(CONVERSATIONS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_fits_the_schema_and_is_described(file: Path) -> None:
    Draft202012Validator(json_schema()).validate(decode(file.read_bytes()))
    assert all(document.description for document in read_files([file]))


@pytest.mark.parametrize("at", [OPENAI, ANTHROPIC])
def test_weather_example_answers_on_every_provider(at: tuple[str, str]) -> None:
    asked = [user("Hi, what is the weather in Paris?")]
    assert winner(asked, at, ("get_weather",)) == ("weather", "call the tool")
    assert winner(asked, at) is None
    done = [*asked, called("get_weather"), results("get_weather")]
    assert winner(done, at) == ("weather", "answer from the result")
    assert winner(done[:2], at) is None


def test_a_trip_needs_the_results_of_both_tools() -> None:
    asked = [user("Plan a weekend trip.")]
    assert winner(asked, tools=("find_hotels", "get_weather")) == ("trip", "call both tools")
    assert winner(asked, tools=("get_weather",)) is None
    calls = [*asked, called("get_weather", "find_hotels")]
    assert winner([*calls, results("get_weather")]) is None
    assert winner([*calls, results("get_weather", "find_hotels")]) == (
        "trip",
        "put the results together",
    )


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Hello!", ("greeting", "say hello")),
        ("hello, tell me a story", ("story", "tell it")),
        ("Think before you answer.", ("thinking", "think, then answer")),
        ("start the countdown", ("countdown", "1")),
        ("Are you busy?", ("busy", "busy, then not")),
        ("Please cut me off.", ("cut off", "break the connection")),
        ("What is the secret recipe?", ("refusal", "decline")),
        ("", None),
    ],
)
def test_one_word_is_enough_for_each_scenario_of_the_demo(
    text: str, step: tuple[str, str] | None
) -> None:
    demo = build_index(map(compile_scenario, read_files([EXAMPLES / "demo.json"])))
    provider, path = OPENAI
    request = CanonicalRequest(provider, path, path, "some-model", (user(text),))
    candidate = next(demo.candidates(request), None)
    assert (candidate and (candidate.scenario.name, candidate.step.label)) == step


def test_the_openai_conversation_goes_through_its_three_turns() -> None:
    tools = ("get_order", "track_parcel")
    messages = [user("Where is order 1042?")]
    name = "openai tool calls"
    assert winner(messages, OPENAI, tools) == (name, "look up the order")
    assert winner(messages, ANTHROPIC, tools) is None
    call = Message("assistant", (ToolCallPart("call_order", "get_order", '{"order_id": 1042}'),))
    messages += [call, Message("tool", (ToolResultPart("call_order", "get_order", "sent"),))]
    assert winner(messages, OPENAI, tools) == (name, "track its parcel")
    messages += [
        Message("assistant", (ToolCallPart("call_parcel", "track_parcel", "{}"),)),
        Message("tool", (ToolResultPart("call_parcel", "track_parcel", "near"),)),
    ]
    assert winner(messages, OPENAI, tools) == (name, "tell the customer")


def test_the_anthropic_conversation_ends_by_the_tools_result() -> None:
    messages = [user("Sum up the release notes.")]
    name = "anthropic tool use"
    assert winner(messages, ANTHROPIC, ("read_file",)) == (name, "read the file")
    messages += [Message("assistant", (ToolCallPart("toolu_notes", "read_file", "{}"),))]
    for failed, step in ((False, "sum it up"), (True, "say that there is none")):
        result = Message("tool", (ToolResultPart("toolu_notes", "read_file", "…", failed),))
        assert winner([*messages, result], ANTHROPIC) == (name, step)
