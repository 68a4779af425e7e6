"""What the index files a step under, and so which steps it tries."""

from collections.abc import Callable

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import Index, build_index
from tests.engine.asking import (
    ask,
    called,
    equals,
    message,
    result,
    saying,
    scenario,
    step,
    tool_call,
    tool_result,
    when,
)
from tests.engine.matching.indexed import keys


def tried(index: Index, request: CanonicalRequest) -> list[str]:
    """The steps that the index does not rule out."""
    ((layer, _),) = index.layers
    return [entry.step.key for entry in layer.possible_entries(RequestReader(request))]


def numbered(make: Callable[[str], Match]) -> Index:
    """Three hundred steps that share a provider and a model and differ in one condition."""
    shared = when(provider=(equals("openai"),), model=(TextCondition(regex="gpt"),))
    matches = [Match((*shared.conditions, *make(f"case {n};").conditions)) for n in range(300)]
    return build_index([scenario("a", *(step(m, str(n)) for n, m in enumerate(matches)))])


@pytest.mark.parametrize(
    ("make", "request_"),
    [
        (lambda case: saying(equals=case), ask("case 7;")),
        (lambda case: saying(equals=case, ignore_case=True), ask("CASE 7;")),
        (lambda case: saying(contains=case), ask("in case 7; too")),
        (lambda case: saying(contains=case, ignore_case=True), ask("in CASE 7; too")),
        (lambda case: saying(startswith=case), ask("case 7; is it")),
        (lambda case: saying(regex=f"{case} *$"), ask("last case 7;  ")),
        (lambda case: saying(regex=f"{case} *$", ignore_case=True), ask("CASE 7;")),
        (lambda case: saying(contains="a", regex=f"^{case}"), ask("case 7; a")),
        (
            lambda case: when(headers=(("X-Case", TextCondition(equals=case)),)),
            ask(headers={"x-case": "case 7;"}),
        ),
        (
            lambda case: when(metadata=(("case", TextCondition(equals=case)),)),
            ask(metadata={"case": "case 7;"}),
        ),
        (lambda case: when(tools=(case,)), ask(tools=["case 7;"])),
        (
            lambda case: when(tool_calls=(tool_call(case, {}),)),
            ask(called("case 7;")),
        ),
        (
            lambda case: when(tool_results=(tool_result(tool_call_id=case),)),
            ask(result("x", call_id="case 7;")),
        ),
        (
            lambda case: when(tool_results=(tool_result(name=case),)),
            ask(result("x", name="case 7;")),
        ),
        (
            lambda case: when(tool_results=(tool_result(TextCondition(contains=case)),)),
            ask(result("it is case 7; then")),
        ),
    ],
)
def test_a_step_is_filed_under_what_few_others_ask_for(
    make: Callable[[str], Match], request_: CanonicalRequest
) -> None:
    index = numbered(make)
    assert tried(index, request_) == ["7"]
    assert keys(index, request_) == ["7"]
    assert tried(index, ask("something else")) == []


def test_a_step_with_alternatives_is_filed_under_all_of_them() -> None:
    models = (TextCondition(equals="o1"), TextCondition(regex="^gpt"))
    index = build_index([scenario("a", step(when(model=models), "either"))])
    assert tried(index, ask(model="o1")) == tried(index, ask(model="gpt-5")) == ["either"]
    assert tried(index, ask(model="o3")) == []


def test_conditions_that_are_as_rare_as_one_another_are_no_trouble() -> None:
    text = TextCondition(equals="hi")
    match = when(messages=(message(text, which=0), message(text)))
    index = build_index([scenario("a", step(match, "both"))])
    assert keys(index, ask("hi", "hi")) == ["both"]
    assert keys(index, ask("hi", "ho")) == []


def test_a_step_that_cannot_be_filed_is_always_tried() -> None:
    anything = (TextCondition(equals="o1"), TextCondition(contains=""))
    arguments = when(tool_calls=(tool_call(arguments={"a": 1}),))
    steps = step(when(model=anything), "anything"), step(arguments, "arguments")
    index = build_index([scenario("a", *steps, step(saying(equals="x"), "filed"))])
    assert tried(index, ask("hello")) == ["anything", "arguments"]
    assert keys(index, ask("hello")) == ["anything"]


def test_huge_regexes_are_tried_though_no_filter_holds_them() -> None:
    unit = "".join(chr(97 + n * n % 26) for n in range(480))
    huge = step(saying(regex=f"(?:{unit}){{200}}"), key="huge")
    index = build_index([scenario("a", huge, step(saying(regex="^x+$"), key="x"))])
    assert keys(index, ask("x")) == ["x"]
    assert keys(index, ask(unit * 200)) == ["huge"]


def test_long_texts_are_searched_whole() -> None:
    index = build_index(
        [
            scenario(
                "a",
                step(saying(contains="needle"), key="contains"),
                step(saying(contains="NEEDLE", ignore_case=True), key="any case"),
                step(saying(regex="needle$"), key="regex"),
            )
        ]
    )
    assert keys(index, ask("hay " * 25_000 + "needle")) == ["contains", "any case", "regex"]
