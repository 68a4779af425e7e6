"""Final reports: requirement 003's tool call by which an agent hands in its last answer. The tool
is never run."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

REPORT_TOOL: Final = "agent__final_report"
SUCCESS: Final = "success"
FAILURE: Final = "failure"
# The levels of a tool call's arguments; deeper ones could be neither stored nor shown.
MAX_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class FinalReport:
    """A final report; its fields are the arguments of the call. `report_content` is its text: the
    argument, or else `content_json` or `messages` as JSON."""

    status: str
    report_format: str | None
    report_content: str
    content_json: Any = None
    messages: Any = None

    @property
    def failed(self) -> bool:
        return self.status == FAILURE


def parse_report(name: str, arguments: str) -> FinalReport | None:
    """Return the report of a tool call; None if it calls another tool or has no valid report."""
    if name != REPORT_TOOL:
        return None
    try:
        fields = load_storable(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, Mapping) or (content := _report_content(fields)) is None:
        return None
    status, report_format = fields.get("status"), fields.get("report_format")
    return FinalReport(
        status=status if isinstance(status, str) and status else SUCCESS,
        report_format=report_format if isinstance(report_format, str) else None,
        report_content=content,
        content_json=fields.get("content_json"),
        messages=fields.get("messages"),
    )


def find_report(parts: Iterable[Mapping[str, Any]]) -> FinalReport | None:
    """Return the first report among a model call's stored parts, or None."""
    calls = (part["tool_call"] for part in parts if "tool_call" in part)
    reports = (parse_report(call["name"], call["arguments"]) for call in calls)
    return next((report for report in reports if report is not None), None)


def _report_content(fields: Mapping[str, Any]) -> str | None:
    """Return the report's text: the argument, or its other content as JSON; None without any."""
    content = fields.get("report_content")
    if isinstance(content, str):
        return content
    data = (fields.get(key) for key in ("content_json", "messages"))
    other_content = next((value for value in data if value is not None), None)
    if other_content is None:
        return None
    return json.dumps(other_content, ensure_ascii=False, indent=2)


def load_storable(text: str) -> Any:
    """Parse JSON and drop lone surrogates, which UTF-8 cannot encode. Raises ValueError for NaN,
    infinite numbers and data deeper than MAX_DEPTH, and RecursionError for much deeper data."""
    value = json.loads(text)
    _check_depth(value, MAX_DEPTH)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return json.loads(written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore"))


def _check_depth(value: Any, max_depth: int) -> None:
    """Raise ValueError if a parsed value has more than `max_depth` levels, scalars included."""
    if not max_depth:
        raise ValueError("too deep")
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, max_depth - 1)
