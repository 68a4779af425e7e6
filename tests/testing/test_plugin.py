"""The pytest plugin as a user meets it: five lines to a green test, with every SDK."""

import pytest

from tests.docs.blocks import blocks_of
from tests.testing.conftest import Run

# Every SDK is imported, which takes long on a busy machine.
pytestmark = pytest.mark.timeout(300)
SDKS = """
import unittest

import anthropic
import ollama
import openai
import pytest
from google import genai

ASKED = [{"role": "user", "content": "What is the Weather?"}]
TOOLS = [{"type": "function", "function": {"name": "get_weather"}}]


def ask(messages=ASKED, client=None):
    client = client or openai.OpenAI()
    with client:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
    return answer.choices[0].message


def test_openai(mockllm):
    mockllm.on("weather").reply("Sunny.")
    assert ask().content == "Sunny."


def test_a_session_is_this_tests_alone(mockllm):
    with pytest.raises(openai.NotFoundError, match="no_scenario_matched"):
        ask()
    mockllm.reset()
    assert mockllm.requests == []


def test_a_tool_loop(mockllm):
    step = mockllm.on("weather").tool_call("get_weather", city="Paris")
    step.tool_call("get_weather", city="Rome")
    mockllm.on(tool_result="sunny").reply("Go to Paris.")
    said = ask()
    calls = [call.function.arguments for call in said.tool_calls]
    assert calls == ['{"city":"Paris"}', '{"city":"Rome"}']
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"The weather is {result}"}
        for call, result in zip(said.tool_calls, ("sunny", "bad"))
    ]
    assert ask([*ASKED, said, *results]).content == "Go to Paris."
    mockllm.verify("weather", times=1)
    mockllm.verify(tool_result="bad", times=1)
    assert [json["request"]["method"] for json in mockllm.requests] == ["POST", "POST"]


@pytest.mark.filterwarnings("ignore:tool-not-offered")
def test_a_custom_tool(mockllm):
    step = mockllm.on("weather").tool_call("exec", "ls -l")
    step.tool_call("wait", None, "shell", ms=1)
    custom, function = ask().tool_calls
    assert (custom.custom.name, custom.custom.input) == ("exec", "ls -l")
    assert (function.function.name, function.function.arguments) == ("wait", '{"ms":1}')
    with pytest.raises(TypeError, match="an input or arguments, not both"):
        step.tool_call("exec", "ls", all=True)


def test_a_json_answer(mockllm):
    step = mockllm.on("weather").reply(json={"degrees": 21}, latency_ms=1)
    assert ask().content == '{"degrees":21}'
    with pytest.raises(TypeError, match="give the reply a text"):
        step.reply()


def test_retries(mockllm):
    mockllm.on("weather").fail(429, times=2, retry_after_ms=1).reply("At last.")
    assert ask().content == "At last."
    assert [one["status"] for one in mockllm.requests] == [429, 429, 200]


def test_failures_alone_leave_the_next_step_its_turn(mockllm):
    mockllm.on("weather").fail("overloaded")
    mockllm.on("weather").reply("Well.")
    assert ask().content == "Well."


def test_once(mockllm):
    mockllm.on("weather", once=True).reply("First.")
    mockllm.on("weather", once=True).respond({"text": "Second."})
    assert [ask().content, ask().content] == ["First.", "Second."]


def test_turns_models_and_tools(mockllm):
    mockllm.on("weather", turn=2).reply("Again?")
    mockllm.on("weather", model="gpt-4o", tools=["get_weather"], turn=1).reply("It is.")
    assert ask().content == "It is."
    assert ask([*ASKED, {"role": "assistant", "content": "It is."}, *ASKED]).content == "Again?"


def test_anthropic(mockllm):
    mockllm.on("weather", provider="anthropic").reply("Sunny, they say.")
    with anthropic.Anthropic() as client:
        with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
            assert "".join(stream.text_stream) == "Sunny, they say."


def test_gemini(mockllm):
    mockllm.on("weather", provider="gemini").reply("Sunny.")
    with genai.Client() as client:
        answer = client.models.generate_content(model="gemini-2.5-flash", contents="weather?")
    assert answer.text == "Sunny."


def test_ollama(mockllm):
    mockllm.on("weather", provider="ollama").reply("Sunny.")
    client = ollama.Client()
    assert client.chat("llama3", messages=ASKED).message.content == "Sunny."
    client._client.close()


async def test_coroutines(mockllm):
    mockllm.on("weather").reply("Sunny.")
    async with openai.AsyncOpenAI() as client:
        answer = await client.chat.completions.create(model="gpt-4o", messages=ASKED)
    assert answer.choices[0].message.content == "Sunny."


@pytest.mark.usefixtures("mockllm")
class TestOfAClass(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _kept(self, mockllm):
        self.mockllm = mockllm

    def test_unittest(self):
        self.mockllm.on("weather").reply("Sunny.")
        self.assertEqual(ask().content, "Sunny.")


def test_documents(mockllm):
    document = {"name": "own", "steps": [{"produce": {"text": "One."},
                                           "side_effects": {"counter": "asked"}}]}
    mockllm.scenario(document)
    assert ask().content == "One."
    assert mockllm.counters == {"asked": 1}


def test_builders(mockllm):
    from mockllm import scenario

    mockllm.scenario(scenario("built").respond_with_text("Built."))
    assert ask().content == "Built."


def test_what_was_not_asked_is_told(mockllm):
    mockllm.on("weather").reply("Sunny.")
    ask()
    with pytest.raises(AssertionError, match="weather.*: expected exactly 2 requests, got 1"):
        mockllm.verify("weather", times=2)
    with pytest.raises(AssertionError, match="(?s)at least 1 request, .*nearest: .* new user"):
        mockllm.verify("rain")
    mockllm.verify("rain", at_most=0)
"""
COUNT = SDKS.count("def test_")


def test_every_sdk_and_every_kind_of_test(run: Run) -> None:
    result = run("-o", "asyncio_mode=auto", test_sdks=SDKS)
    result.assert_outcomes(passed=COUNT)


AT_IMPORT = """
import ollama
import pytest

BEFORE = ollama._client._client


@pytest.mark.parametrize("name", ["Ada", "Grace"])
def test_functions_of_a_module(mockllm, name):
    mockllm.on("hello").reply(f"Hello, {name}.")
    asked = [{"role": "user", "content": "hello"}]
    assert ollama.chat(model="llama3.2", messages=asked).message.content == f"Hello, {name}."
    assert ollama.generate(model="llama3.2", prompt="hello").response == f"Hello, {name}."
    assert len(mockllm.requests) == 2


def test_afterwards():
    assert ollama._client._client is BEFORE
"""


def test_a_client_that_is_made_at_import_is_led_to_its_test(run: Run) -> None:
    run(test_ollama=AT_IMPORT).assert_outcomes(passed=3)


def test_the_first_test_of_the_readme_is_green(run: Run) -> None:
    block, *_ = blocks_of("README.md")
    assert len([line for line in block.text.splitlines() if line]) == 5
    run(test_weather=block.text).assert_outcomes(passed=1)
