"""A run as bars in time: its model calls and its tools, to be drawn in a chart."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from traces_app.otlp import CallSpan, RunSpan
from traces_app.reports import FAILURE

Kind: TypeAlias = Literal["run", "call", "tool"]

# The chart's width in its own units; no bar is so short that it can't be seen.
WIDTH = 1_000.0
_LEAST = 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One span; `left`, `width` and `first` (where the first token came) are the chart's units."""

    kind: Kind
    name: str
    said: str
    started_ms: int
    duration_ms: int
    left: str
    width: str
    first: str = ""
    failed: bool = False


def bars(run: RunSpan, first_tokens: Mapping[int, datetime | None]) -> list[Bar]:
    """The run and what happened in it, in the order in which it began. `first_tokens` are those of
    the model calls by number."""
    ends = [run.ended, *(call.ended for call in run.calls), *(tool.ended for tool in run.tools)]
    length = max((max(ends) - run.started).total_seconds() * 1_000, 1.0)
    inner = sorted(_inner(run, first_tokens, length), key=lambda bar: bar.started_ms)
    whole = _bar(
        run,
        length,
        kind="run",
        name=run.status,
        said=f"report: {run.report}" if run.report else "",
        started=run.started,
        ended=run.ended,
        failed=run.report == FAILURE,
    )
    return [whole, *inner]


def _inner(
    run: RunSpan, first_tokens: Mapping[int, datetime | None], length: float
) -> Iterator[Bar]:
    for call in run.calls:
        yield _bar(
            run,
            length,
            kind="call",
            name=f"model call {call.number}",
            said=", ".join(_said(call)),
            started=call.started,
            ended=call.ended,
            first=first_tokens.get(call.number),
            failed=bool(call.code),
        )
    for tool in run.tools:
        yield _bar(
            run,
            length,
            kind="tool",
            name=tool.name,
            said=tool.status,
            started=tool.started,
            ended=tool.ended,
            failed=tool.status != "success",
        )


def _said(call: CallSpan) -> Iterable[str]:
    if call.code:
        yield call.code
    if call.finish_reason:
        yield call.finish_reason
    if call.input_tokens or call.output_tokens:
        yield f"{call.input_tokens} → {call.output_tokens} tokens"


def _bar(
    run: RunSpan,
    length: float,
    *,
    kind: Kind,
    name: str,
    started: datetime,
    ended: datetime,
    said: str = "",
    first: datetime | None = None,
    failed: bool = False,
) -> Bar:
    start = _ms(run, started)
    lasted = max(_ms(run, ended) - start, 0.0)
    width = max(lasted / length * WIDTH, _LEAST)
    left = min(start / length * WIDTH, WIDTH - width)
    return Bar(
        kind,
        name,
        said,
        started_ms=round(start),
        duration_ms=round(lasted),
        left=f"{left:.1f}",
        width=f"{width:.1f}",
        first=f"{_ms(run, first) / length * WIDTH:.1f}" if first else "",
        failed=failed,
    )


def _ms(run: RunSpan, moment: datetime) -> float:
    return max((moment - run.started).total_seconds() * 1_000, 0.0)
