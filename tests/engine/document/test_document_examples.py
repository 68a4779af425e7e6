"""The shipped example scenarios, as documents and as conversations."""

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


def user_message(text: str) -> Message:
    return Message("user", (TextPart(text),))


def tool_call_message(*names: str, id: str = "c") -> Message:
    return Message("assistant", tuple(ToolCallPart(f"{id}{n}", n, "{}") for n in names))


def tool_result_message(*names: str, id: str = "c", error: bool = False) -> Message:
    parts = (ToolResultPart(f"{id}{n}", n, "a result", error) for n in names)
    return Message("tool", tuple(parts))


def matching_step(
    messages: list[Message], endpoint: tuple[str, str] = OPENAI, tools: tuple[str, ...] = ()
) -> tuple[str, str] | None:
    """Return the names of the scenario and step that answer these messages, or None."""
    provider, path = endpoint
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


def test_example_files_of_the_readme_exist() -> None:
    assert {file.name for file in FILES} >= set(CONVERSATIONS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_example_file_is_valid_and_has_a_description(file: Path) -> None:
    Draft202012Validator(json_schema()).validate(decode(file.read_bytes()))
    assert all(document.description for document in read_files([file]))


@pytest.mark.parametrize("endpoint", [OPENAI, ANTHROPIC])
def test_weather_example_answers_on_every_provider(endpoint: tuple[str, str]) -> None:
    question = [user_message("Hi, what is the weather in Paris?")]
    assert matching_step(question, endpoint, ("get_weather",)) == ("weather", "call the tool")
    assert matching_step(question, endpoint) is None
    messages = [*question, tool_call_message("get_weather"), tool_result_message("get_weather")]
    assert matching_step(messages, endpoint) == ("weather", "answer from the result")
    assert matching_step(messages[:2], endpoint) is None


def test_trip_example_needs_the_results_of_both_tools() -> None:
    question = [user_message("Plan a weekend trip.")]
    assert matching_step(question, tools=("find_hotels", "get_weather")) == (
        "trip",
        "call both tools",
    )
    assert matching_step(question, tools=("get_weather",)) is None
    messages = [*question, tool_call_message("get_weather", "find_hotels")]
    assert matching_step([*messages, tool_result_message("get_weather")]) is None
    assert matching_step([*messages, tool_result_message("get_weather", "find_hotels")]) == (
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
def test_demo_scenario_is_matched_by_one_word(text: str, step: tuple[str, str] | None) -> None:
    demo_index = build_index(map(compile_scenario, read_files([EXAMPLES / "demo.json"])))
    provider, path = OPENAI
    request = CanonicalRequest(provider, path, path, "some-model", (user_message(text),))
    candidate = next(demo_index.candidates(request), None)
    assert (candidate and (candidate.scenario.name, candidate.step.label)) == step


def test_openai_conversation_answers_three_turns() -> None:
    tools = ("get_order", "track_parcel")
    messages = [user_message("Where is order 1042?")]
    name = "openai tool calls"
    assert matching_step(messages, OPENAI, tools) == (name, "look up the order")
    assert matching_step(messages, ANTHROPIC, tools) is None
    call = Message("assistant", (ToolCallPart("call_order", "get_order", '{"order_id": 1042}'),))
    messages += [call, Message("tool", (ToolResultPart("call_order", "get_order", "sent"),))]
    assert matching_step(messages, OPENAI, tools) == (name, "track its parcel")
    messages += [
        Message("assistant", (ToolCallPart("call_parcel", "track_parcel", "{}"),)),
        Message("tool", (ToolResultPart("call_parcel", "track_parcel", "near"),)),
    ]
    assert matching_step(messages, OPENAI, tools) == (name, "tell the customer")


def test_anthropic_conversation_ends_by_the_tool_result() -> None:
    messages = [user_message("Sum up the release notes.")]
    name = "anthropic tool use"
    assert matching_step(messages, ANTHROPIC, ("read_file",)) == (name, "read the file")
    messages += [Message("assistant", (ToolCallPart("toolu_notes", "read_file", "{}"),))]
    for failed, step in ((False, "sum it up"), (True, "say that there is none")):
        result = Message("tool", (ToolResultPart("toolu_notes", "read_file", "…", failed),))
        assert matching_step([*messages, result], ANTHROPIC) == (name, step)
