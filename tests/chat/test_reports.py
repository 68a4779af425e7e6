"""Final reports, read from the calls that hand them in."""

import json
from typing import Any

import pytest

from chat_app.runs.tool_calls import find_final_report, replace_report_calls
from chat_app.values.events import ToolCall
from chat_app.values.model_call import AssistantPart, TextPart, ThinkingPart
from traces_app.reports import REPORT_TOOL, FinalReport, find_report, parse_report

DONE = '{"report_content":"Done."}'
LOOK = ToolCall("a", "look", "{}")


def call(arguments: str = DONE, call_id: str = "agent-final-report") -> ToolCall:
    return ToolCall(call_id, REPORT_TOOL, arguments)


def test_a_report_has_what_its_call_says() -> None:
    given = {
        "status": "partial",
        "report_format": "json",
        "report_content": "# Half",
        "content_json": {"done": [1, None]},
        "messages": [{"blocks": []}],
    }
    assert parse_report(REPORT_TOOL, json.dumps(given)) == FinalReport(**given)


def test_a_report_without_a_status_is_a_success() -> None:
    for status in ({}, {"status": ""}, {"status": 7}):
        report = parse_report(REPORT_TOOL, json.dumps({"report_content": "Done.", **status}))
        assert report == FinalReport("success", None, "Done.")
        assert not report.failed


def test_only_failure_is_a_failure() -> None:
    reports = [
        parse_report(REPORT_TOOL, json.dumps({"report_content": "", "status": status}))
        for status in ("success", "partial", "failure")
    ]
    assert [report and report.failed for report in reports] == [False, False, True]


@pytest.mark.parametrize("key", ["content_json", "messages"])
def test_a_report_of_data_alone_has_that_for_a_text(key: str) -> None:
    report = parse_report(REPORT_TOOL, json.dumps({key: {"city": "Köln"}}))
    assert report is not None
    assert report.report_content == '{\n  "city": "Köln"\n}'
    assert getattr(report, key) == {"city": "Köln"}


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{}",
        "[]",
        '"text"',
        '{"report_content":',
        '{"report_content": null}',
        '{"report_content": ["a"]}',
        '{"report_content": "a", "content_json": NaN}',
        '{"report_content": "a", "content_json": 1e999}',
        '{"report_content": "a", "content_json": ' + "[" * 70 + "]" * 70 + "}",
        "[" * 100_000,
    ],
)
def test_invalid_report_arguments_give_none(arguments: str) -> None:
    assert parse_report(REPORT_TOOL, arguments) is None
    assert find_final_report([call(arguments)]) is None


def test_another_tools_call_is_none() -> None:
    assert parse_report("final_report", DONE) is None


def test_half_a_surrogate_pair_is_left_out_wherever_it_stands() -> None:
    report = parse_report(
        REPORT_TOOL, r'{"report_content": "a\ud83d", "content_json": {"\ude00": ["\ud83d\ude00"]}}'
    )
    assert report == FinalReport("success", None, "a", content_json={"": ["😀"]})


def test_the_first_report_counts() -> None:
    second = call('{"report_content":"Second."}')
    report = find_final_report([LOOK, call("{}"), call(), second])
    assert report is not None and report.report_content == "Done."
    parts = replace_report_calls((call("{}"), call(), second), (TextPart("Done."),))
    assert parts == (TextPart("Done."),)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((call(),), (TextPart("Done."),)),
        ((ThinkingPart("hm", "s"), call()), (ThinkingPart("hm", "s"), TextPart("Done."))),
        ((TextPart("Here."), call()), (TextPart("Here.\n\nDone."),)),
        ((TextPart("Here."), LOOK, call()), (TextPart("Here."), LOOK, TextPart("Done."))),
        ((call(), LOOK, TextPart("Bye.")), (TextPart("Done."), LOOK, TextPart("Bye."))),
    ],
)
def test_later_prompts_have_its_text_in_its_place(
    parts: tuple[AssistantPart, ...], expected: tuple[AssistantPart, ...]
) -> None:
    assert replace_report_calls(parts, (TextPart("Done."),)) == expected


def test_it_is_found_among_the_parts_of_a_recorded_call() -> None:
    stored: list[dict[str, Any]] = [
        {"text": "Here."},
        {"tool_call": {"id": "a", "name": "look", "arguments": "{}"}},
        {"tool_call": {"id": "b", "name": REPORT_TOOL, "arguments": DONE}},
    ]
    assert find_report(stored) == FinalReport("success", None, "Done.")
    assert find_report(stored[:2]) is None
