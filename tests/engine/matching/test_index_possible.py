"""The steps that the index tries for a request, by the condition that each is filed under."""

from collections.abc import Callable

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import Index, build_index
from tests.engine.match_builders import (
    build_match,
    chat_request,
    equals,
    message_condition,
    scenario,
    step,
    tool_call_condition,
    tool_call_message,
    tool_result_condition,
    tool_result_message,
    user_text_match,
)
from tests.engine.matching.index_candidates import candidate_keys


def possible_keys(index: Index, request: CanonicalRequest) -> list[str]:
    """Return the keys of the steps that the index does not rule out."""
    ((layer, _),) = index.layers
    return [entry.step.key for entry in layer.possible_entries(RequestReader(request))]


def build_numbered_index(make_match: Callable[[str], Match]) -> Index:
    """Build an index of 300 steps that share two conditions and differ in a third."""
    shared = build_match(provider=(equals("openai"),), model=(TextCondition(regex="gpt"),))
    matches = [
        Match((*shared.conditions, *make_match(f"case {n};").conditions)) for n in range(300)
    ]
    return build_index([scenario("a", *(step(m, str(n)) for n, m in enumerate(matches)))])


@pytest.mark.parametrize(
    ("make_match", "request_"),
    [
        (lambda case: user_text_match(equals=case), chat_request("case 7;")),
        (lambda case: user_text_match(equals=case, ignore_case=True), chat_request("CASE 7;")),
        (lambda case: user_text_match(contains=case), chat_request("in case 7; too")),
        (
            lambda case: user_text_match(contains=case, ignore_case=True),
            chat_request("in CASE 7; too"),
        ),
        (lambda case: user_text_match(startswith=case), chat_request("case 7; is it")),
        (lambda case: user_text_match(regex=f"{case} *$"), chat_request("last case 7;  ")),
        (
            lambda case: user_text_match(regex=f"{case} *$", ignore_case=True),
            chat_request("CASE 7;"),
        ),
        (lambda case: user_text_match(contains="a", regex=f"^{case}"), chat_request("case 7; a")),
        (
            lambda case: build_match(headers=(("X-Case", TextCondition(equals=case)),)),
            chat_request(headers={"x-case": "case 7;"}),
        ),
        (
            lambda case: build_match(metadata=(("case", TextCondition(equals=case)),)),
            chat_request(metadata={"case": "case 7;"}),
        ),
        (lambda case: build_match(tools=(case,)), chat_request(tools=["case 7;"])),
        (
            lambda case: build_match(tool_calls=(tool_call_condition(case, {}),)),
            chat_request(tool_call_message("case 7;")),
        ),
        (
            lambda case: build_match(tool_results=(tool_result_condition(tool_call_id=case),)),
            chat_request(tool_result_message("x", call_id="case 7;")),
        ),
        (
            lambda case: build_match(tool_results=(tool_result_condition(name=case),)),
            chat_request(tool_result_message("x", name="case 7;")),
        ),
        (
            lambda case: build_match(
                tool_results=(tool_result_condition(TextCondition(contains=case)),)
            ),
            chat_request(tool_result_message("it is case 7; then")),
        ),
    ],
)
def test_step_is_filed_under_its_rarest_condition(
    make_match: Callable[[str], Match], request_: CanonicalRequest
) -> None:
    index = build_numbered_index(make_match)
    assert possible_keys(index, request_) == ["7"]
    assert candidate_keys(index, request_) == ["7"]
    assert possible_keys(index, chat_request("something else")) == []


def test_a_step_with_alternatives_is_filed_under_all_of_them() -> None:
    models = (TextCondition(equals="o1"), TextCondition(regex="^gpt"))
    index = build_index([scenario("a", step(build_match(model=models), "either"))])
    assert (
        possible_keys(index, chat_request(model="o1"))
        == possible_keys(index, chat_request(model="gpt-5"))
        == ["either"]
    )
    assert possible_keys(index, chat_request(model="o3")) == []


def test_step_with_equally_rare_conditions_is_found() -> None:
    text = TextCondition(equals="hi")
    match = build_match(messages=(message_condition(text, which=0), message_condition(text)))
    index = build_index([scenario("a", step(match, "both"))])
    assert candidate_keys(index, chat_request("hi", "hi")) == ["both"]
    assert candidate_keys(index, chat_request("hi", "ho")) == []


def test_a_step_that_cannot_be_filed_is_always_tried() -> None:
    any_model = (TextCondition(equals="o1"), TextCondition(contains=""))
    arguments_match = build_match(tool_calls=(tool_call_condition(arguments={"a": 1}),))
    steps = step(build_match(model=any_model), "anything"), step(arguments_match, "arguments")
    index = build_index([scenario("a", *steps, step(user_text_match(equals="x"), "filed"))])
    assert possible_keys(index, chat_request("hello")) == ["anything", "arguments"]
    assert candidate_keys(index, chat_request("hello")) == ["anything"]


def test_regex_too_large_for_a_filter_is_tried() -> None:
    unit = "".join(chr(97 + n * n % 26) for n in range(480))
    huge_step = step(user_text_match(regex=f"(?:{unit}){{200}}"), key="huge")
    index = build_index([scenario("a", huge_step, step(user_text_match(regex="^x+$"), key="x"))])
    assert candidate_keys(index, chat_request("x")) == ["x"]
    assert candidate_keys(index, chat_request(unit * 200)) == ["huge"]


def test_long_text_is_searched_to_its_end() -> None:
    index = build_index(
        [
            scenario(
                "a",
                step(user_text_match(contains="needle"), key="contains"),
                step(user_text_match(contains="NEEDLE", ignore_case=True), key="any case"),
                step(user_text_match(regex="needle$"), key="regex"),
            )
        ]
    )
    assert candidate_keys(index, chat_request("hay " * 25_000 + "needle")) == [
        "contains",
        "any case",
        "regex",
    ]
