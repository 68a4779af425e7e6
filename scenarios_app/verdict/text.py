"""A verdict as lines for people."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from scenarios_app.verdict.findings import Finding
from scenarios_app.verdict.judge import Unmatched, Unserved, Verdict, Violation

# A text of a client's own is cut after so many characters of a line.
LONGEST = 200
# So many reasons of a kind are told.
MOST = 50


def verdict_text(verdict: Verdict, *, notes: tuple[str, ...] = ()) -> str:
    """Every reason for the verdict, each with the id of its request; `notes` come last."""
    return "\n".join([headline(verdict), *_lines(verdict), *(f"note: {one}" for one in notes)])


def headline(verdict: Verdict) -> str:
    whose = "the run" if verdict.session is None else f"session {line(verdict.session)}"
    counts = [
        _count(verdict.requests, "request"),
        *(_count(len(found), what) for found, what in _parts(verdict) if found),
    ]
    return f"{'passed' if verdict.passed else 'FAILED'}: {whose}, {', '.join(counts)}"


def line(text: str) -> str:
    """A text on one line, no longer than people read."""
    flat = " ".join(text.split())
    flat = "".join(one if one.isprintable() else "�" for one in flat)
    return flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"


def near_miss_text(miss: Any) -> str:
    """A step that came near, and the first thing that kept it from answering."""
    first: Mapping[str, Any] = next(iter(miss.get("mismatches") or ()), {})
    where = f"{miss.get('scenario')}, step {miss.get('step')}"
    if not first:
        return line(where)
    return line(
        f"{where}: {first.get('field')} wants {first.get('expected')}, got {first.get('actual')}"
    )


def _lines(verdict: Verdict) -> Iterator[str]:
    kinds = (
        _few(map(_unmatched, verdict.unmatched)),
        _few(map(_violated, verdict.violations)),
        _few(map(_unserved, verdict.unserved)),
        _few(map(_found, verdict.findings)),
    )
    return chain.from_iterable(kinds)


def _few(reasons: Iterable[Iterable[str]]) -> Iterator[str]:
    each = iter(reasons)
    yield from chain.from_iterable(islice(each, MOST))
    if left := sum(1 for _ in each):
        yield f"… and {left:,} more"


def _unmatched(one: Unmatched) -> Iterator[str]:
    how = "only the catch-all answered" if one.fallback else "no step answered"
    yield f"unmatched: {line(one.path)}: {how} [{one.id}]"
    yield from (f"  near: {near_miss_text(miss)}" for miss in one.near_misses)


def _violated(one: Violation) -> Iterator[str]:
    step = f"{one.scenario}, step {one.step}: " if one.scenario else ""
    yield f"violated: {line(step + one.text)} [{one.request or 'not kept'}]"


def _unserved(one: Unserved) -> Iterator[str]:
    yield f"never served: {line(f'{one.scenario}, step {one.step}')}"


def _found(one: Finding) -> Iterator[str]:
    yield f"{one.level}: {one.rule}: {line(one.message)} [{one.request}]"


def _parts(verdict: Verdict) -> Iterator[tuple[tuple[object, ...], str]]:
    yield verdict.unmatched, "unmatched"
    yield verdict.violations, "violation"
    yield verdict.unserved, "step never served"
    for level, what in (("error", "finding"), ("warning", "warning")):
        yield tuple(one for one in verdict.findings if one.level == level), what


def _count(number: int, what: str) -> str:
    if number == 1 or what == "unmatched":
        return f"{number:,} {what}"
    return f"{number:,} {what.replace('step', 'steps', 1) if ' ' in what else f'{what}s'}"
