"""Errors that the pytest plugin reports: at their test, or in one line if no test can run."""

import os

import pytest

from tests.testing.conftest import Run

# Long, for busy machines.
pytestmark = pytest.mark.timeout(300)
FAILING_TESTS = """
import os

import openai
import pytest

MESSAGES = [{"role": "user", "content": "Hello"}]


def ask():
    with openai.OpenAI(max_retries=0) as client:
        client.chat.completions.create(model="gpt-4o", messages=MESSAGES)


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


def test_without_answer(mockllm):
    mockllm.on("never")


def test_unknown_key(mockllm):
    mockllm.on("never").reply("x", latncy_ms=3)


def test_failing_assertion(mockllm):
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


def test_environment_is_restored():
    assert "MOCKLLM_URL" not in os.environ
    assert os.environ["OPENAI_API_KEY"] == "mine"
"""


def test_error_is_reported_at_its_test(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    pytester.makefile(".json", broken='{"name": "broken", "steps": [{"prodce": {}}]}')
    result = run("-rA", test_wrong=FAILING_TESTS)
    # The verdict only fails tests that passed, so a test's own failure is always shown.
    result.assert_outcomes(passed=3, failed=5, errors=4)
    out = result.stdout
    out.fnmatch_lines_random(
        [
            "never served: 01 on('never'), step 1",
            "mockllm: on('never') has no answer: add .reply(…), .tool_call(…) or .fail(…)",
            "mockllm: unmatched: /v1/chat/completions: no step answered *",
            "FAILED: session *, 1 request, 1 unmatched",
            "E *mockllm.CallRejected: on('never'): produce.latncy_ms: unknown key, did you mean "
            "*latency_ms*",
            "E       AssertionError: assert 'this' == 'that'",
            "mockllm: the marker names 'nothing.json': there is no such file beside test_wrong.py, "
            "and no such scenario on the server (it has none)",
            "*broken.json:1:*: steps[[]0].prodce: unknown key, did you mean *produce*",
            "mockllm: the marker has no argument 'scenrio', did you mean scenario[?]",
            "mockllm: the marker takes *, not 2 values without a name",
        ]
    )
    for name in ("test_allowed", "test_lenient", "test_environment_is_restored"):
        out.fnmatch_lines([f"PASSED test_wrong.py::{name}"])
    for name in ("test_unserved", "test_unmatched", "test_without_answer"):
        out.fnmatch_lines([f"FAILED test_wrong.py::{name} - *"])
    # The traceback has the line of the test and no line of the plugin.
    out.fnmatch_lines(['>       mockllm.on("never").reply("x", latncy_ms=3)'])
    out.no_fnmatch_line("*def send(*")


WIDE_FIXTURE = """
import pytest


@pytest.fixture(scope="module")
def shared_session(mockllm):
    return mockllm


def test_shared(shared_session):
    pass
"""


def test_wider_fixture_is_told_which_fixture_it_can_use(run: Run) -> None:
    result = run(test_wide=WIDE_FIXTURE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["ScopeMismatch: *", "mockllm: each test *`mockllm_server`*"])


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


def test_killed_server_is_reported_and_nothing_hangs(run: Run) -> None:
    result = run(warm=False, test_dying=DYING)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E *openai.APIConnectionError: Connection error.", "no mockllm server answers at http://*"]
    )
    result.stdout.fnmatch_lines(
        ["E *ServerFailed: no mockllm server answers at http://127.0.0.1:*"]
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"scenaros": []}', "mockllm_config: no 'scenaros' is known, expected some of *"),
        ("None", "mockllm_config: expected a dict as its value"),
        ('{"scenarios": ["none.json"]}', "none.json: cannot be read: No such file or directory"),
        ('{"fixtures": ["none"]}', "*No fixture named 'none' found*"),
        ('{"settings": {"MOCKLLM_MAX_STREAMS": "x"}}', "MOCKLLM_MAX_STREAMS: expected *"),
    ],
)
def test_server_that_cannot_start_is_reported_in_one_line(
    run: Run, config: str, message: str
) -> None:
    fixture = f"@pytest.fixture(scope='session')\ndef mockllm_config(): return {config}\n"
    result = run(test_config=f"import pytest\n{fixture}def test_it(mockllm): pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"mockllm: {message}"])


def test_url_without_a_server_is_reported_in_one_line(run: Run) -> None:
    result = run("--mockllm-url", "http://127.0.0.1:9", test_it="def test_it(mockllm): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["mockllm: no mockllm server answers at http://127.0.0.1:9: *"])


CLASHING = """
def pytest_addoption(parser):
    parser.addoption("--mockllm-url")
"""


def test_option_of_two_plugins_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clashing=CLASHING)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", environment)
        result = pytester.runpytest_subprocess(
            "-p", "clashing", "-p", "scenarios_app.testing.plugin"
        )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = f"{result.stderr.str()}{result.stdout.str()}"
    assert "--mockllm-url is an option of another plugin too" in output


UNWRITABLE = """
def test_fails(mockllm):
    mockllm.on("never").reply("x")
"""


@pytest.mark.parametrize("option", ["--mockllm-report", "--mockllm-coverage"])
def test_report_that_cannot_be_written_is_one_line_after_the_results(run: Run, option: str) -> None:
    result = run(f"{option}=/proc/none/r.json", test_unwritable=UNWRITABLE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED test_unwritable.py::test_fails - *"])
    result.stdout.fnmatch_lines(["*mockllm: /proc/none/r.json: cannot be written: *"])
    result.stdout.no_fnmatch_line("*FileNotFoundError*")


MARKED = """
import pytest

GREETING = {"name": "greeting", "steps": [{"produce": {"text": "Hi."}}]}


@pytest.mark.mockllm(scenario=[GREETING, "nothing"])
def test_setup_fails(mockllm):
    pass


def test_its_session_is_reset(mockllm_server):
    assert len(mockllm_server._ended_sessions) == 1
"""


def test_session_of_a_test_whose_setup_fails_is_ended(run: Run) -> None:
    run(test_marked=MARKED).assert_outcomes(passed=1, errors=1)


SHARED = """
import openai
import pytest


@pytest.fixture(scope="session")
def mockllm_config():
    step = {"produce": {"text": "Hi."}}
    return {"scenarios": [{"name": "hello, world", "steps": [step]}]}


@pytest.mark.mockllm(scenario="hello, world")
def test_served(mockllm):
    messages = [{"role": "user", "content": "hello"}]
    with openai.OpenAI() as client:
        client.chat.completions.create(model="m", messages=messages)


@pytest.mark.mockllm(scenario="hello, world")
def test_unserved(mockllm):
    pass
"""


def test_shared_scenario_with_a_comma_in_its_name_is_judged(run: Run) -> None:
    result = run(test_shared=SHARED)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["mockllm: never served: hello, world, step 1"])
