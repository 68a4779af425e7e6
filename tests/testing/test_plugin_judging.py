"""The verdict fails tests of every kind in their call phase, and no test for two reasons."""

import pytest

from tests.testing.conftest import Run

# SDKs are imported, which takes long on a busy machine.
pytestmark = pytest.mark.timeout(300)

JUDGED = """
import unittest

import openai
import pytest

ASKED = [{"role": "user", "content": "Hello"}]


def ask(text="Hello"):
    with openai.OpenAI(max_retries=0) as client:
        answer = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": text}]
        )
    return answer.choices[0].message.content


async def test_coroutine(mockllm):
    mockllm.on("never").reply("x")


@pytest.mark.usefixtures("mockllm")
class TestOfAClass(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _stub(self, mockllm):
        mockllm.on("never").reply("x")

    def test_judged(self):
        pass

    def test_failing_assertion(self):
        self.assertEqual("this", "that")

    def test_skipped(self):
        self.skipTest("not today")


def test_unknown_url(mockllm):
    with openai.OpenAI(max_retries=0) as client, pytest.raises(openai.NotFoundError):
        client.post("/threads", cast_to=object)


def test_skipped(mockllm):
    mockllm.on("never").reply("x")
    pytest.skip("not today")


@pytest.mark.xfail(reason="known")
def test_expected(mockllm):
    mockllm.on("never").reply("x")


@pytest.mark.xfail(reason="known", raises=ValueError)
def test_not_expected(mockllm):
    mockllm.on("never").reply("x")


@pytest.fixture
def request_at_teardown(mockllm):
    yield
    assert ask("Bye") == "Bye."


def test_request_of_a_fixture_at_teardown(request_at_teardown, mockllm):
    mockllm.on("hello").reply("Hi.")
    mockllm.scenario(
        {"name": "bye", "priority": -1, "steps": [{"consume": False, "produce": {"text": "Bye."}}]}
    )
    assert (ask(), ask("So")) == ("Hi.", "Bye.")

"""


def test_failed_verdict_fails_the_test_for_one_reason(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Wide enough for the reasons, but not for whole messages, which CI shows.
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("CI", raising=False)
    result = run("-rA", "-o", "asyncio_mode=auto", test_judged=JUDGED)
    result.assert_outcomes(passed=1, failed=5, skipped=2, xfailed=1)
    out = result.stdout
    failures = {
        line.partition(" - ")[0]: line.partition(" - ")[2]
        for line in out.lines
        if line.startswith("FAILED test_")
    }
    own = failures.pop("FAILED test_judged.py::TestOfAClass::test_failing_assertion")
    assert own.startswith("AssertionError: 'this' != 'that'")
    unknown_url = "unmatched: /v1/threads: Unknown request URL: POST /v1/threads. "
    assert sum(line.startswith(f"mockllm: {unknown_url}") for line in out.lines) == 1
    unmatched = failures.pop("FAILED test_judged.py::test_unknown_url")
    assert unmatched.startswith(f"Failed: mockllm: {unknown_url}")
    assert {name.rpartition("::")[2] for name in failures} == {
        *("test_coroutine", "test_judged", "test_not_expected")
    }
    # Reported for each judged test, and below the failure of the one that failed itself.
    never = "never served: 01 on('never'), step 1"
    assert all(text.startswith(f"Failed: mockllm: {never}") for text in failures.values())
    assert out.lines.count(f"mockllm: {never}") == len(failures)
    assert out.lines.count(never) == 1
