"""Final reports: how an agent hands in its last answer, by requirement 003's call of a tool that
nobody runs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

REPORT_TOOL: Final = "agent__final_report"
SUCCESS: Final = "success"
FAILURE: Final = "failure"
# Deeper data is no report: it could be neither stored nor shown.
_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says, by the names of the call's arguments. `report_content` is its text; one
    that comes as `content_json` or `messages` alone has that for a text."""

    status: str
    report_format: str | None
    report_content: str
    content_json: Any = None
    messages: Any = None

    @property
    def failed(self) -> bool:
        return self.status == FAILURE


def report_of(name: str, arguments: str) -> Report | None:
    """The report that a call hands in; None for a call of another tool and for one without a
    report in it."""
    if name != REPORT_TOOL:
        return None
    try:
        given = _read(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, Mapping) or (content := _content(given)) is None:
        return None
    status, report_format = given.get("status"), given.get("report_format")
    return Report(
        status=status if isinstance(status, str) and status else SUCCESS,
        report_format=report_format if isinstance(report_format, str) else None,
        report_content=content,
        content_json=given.get("content_json"),
        messages=given.get("messages"),
    )


def report_in(parts: Iterable[Mapping[str, Any]]) -> Report | None:
    """The first report among a model call's stored parts."""
    calls = (part["tool_call"] for part in parts if "tool_call" in part)
    reports = (report_of(call["name"], call["arguments"]) for call in calls)
    return next((report for report in reports if report is not None), None)


def _content(given: Mapping[str, Any]) -> str | None:
    content = given.get("report_content")
    if isinstance(content, str):
        return content
    data = (given.get(key) for key in ("content_json", "messages"))
    found = next((value for value in data if value is not None), None)
    return None if found is None else json.dumps(found, ensure_ascii=False, indent=2)


def _read(text: str) -> Any:
    """What a JSON text says, as it may be stored: without NaN, and without lone surrogates, which
    JSON can spell and UTF-8 cannot."""
    value = json.loads(text)
    _check_depth(value, _DEPTH)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return json.loads(written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore"))


def _check_depth(value: Any, left: int) -> None:
    if not left:
        raise ValueError("too deep")
    match value:
        case dict():
            for inner in value.values():
                _check_depth(inner, left - 1)
        case list():
            for inner in value:
                _check_depth(inner, left - 1)
