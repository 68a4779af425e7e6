"""Conversations with features of google-genai: chats, and functions that the client calls."""

import pytest
from google.genai import types

from tests.engine.turn_scripts import shipped_scripts
from tests.sdk.gemini.gemini_client import GeminiClient
from tests.sdk.paris import paris_scenario
from tests.serving.modes import CATCH_ALL, with_marks
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

MODEL = "gemini-2.5-flash"
THINKING = types.ThinkingConfig(include_thoughts=True, thinking_budget=1024)
RESULTS = {"get_weather": "18 degrees, sunny", "get_time": "21:40"}
QUESTION = "How is Paris tonight?"


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
      city: Where.
    """
    return RESULTS["get_weather"] if city == "Paris" else "unknown"


def get_time(city: str) -> str:
    """Tells the time.

    Args:
      city: Where.
    """
    return RESULTS["get_time"] if city == "Paris" else "unknown"


@pytest.mark.parametrize("stream", [True, False])
def test_automatic_function_calling_completes_the_conversation(
    live: Live, gemini: GeminiClient, stream: bool
) -> None:
    """The client sends results without the ids of calls, and a streamed answer chunk by chunk."""
    live.load(paris_scenario("gemini"))
    config = types.GenerateContentConfig(
        tools=[get_weather, get_time], thinking_config=THINKING, temperature=0.2
    )
    answers = gemini.converse(QUESTION, "Thanks!", stream=stream, model=MODEL, config=config)
    answer_text, goodbye = (answer.text for answer in answers)
    assert (answer_text.removeprefix("Let me look."), goodbye) == (
        "It is a sunny evening.",
        "Enjoy it.",
    )
    assert [row.step for row in live.requests()] == ["ask for both", "tell", "say goodbye"]
    assert live.state().violations == ()


def test_failed_function_response_matches_is_error(live: Live, gemini: GeminiClient) -> None:
    failed = {"tool_results": [{"name": "get_weather", "is_error": True, "contains": "no net"}]}
    live.load(
        scenario("sorry", {"match": failed, "produce": {"text": "Sorry, no weather."}}),
        scenario("fine", text_step("Fine."), priority=-1),
    )
    call = types.Part.from_function_call(name="get_weather", args={})
    for response, expected in (
        ({"result": "18"}, "Fine."),
        ({"error": "no net"}, "Sorry, no weather."),
    ):
        result = types.Part.from_function_response(name="get_weather", response=response)
        contents = [types.ModelContent(call), types.UserContent(result)]
        assert gemini.create(model=MODEL, contents=contents).text == expected


@pytest.mark.parametrize("stream", [True, False])
def test_a_chat_counts_its_turns(live: Live, gemini: GeminiClient, stream: bool) -> None:
    """The client sends a streamed answer back as one content for each chunk; it is one turn."""
    long = "one two three four five six seven eight nine ten eleven"
    answer = {"reasoning": long, "text": long}
    live.load(
        scenario("first", {"turn": 1, "produce": {**answer, "pacing": {"words_per_chunk": 1}}}),
        scenario(
            "second",
            {
                "turn": 2,
                "match": {"messages": [{"role": "assistant", "equals": long}]},
                "produce": {"text": "Two."},
            },
        ),
        scenario("third", {"turn": 3, "produce": {"text": "Three."}}),
    )
    answers = gemini.converse("One?", "Two?", "Three?", stream=stream, model=MODEL)
    assert [answer.text for answer in answers] == [long, "Two.", "Three."]


@pytest.mark.parametrize("stream", [True, False])
def test_a_chain_of_instruction_blocks(live: Live, gemini: GeminiClient, stream: bool) -> None:
    live.load(CATCH_ALL)
    chain = {
        "instruction_chain": [
            {
                "reasoning": {"length": 3},
                "messages": [
                    {"text": "Look."},
                    {"tool_call": [{"name": "f", "args": {"a": [1]}}]},
                    {"server_tool_use": {"name": "code_execution", "input": {"code": "1"}}},
                    {"server_tool_result": {"name": "code_execution", "result": "1"}},
                ],
            },
            {"messages": [{"text": "It is done."}]},
        ]
    }
    answers = gemini.converse(with_marks(chain), "", "", stream=stream, model=MODEL)
    first, second, third = answers
    assert (len(first.thinking.split()), first.text) == (3, "Look.")
    kinds = [
        *(part.function_call and part.function_call.args for part in first.parts),
        *(part.executable_code and part.executable_code.code for part in first.parts),
        *(part.code_execution_result and part.code_execution_result.output for part in first.parts),
    ]
    assert [kind for kind in kinds if kind] == [{"a": [1]}, "1", "1"]
    assert first.finish_reasons == ["STOP"]
    assert (second.text, third.text) == ("It is done.", "Chain complete.")


@pytest.mark.parametrize("stream", [True, False])
def test_a_script_in_turns(live: Live, gemini: GeminiClient, stream: bool) -> None:
    live.load(*shipped_scripts())
    names = ("read_metrics", "read_logs", "agent__task_status", "agent__final_report")
    declarations = [types.FunctionDeclaration(name=name) for name in names]
    config = types.GenerateContentConfig(
        system_instruction="You are on call. Be brief.",
        tools=[types.Tool(function_declarations=declarations)],
        thinking_config=THINKING,
    )
    results = {
        name: types.Part.from_function_response(name=name, response={"output": "ok"})
        for name in names
    }
    first, second, third = gemini.converse(
        "investigate-outage",
        [results["read_metrics"], results["read_logs"]],
        [results["agent__task_status"]],
        stream=stream,
        model="test-llm-gemini",
        config=config,
    )
    signatures = [part.thought_signature for part in first.parts if part.thought_signature]
    assert set(signatures) == {b"investigate-outage-1"}
    calls = [part.function_call for part in first.parts if part.function_call]
    assert [call.name for call in calls] == ["read_metrics", "read_logs"]
    assert calls[1].args == {"service": "checkout", "level": "error"}
    assert [p.function_call.name for p in second.parts if p.function_call] == ["agent__task_status"]
    assert third.text == "Here is what I found."
    (report,) = [part.function_call for part in third.parts if part.function_call]
    assert (report.id, report.name) == ("agent-final-report", "agent__final_report")
    assert live.state().violations == ()
