"""The pytest plugin as a user meets it: five lines to a green test, and a red one that says why."""

import json
import os
from xml.etree import ElementTree

import pytest

from tests.docs.blocks import blocks_of
from tests.testing.conftest import Run

# Every SDK is imported; a busy machine is no fault of theirs.
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


def test_retries(mockllm):
    mockllm.on("weather").fail(429, times=2, retry_after_ms=1).reply("At last.")
    assert ask().content == "At last."
    assert [one["status"] for one in mockllm.requests] == [429, 429, 200]


def test_failures_alone_leave_the_next_step_its_turn(mockllm):
    mockllm.on("weather").fail(500)
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
    with pytest.raises(AssertionError, match="expected exactly 2 such requests, there were 1"):
        mockllm.verify("weather", times=2)
    with pytest.raises(AssertionError, match="(?s)at least 1 such.*wants new user message"):
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


WRONG = """
import os

import openai
import pytest

ASKED = [{"role": "user", "content": "Hello"}]


def ask():
    with openai.OpenAI(max_retries=0) as client:
        client.chat.completions.create(model="gpt-4o", messages=ASKED)


def test_unserved(mockllm):
    mockllm.on("never").reply("x")


@pytest.mark.mockllm(allow_unserved=True)
def test_allowed(mockllm):
    mockllm.on("never").reply("x")


@pytest.mark.mockllm(strict=False)
def test_lenient(mockllm):
    mockllm.on("never").reply("x")


def test_unmatched(mockllm):
    try:
        ask()
    except openai.NotFoundError:
        pass


def test_unsaid(mockllm):
    mockllm.on("never")


def test_refused(mockllm):
    mockllm.on("never").reply("x", latncy_ms=3)


def test_its_own_failure(mockllm):
    mockllm.on("never").reply("x")
    assert "this" == "that"


@pytest.mark.mockllm(scenario="nothing.json")
def test_unknown_scenario():
    pass


@pytest.mark.mockllm(scenario="broken.json")
def test_broken_scenario():
    pass


@pytest.mark.mockllm(scenrio="nothing.json")
def test_misspelt_marker():
    pass


@pytest.mark.mockllm("a.json", False)
def test_too_many_values():
    pass


def test_the_environment_is_as_before():
    assert "MOCKLLM_URL" not in os.environ
    assert os.environ["OPENAI_API_KEY"] == "mine"
"""


def test_what_is_wrong_is_told_at_its_test(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    pytester.makefile(".json", broken='{"name": "broken", "steps": [{"prodce": {}}]}')
    result = run("-rA", test_wrong=WRONG)
    # A verdict comes when a test has passed, so that its own failure is never in its shadow.
    result.assert_outcomes(passed=3, failed=5, errors=4)
    out = result.stdout
    out.fnmatch_lines_random(
        [
            "never served: 01 on('never'), step 1",
            "mockllm: 01 on('never') has no answer: add .reply(…), .tool_call(…) or .fail(…)",
            "mockllm: FAILED: session *, 1 request, 1 unmatched",
            "*latncy_ms: unknown key, did you mean *latency_ms*",
            "E       AssertionError: assert 'this' == 'that'",
            "mockllm: the marker names 'nothing.json': there is no such file beside test_wrong.py, "
            "and no such scenario on the server (it has none)",
            "*broken.json: steps[[]0].prodce: unknown key, did you mean *produce*",
            "mockllm: the marker takes scenario, strict, allow_unserved, cassette, not 'scenrio'",
            "mockllm: the marker takes *, not 2 values without a name",
        ]
    )
    for passed in ("test_allowed", "test_lenient", "test_the_environment_is_as_before"):
        out.fnmatch_lines([f"PASSED test_wrong.py::{passed}"])
    for failed in ("test_unserved", "test_unmatched", "test_unsaid"):
        out.fnmatch_lines([f"FAILED test_wrong.py::{failed} - *"])
    # The test's own line, and none of ours.
    out.fnmatch_lines(['>       mockllm.on("never").reply("x", latncy_ms=3)'])
    out.no_fnmatch_line("*def send(*")


DYING = """
import os
import signal
from pathlib import Path

import openai


def test_dies(mockllm):
    mockllm.on("hello").reply("x")
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        if f"--parent\\0{os.getpid()}\\0" in file.read_text():
            os.kill(int(file.parent.name), signal.SIGKILL)
    openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=[])


def test_after(mockllm):
    mockllm.on("hello").reply("x")
"""


def test_a_server_that_dies_is_told_and_nothing_hangs(run: Run) -> None:
    result = run(warm=False, test_dying=DYING)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E *openai.APIConnectionError: Connection error.", "no mockllm server answers at http://*"]
    )
    result.stdout.fnmatch_lines(
        ["E *ServerFailed: no mockllm server answers at http://127.0.0.1:*"]
    )


CONFIGURED = """
import pytest
import openai


@pytest.fixture(scope="session")
def mockllm_config():
    step = {"consume": False, "produce": {"text": "Common."}}
    return {"scenarios": [{"name": "common", "steps": [step]}], "fixtures": ["turns"]}


def ask():
    with openai.OpenAI() as client:
        answer = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hello"}]
        )
    return answer.choices[0].message.content


@pytest.mark.mockllm(scenario="common")
def test_common():
    assert ask() == "Common."


@pytest.mark.mockllm(scenario="common")
def test_its_steps_have_to_answer():
    pass


@pytest.mark.mockllm(scenario=["own.json", {"name": "more", "steps": []}])
class TestOwn:
    @pytest.mark.mockllm(allow_unserved=True)
    def test_a_file_and_a_document(self, mockllm):
        assert ask() == "From a file."


def test_what_others_do_not_name_they_need_not_ask(mockllm):
    assert mockllm.openai_base_url == f"{mockllm.base_url}/v1"
"""


def test_scenarios_of_all_tests_and_of_one(run: Run, pytester: pytest.Pytester) -> None:
    step = {"match": {"messages": [{"contains": "Hello"}]}, "produce": {"text": "From a file."}}
    pytester.makefile(".json", own=json.dumps({"name": "own", "priority": 1, "steps": [step]}))
    result = run("--mockllm-coverage", "coverage.json", test_configured=CONFIGURED)
    result.assert_outcomes(passed=3, failed=1)
    covered = json.loads((pytester.path / "coverage.json").read_text())
    (common,) = [one for one in covered["scenarios"] if one["scenario"] == "common"]
    assert [step["served"] for step in common["steps"]] == [1]
    result.stdout.fnmatch_lines(["never served: common, step 1"])


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"scenaros": []}', "mockllm_config: no 'scenaros' is known, expected some of *"),
        ('{"scenarios": ["none.json"]}', "none.json: cannot be read: No such file or directory"),
        ('{"fixtures": ["none"]}', "*No fixture named 'none' found*"),
        ('{"settings": {"MOCKLLM_MAX_STREAMS": "x"}}', "MOCKLLM_MAX_STREAMS: expected *"),
    ],
)
def test_a_server_that_cannot_start_is_told(run: Run, config: str, said: str) -> None:
    fixture = f"@pytest.fixture(scope='session')\ndef mockllm_config(): return {config}\n"
    result = run(test_config=f"import pytest\n{fixture}def test_it(mockllm): pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"mockllm: {said}"])


def test_a_url_where_nobody_answers_is_told(run: Run) -> None:
    result = run("--mockllm-url", "http://127.0.0.1:9", test_it="def test_it(mockllm): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["mockllm: no mockllm server answers at http://127.0.0.1:9: *"])


ONE = 'def test_ok(mockllm): pass\ndef test_bad(mockllm): mockllm.on("<x>").reply("y")\n'


def test_a_report_has_every_verdict(run: Run, pytester: pytest.Pytester) -> None:
    for name in ("new/report.json", "report.xml", "report.txt"):
        run("--mockllm-report", name, test_one=ONE).assert_outcomes(passed=1, failed=1)
    told = json.loads((pytester.path / "new/report.json").read_text())
    assert told["passed"] is False
    assert [(one["test"], one["passed"]) for one in told["tests"]] == [
        ("test_one.py::test_ok", True),
        ("test_one.py::test_bad", False),
    ]
    suite = ElementTree.parse(pytester.path / "report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find("testcase[@name='test_bad']/failure")
    assert failure is not None and "never served: 01 on('<x>'), step 1" in str(failure.text)
    text = (pytester.path / "report.txt").read_text()
    assert text.startswith("2 tests, 1 with a verdict that failed\n\ntest_one.py::test_ok\n")


CLASHING = """
def pytest_addoption(parser):
    parser.addoption("--mockllm-url")
"""


def test_an_option_of_two_plugins_is_one_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clashing=CLASHING)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", environment)
        result = pytester.runpytest_subprocess(
            "-p", "clashing", "-p", "scenarios_app.testing.plugin"
        )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = f"{result.stderr.str()}{result.stdout.str()}"
    assert "--mockllm-url is an option of another plugin too" in said
