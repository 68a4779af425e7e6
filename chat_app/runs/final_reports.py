"""Final reports in an answer: the call that ends it, and the text that takes its place."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from chat_app.values.events import ToolCall
from chat_app.values.model_call import AssistantPart, Text
from chat_app.values.text import BLANK_LINE
from traces_app.reports import REPORT_TOOL, Report, report_of

NO_REPORT: Final = "the report has no report_content, which is a text"


def is_report(call: ToolCall) -> bool:
    return call.name == REPORT_TOOL


def handed_in(calls: Iterable[ToolCall]) -> Report | None:
    """The report that ends the answer: the first one, of several. A call without a report in it
    is a tool call that fails, so that the model may try again."""
    reports = (report_of(call.name, call.arguments) for call in calls)
    return next((report for report in reports if report is not None), None)


def with_report(
    parts: Sequence[AssistantPart], told: Sequence[AssistantPart]
) -> tuple[AssistantPart, ...]:
    """An answer's parts as later prompts have them: what was told of the report stands where it
    was handed in, since the tool is none that is offered to anyone."""
    found: list[AssistantPart] = []
    for part in _replaced(parts, told):
        match part, found[-1] if found else None:
            case Text(text), Text(before):
                found[-1] = Text(before + BLANK_LINE + text)
            case _:
                found.append(part)
    return tuple(found)


def _replaced(
    parts: Sequence[AssistantPart], told: Sequence[AssistantPart]
) -> Iterator[AssistantPart]:
    taken = False
    for part in parts:
        if not isinstance(part, ToolCall) or not is_report(part):
            yield part
        elif not taken and report_of(part.name, part.arguments) is not None:
            taken = True
            yield from told
