"""Final reports, parsed from the tool calls that contain them."""

import json
from typing import Any

import pytest

from chat_app.runs.tool_calls import find_final_report, replace_report_calls
from chat_app.values.events import ToolCall
from chat_app.values.model_call import AssistantPart, TextPart, ThinkingPart
from traces_app.reports import REPORT_TOOL, FinalReport, find_report, parse_report

REPORT_ARGUMENTS = '{"report_content":"Done."}'
OTHER_CALL = ToolCall("a", "look", "{}")


def report_call(arguments: str = REPORT_ARGUMENTS, call_id: str = "agent-final-report") -> ToolCall:
    return ToolCall(call_id, REPORT_TOOL, arguments)


def test_report_has_the_arguments_of_its_call() -> None:
    arguments = {
        "status": "partial",
        "report_format": "json",
        "report_content": "# Half",
        "content_json": {"done": [1, None]},
        "messages": [{"blocks": []}],
    }
    assert parse_report(REPORT_TOOL, json.dumps(arguments)) == FinalReport(**arguments)


def test_a_report_without_a_status_is_a_success() -> None:
    for status in ({}, {"status": ""}, {"status": 7}):
        report = parse_report(REPORT_TOOL, json.dumps({"report_content": "Done.", **status}))
        assert report == FinalReport("success", None, "Done.")
        assert not report.failed


def test_only_status_failure_counts_as_failed() -> None:
    reports = [
        parse_report(REPORT_TOOL, json.dumps({"report_content": "", "status": status}))
        for status in ("success", "partial", "failure")
    ]
    assert [report and report.failed for report in reports] == [False, False, True]


@pytest.mark.parametrize("key", ["content_json", "messages"])
def test_report_of_data_alone_has_it_as_text(key: str) -> None:
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
    assert find_final_report([report_call(arguments)]) is None


def test_call_of_another_tool_gives_no_report() -> None:
    assert parse_report("final_report", REPORT_ARGUMENTS) is None


def test_lone_surrogates_are_removed_from_reports() -> None:
    report = parse_report(
        REPORT_TOOL, r'{"report_content": "a\ud83d", "content_json": {"\ude00": ["\ud83d\ude00"]}}'
    )
    assert report == FinalReport("success", None, "a", content_json={"": ["😀"]})


def test_first_valid_report_is_used() -> None:
    second = report_call('{"report_content":"Second."}')
    report = find_final_report([OTHER_CALL, report_call("{}"), report_call(), second])
    assert report is not None and report.report_content == "Done."
    parts = replace_report_calls((report_call("{}"), report_call(), second), (TextPart("Done."),))
    assert parts == (TextPart("Done."),)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((report_call(),), (TextPart("Done."),)),
        ((ThinkingPart("hm", "s"), report_call()), (ThinkingPart("hm", "s"), TextPart("Done."))),
        ((TextPart("Here."), report_call()), (TextPart("Here.\n\nDone."),)),
        (
            (TextPart("Here."), OTHER_CALL, report_call()),
            (TextPart("Here."), OTHER_CALL, TextPart("Done.")),
        ),
        (
            (report_call(), OTHER_CALL, TextPart("Bye.")),
            (TextPart("Done."), OTHER_CALL, TextPart("Bye.")),
        ),
    ],
)
def test_report_calls_are_replaced_by_their_text(
    parts: tuple[AssistantPart, ...], expected: tuple[AssistantPart, ...]
) -> None:
    assert replace_report_calls(parts, (TextPart("Done."),)) == expected


def test_report_is_found_among_stored_parts() -> None:
    stored_parts: list[dict[str, Any]] = [
        {"text": "Here."},
        {"tool_call": {"id": "a", "name": "look", "arguments": "{}"}},
        {"tool_call": {"id": "b", "name": REPORT_TOOL, "arguments": REPORT_ARGUMENTS}},
    ]
    assert find_report(stored_parts) == FinalReport("success", None, "Done.")
    assert find_report(stored_parts[:2]) is None
