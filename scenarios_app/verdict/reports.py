"""Reports: a verdict as text, JUnit XML and Markdown, and coverage as an HTML page. Except for the
text, they are built from the JSON of the control API."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from scenarios_app.verdict.judge import RULES, UnmatchedRequest, Verdict, Violation
from scenarios_app.verdict.session import is_failing

SUITE = "mockllm"
# XML 1.0 does not allow these characters, escaped or not.
_XML_INVALID = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left }
td.number, th.number { text-align: right }
tr.missed td:first-child::before { content: "✗ "; color: #c22 }
tr.served td:first-child::before { content: "✓ "; color: #187a2f }
:root { color-scheme: light dark }
"""
_INCOMPLETE = (
    "<p>Some requests left the journal before they were checked: conditions may have held for "
    "them.</p>"
)
# Longer texts of clients are cut.
MAX_LINE_CHARS = 200
_URL_HINT = "/docs/reference/routes/ lists the URLs of this server"
_CLIENTS_HINT = "a client that reads no variable needs this server's URL in code"
# Reasons of one kind in a text or summary.
MAX_REASONS = 50


def verdict_text(verdict: Verdict, *, notes: tuple[str, ...] = ()) -> str:
    """Return a headline and a line for each reason with the id of its request; notes come last."""
    return "\n".join(
        [headline(verdict), *_trouble_lines(verdict), *(f"note: {note}" for note in notes)]
    )


def headline(verdict: Verdict) -> str:
    """Return the first line of a report: passed or FAILED, the session or the run, and counts."""
    subject = "the run" if verdict.session is None else f"session {line(verdict.session)}"
    counts = [
        _format_count(verdict.requests, "request"),
        *(_format_count(len(items), noun) for items, noun in _items_with_nouns(verdict) if items),
    ]
    return f"{'passed' if verdict.passed else 'FAILED'}: {subject}, {', '.join(counts)}"


def line(text: str) -> str:
    """Return the text on one line of at most MAX_LINE_CHARS printable characters."""
    flat = " ".join(text.split())
    flat = "".join(char if char.isprintable() else "�" for char in flat)
    return flat if len(flat) <= MAX_LINE_CHARS else flat[: MAX_LINE_CHARS - 1] + "…"


def near_miss_text(miss: Any) -> str:
    """Return a near miss (JSON) as a line: its step and its first mismatch."""
    mismatch: Mapping[str, Any] = next(iter(miss.get("mismatches") or ()), {})
    step = f"{miss.get('scenario')}, step {miss.get('step')}"
    if not mismatch:
        return line(step)
    expected, actual = mismatch.get("expected"), mismatch.get("actual")
    return line(f"{step}: {mismatch.get('field')}: expected {expected}, got {actual}")


def _trouble_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the lines of a text report, a limited number of each kind."""
    steps = (line(f"{step.scenario}, step {step.step}") for step in verdict.unserved)
    findings = (
        f"{finding.level}: {finding.rule}: {line(finding.message)} [{finding.request}]"
        for finding in verdict.findings
    )
    yield from first_lines(map(_unmatched_lines, verdict.unmatched), MAX_REASONS)
    yield from first_lines(map(_violation_line, verdict.violations), MAX_REASONS)
    yield from first_lines((f"never served: {step}" for step in steps), MAX_REASONS)
    yield from _never_asked_lines(verdict)
    yield from first_lines(findings, MAX_REASONS)


def first_lines(lines: Iterable[str], limit: int) -> Iterator[str]:
    """Yield at most `limit` lines of a report, then a line with the number of omitted ones."""
    remaining = iter(lines)
    yield from islice(remaining, limit)
    if left := sum(1 for _ in remaining):
        yield f"… and {left:,} more"


def _unmatched_lines(request: UnmatchedRequest) -> str:
    """Return an unmatched request and its near misses as lines of request text."""
    reason = unmatched_reason(request.fallback, request.url_error)
    near = (f"  near: {near_miss_text(miss)}" for miss in request.near_misses)
    return "\n".join((f"unmatched: {line(request.path)}: {reason} [{request.id}]", *near))


def unmatched_reason(fallback: bool, url_error: str) -> str:
    """Return why no step answered a request, and what to do if its URL is the reason."""
    if url_error:
        return f"{line(url_error)} ({_URL_HINT})"
    return "no scenario matched (default answer)" if fallback else "no step answered"


def _violation_line(violation: Violation) -> str:
    step = f"{violation.scenario}, step {violation.step}: " if violation.scenario else ""
    return f"violated: {line(step + violation.text)} [{violation.request or 'not kept'}]"


def _never_asked_lines(verdict: Verdict) -> Iterator[str]:
    """Yield a line for each provider without a request, or for all if there was no request."""
    if not verdict.requests and (verdict.unserved or verdict.session is None):
        yield f"never asked: any provider. No request came; {_CLIENTS_HINT}"
        return
    for name in dict.fromkeys(step.never_asked for step in verdict.unserved if step.never_asked):
        yield f"never asked: {line(name)}. No request came; {_CLIENTS_HINT}"


def _items_with_nouns(verdict: Verdict) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield the items of each part of a verdict, with the noun for their number."""
    yield verdict.unmatched, "unmatched"
    yield verdict.violations, "violation"
    yield verdict.unserved, "step never served"
    for level, noun in (("error", "finding"), ("warning", "warning"), ("note", "note")):
        yield tuple(finding for finding in verdict.findings if finding.level == level), noun


def _format_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    if number == 1 or noun == "unmatched":
        return f"{number:,} {noun}"
    return f"{number:,} {noun.replace('step', 'steps', 1) if ' ' in noun else f'{noun}s'}"


@dataclass(frozen=True, slots=True)
class Case:
    """A JUnit test case; it fails if it has `reasons`. `noted` are warnings and notes."""

    group: str
    name: str
    reasons: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def verdict_cases(verdict: Mapping[str, Any]) -> Iterator[Case]:
    """Yield a case for each part of a verdict and for each client rule."""
    parts = (
        ("every request found its step", _format_unmatched, verdict["unmatched"]),
        ("every expectation held", _format_violation, verdict["violations"]),
        ("every step was served", _format_unserved, verdict["unserved"]),
    )
    group = verdict["session"] or "run"
    for name, reason_of, items in parts:
        yield Case(group, name, tuple(map(reason_of, items)))
    for rule in RULES:
        findings = [finding for finding in verdict["findings"] if finding["rule"] == rule.name]
        reasons = tuple(
            f"{line(finding['message'])} [{finding['request']}]" for finding in findings
        )
        fails = is_failing(rule.level, strict=verdict["strict"])
        yield Case(group, rule.name, reasons if fails else (), () if fails else reasons)


def coverage_cases(coverage: Mapping[str, Any]) -> Iterator[Case]:
    """Yield a case for each step; it fails if the step never answered or a fault never occurred."""
    for scenario in coverage["scenarios"]:
        for step in scenario["steps"]:
            reasons = [] if step["served"] else ["never served"]
            reasons += map(line, uncovered_parts(step))
            yield Case(scenario["scenario"], step["step"], tuple(reasons))


def junit(name: str, cases: Iterable[Case]) -> str:
    """Return a JUnit XML test suite."""
    all_cases = list(cases)
    failed = sum(1 for case in all_cases if case.reasons)
    counts = {"tests": str(len(all_cases)), "failures": str(failed), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": _xml_text(name), **counts})
    for case in all_cases:
        names = {"classname": _xml_text(f"{SUITE}.{case.group}"), "name": _xml_text(case.name)}
        element = ElementTree.SubElement(suite, "testcase", names)
        if case.reasons:
            first = {"message": _xml_text(case.reasons[0])}
            failure = ElementTree.SubElement(element, "failure", first)
            failure.text = _xml_text("\n".join(case.reasons))
        if case.noted:
            noted = ElementTree.SubElement(element, "system-out")
            noted.text = _xml_text("\n".join(case.noted))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def job_summary(verdict: Mapping[str, Any]) -> str:
    """Return a verdict as Markdown for a GitHub job summary."""
    result = "passed" if verdict["passed"] else "failed"
    subject = verdict["session"] or "all sessions"
    lines = [f"### mockllm: {result}", ""]
    lines += [f"{escape_markdown(subject)}, requests: {verdict['requests']}", ""]
    for case in verdict_cases(verdict):
        reasons = case.reasons or case.noted
        if not reasons:
            continue
        mark = "failed" if case.reasons else "noted"
        lines += [f"**{escape_markdown(case.name)}** ({mark}: {len(reasons)})", ""]
        lines += [f"- {escape_markdown(reason)}" for reason in reasons[:MAX_REASONS]]
        if len(reasons) > MAX_REASONS:
            lines.append(f"- … and {len(reasons) - MAX_REASONS} more")
        lines.append("")
    if verdict["receipt"]:
        lines += [f"Receipt: `{verdict['receipt']}`", ""]
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Return the text as one line in which no character has a meaning in Markdown."""
    return _PUNCTUATION.sub(r"\\\1", line(text))


def _xml_text(text: str) -> str:
    """Replace the characters that XML 1.0 does not allow; nothing is escaped."""
    return _XML_INVALID.sub("�", text)


def _format_unmatched(request: Mapping[str, Any]) -> str:
    near = "; ".join(near_miss_text(miss) for miss in request["near_misses"])
    reason = unmatched_reason(request["fallback"], request["url_error"])
    text = f"{line(request['path'])}: {reason} [{request['id']}]"
    return f"{text}; near: {near}" if near else text


def _format_violation(violation: Mapping[str, Any]) -> str:
    return f"{line(violation['text'])} [{violation['request'] or 'not kept'}]"


def _format_unserved(step: Mapping[str, Any]) -> str:
    return line(f"{step['scenario']}, step {step['step']}")


def coverage_page(coverage: Mapping[str, Any]) -> str:
    """Return the JSON of `GET /control/coverage` as an HTML page."""
    return "\n".join(_html_page(coverage))


def _html_page(coverage: Mapping[str, Any]) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f"<title>mockllm coverage: {coverage['percent']:g} %</title>"
    yield f"<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>Coverage: {coverage['percent']:g} %</h1>"
    yield (
        f"<p>{coverage['served']:,} of {coverage['steps']:,} steps answered, "
        f"{coverage['triggered']:,} of {coverage['faults']:,} faults triggered, in "
        f"{coverage['requests']:,} requests since {escape(str(coverage['since']))}.</p>"
    )
    if not coverage["complete"]:
        yield _INCOMPLETE
    for scenario in coverage["scenarios"]:
        yield from _html_scenario(scenario)
    yield "</body>\n</html>\n"


def _html_scenario(scenario: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{escape(scenario['scenario'])}</h2>\n<table>"
    yield '<tr><th>Step</th><th class="number">Answers</th><th>Never</th></tr>'
    for step in scenario["steps"]:
        state = "served" if step["served"] else "missed"
        never = "<br>".join(escape(text) for text in uncovered_parts(step))
        yield (
            f'<tr class="{state}"><td>{escape(step["step"])}</td>'
            f'<td class="number">{step["served"]:,}</td><td>{never}</td></tr>'
        )
    yield "</table>"


def uncovered_parts(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield the conditions of a step that never held, and its faults that never occurred."""
    for condition in step["never_true"]:
        yield f"never true: {condition['field']}: {condition['expected']}"
    for fault in step["faults"]:
        if not fault["triggered"]:
            yield f"never triggered: {fault['kind']} ({fault['place']})"
