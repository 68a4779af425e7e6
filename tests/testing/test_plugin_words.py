"""Errors of stubs and builders: misspelt keywords, and stubs that never answer."""

from collections.abc import Callable

import pytest

from scenarios_app.builder import openai, scenario
from scenarios_app.testing.control import Control
from scenarios_app.testing.stubs import Mockllm
from tests.testing.conftest import Run

pytestmark = pytest.mark.timeout(300)
# Misspelt keywords are found before the server is asked.
SESSION = Mockllm(Control("http://127.0.0.1:1"), "key")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SESSION.on(modle="m"), "on() has no keyword 'modle', did you mean model?"),
        (
            lambda: SESSION.verify("hello", time=1),
            "verify() has no keyword 'time', did you mean times?",
        ),
        (
            lambda: SESSION.verify(tool_results="x"),
            "verify() has no keyword 'tool_results', did you mean tool_result?",
        ),
        (
            lambda: SESSION.on("x").fail(429, retry_after=1),
            "fail() has no keyword 'retry_after', did you mean retry_after_ms?",
        ),
        (lambda: openai(pth="/v1"), "openai() has no keyword 'pth', did you mean path?"),
        (
            lambda: scenario("s").with_tool_count(maximum=1),
            "with_tool_count() has no keyword 'maximum', did you mean max?",
        ),
        (
            lambda: scenario("s").respond_with_text("x", zzz=1),
            "respond_with_text() has no keyword 'zzz', it takes text, citations",
        ),
        (lambda: SESSION.reset(all=True), "reset() has no keyword 'all', it takes none"),
    ],
)
def test_misspelt_keyword_is_named_with_the_one_that_was_meant(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SESSION.on("x").replies("y"),
            "Stub has no attribute 'replies', did you mean reply?",
        ),
        (lambda: SESSION.expect("x"), "Mockllm has no attribute 'expect', it has "),
        (
            lambda: scenario("s").respond_with_txt("x"),
            "ScenarioBuilder has no attribute 'respond_with_txt', did you mean respond_with_text?",
        ),
    ],
)
def test_misspelt_method_is_named_with_the_one_that_was_meant(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(AttributeError) as raised:
        call()
    assert str(raised.value).startswith(message)


def test_names_of_many_stubs_are_in_the_order_of_their_definition() -> None:
    session = Mockllm(Control("http://127.0.0.1:1"), "key")
    names = [session.on("hello").name for _ in range(1_001)]
    assert names == sorted(names)
    assert (names[0], names[98]) == ("01 on('hello')", "99 on('hello')")


EQUAL = """
import openai
import pytest


def ask():
    with openai.OpenAI() as client:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "Hello"}]
        )
    return answer.choices[0].message.content


def test_shadowed(mockllm):
    mockllm.on("hello").reply("First.")
    mockllm.on("hello").reply("Second.")


def test_shadowed_by_a_later_answer(mockllm):
    first = mockllm.on("hello")
    mockllm.on("hello", once=True).reply("Second.")
    first.fail(429).reply("First.")


def test_misspelt(mockllm):
    mockllm.on("hello", modle="gpt-4o").reply("First.")


@pytest.mark.mockllm(allow_unserved=True)
def test_allowed(mockllm):
    mockllm.on("hello").fail(429, retry_after_ms=1)
    mockllm.on("hello", once=True).tool_call("a").tool_call("b")
    mockllm.on("hello", turn=2).reply("Another turn.")
    mockllm.on("hello").reply("Last.")
    assert [ask(), ask()] == [None, "Last."]
    mockllm.verify("hello", times=3)
"""


def test_stub_after_an_equal_one_is_an_error_at_its_line(run: Run) -> None:
    result = run("-W", "ignore::UserWarning", test_equal=EQUAL)
    result.assert_outcomes(passed=1, failed=3)
    message = "E       ValueError: 02 on('hello') never answers: 01 on('hello') has the same *"
    result.stdout.fnmatch_lines(
        [
            '>       mockllm.on("hello").reply("Second.")',
            message,
            '>       first.fail(429).reply("First.")',
            message,
            '>       mockllm.on("hello", modle="gpt-4o").reply("First.")',
            "E       TypeError: on() has no keyword 'modle', did you mean model?",
        ]
    )
    assert "With once=True the first answers once, then the next" in result.stdout.str()
