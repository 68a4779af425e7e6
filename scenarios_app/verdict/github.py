"""Reports for a step of GitHub Actions: annotations, and Markdown for the job's summary."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final
from uuid import uuid4

from scenarios_app.verdict.reports import (
    MAX_REASONS,
    Case,
    coverage_cases,
    escape_markdown,
    verdict_cases,
)

# GitHub shows so many annotations of each level for a step.
MAX_ANNOTATIONS: Final = 10
_ESCAPES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES: Final = {**_ESCAPES, ":": "%3A", ",": "%2C"}


def verdict_annotations(verdict: Mapping[str, Any]) -> str:
    """Return GitHub annotations: errors for reasons to fail, warnings for other findings."""
    return "\n".join(_annotation_lines(verdict_cases(verdict)))


def coverage_annotations(coverage: Mapping[str, Any], *, fail_under: float) -> str:
    """Return GitHub annotations: a warning for each unused step, an error if too few were used."""
    unused = (case for case in _cases_with_full_names(coverage) if case.reasons)
    cases = [Case("", case.name, noted=("; ".join(case.reasons),)) for case in unused]
    if coverage["percent"] < fail_under:
        reason = f"{coverage['percent']:g} % of the steps were used, {fail_under:g} % are required"
        cases.append(Case("", "coverage", (reason,)))
    return "\n".join(_annotation_lines(cases))


def coverage_summary(coverage: Mapping[str, Any]) -> str:
    """Return the coverage as Markdown for a GitHub job summary."""
    percent, served, steps = coverage["percent"], coverage["served"], coverage["steps"]
    lines = [f"### mockllm coverage: {percent:g} %", ""]
    lines += [f"Steps used: {served:,} of {steps:,}", ""]
    unused = [case for case in _cases_with_full_names(coverage) if case.reasons]
    for case in unused[:MAX_REASONS]:
        reasons = "; ".join(map(escape_markdown, case.reasons))
        lines.append(f"- **{escape_markdown(case.name)}**: {reasons}")
    if len(unused) > MAX_REASONS:
        lines.append(f"- … and {len(unused) - MAX_REASONS} more steps")
    return "\n".join([*lines, ""])


def literal_lines(text: str) -> str:
    """Return the text between marks that keep the runner from reading commands in it."""
    mark = uuid4().hex
    return f"::stop-commands::{mark}\n{text}\n::{mark}::"


def _cases_with_full_names(coverage: Mapping[str, Any]) -> Iterator[Case]:
    """Yield the case of each step, whose name has the scenario too."""
    for case in coverage_cases(coverage):
        yield Case("", f"{case.group}, step {case.name}", case.reasons)


def _annotation_lines(cases: Iterable[Case]) -> Iterator[str]:
    """Yield an error for each reason and a warning for each note, at most MAX_ANNOTATIONS of
    each."""
    all_cases = list(cases)
    errors = ((case.name, reason) for case in all_cases for reason in case.reasons)
    warnings = ((case.name, reason) for case in all_cases for reason in case.noted)
    for level, lines in (("error", errors), ("warning", warnings)):
        for name, reason in islice(lines, MAX_ANNOTATIONS):
            title = _escape(f"mockllm: {name}", _PROPERTY_ESCAPES)
            yield f"::{level} title={title}::{_escape(reason, _ESCAPES)}"


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    """Return a text in which these characters are escaped for a workflow command."""
    return "".join(escapes.get(letter, letter) for letter in text)
