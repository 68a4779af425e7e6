"""What came of a run as people and other tools read it: a verdict as lines, JUnit XML and Markdown
out of what the control API answers, and coverage as one HTML page."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import chain, islice
from typing import Any
from xml.etree import ElementTree

from scenarios_app.verdict.judge import RULES, Unmatched, Unserved, Verdict, Violation
from scenarios_app.verdict.session import Finding

SUITE = "mockllm"
# What XML 1.0 cannot say at all, escaped or not.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# So many reasons of a kind stand in a summary.
_MOST = 50
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left }
td.number, th.number { text-align: right }
tr.missed td:first-child::before { content: "✗ "; color: #c22 }
tr.served td:first-child::before { content: "✓ "; color: #187a2f }
:root { color-scheme: light dark }
"""
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
        _few(map(_unmatched_lines, verdict.unmatched)),
        _few(map(_violated, verdict.violations)),
        _few(map(_unserved_lines, verdict.unserved)),
        _few(map(_found, verdict.findings)),
    )
    return chain.from_iterable(kinds)


def _few(reasons: Iterable[Iterable[str]]) -> Iterator[str]:
    each = iter(reasons)
    yield from chain.from_iterable(islice(each, MOST))
    if left := sum(1 for _ in each):
        yield f"… and {left:,} more"


def _unmatched_lines(one: Unmatched) -> Iterator[str]:
    how = "no scenario matched (default answer)" if one.fallback else "no step answered"
    yield f"unmatched: {line(one.path)}: {how} [{one.id}]"
    yield from (f"  near: {near_miss_text(miss)}" for miss in one.near_misses)


def _violated(one: Violation) -> Iterator[str]:
    step = f"{one.scenario}, step {one.step}: " if one.scenario else ""
    yield f"violated: {line(step + one.text)} [{one.request or 'not kept'}]"


def _unserved_lines(one: Unserved) -> Iterator[str]:
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


@dataclass(frozen=True, slots=True)
class Case:
    """Something that holds, or does not for each of these reasons; `noted` ones fail nothing."""

    group: str
    name: str
    reasons: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def verdict_cases(verdict: Mapping[str, Any]) -> Iterator[Case]:
    """What was judged, one case for each part of the verdict and each rule of clients."""
    parts = (
        ("every request found its step", map(_unmatched, verdict["unmatched"])),
        ("every expectation held", map(_violation, verdict["violations"])),
        ("every step was served", map(_unserved, verdict["unserved"])),
    )
    group = verdict["session"] or "run"
    for name, told in parts:
        yield Case(group, name, tuple(told))
    for rule in RULES:
        found = [one for one in verdict["findings"] if one["rule"] == rule.name]
        reasons = tuple(f"{line(one['message'])} [{one['request']}]" for one in found)
        fails = rule.level == "error" or verdict["strict"]
        yield Case(group, rule.name, reasons if fails else (), () if fails else reasons)


def coverage_cases(found: Mapping[str, Any]) -> Iterator[Case]:
    """A case for each step: it fails where the step never answered, or a fault never struck."""
    for one in found["scenarios"]:
        for step in one["steps"]:
            reasons = [] if step["served"] else ["never served"]
            yield Case(one["scenario"], step["step"], (*reasons, *map(line, missed(step))))


def junit(name: str, cases: Iterable[Case]) -> str:
    """JUnit's XML: a test case each."""
    told = list(cases)
    failed = sum(1 for case in told if case.reasons)
    counts = {"tests": str(len(told)), "failures": str(failed), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": _xml(name), **counts})
    for case in told:
        names = {"classname": _xml(f"{SUITE}.{case.group}"), "name": _xml(case.name)}
        element = ElementTree.SubElement(suite, "testcase", names)
        if case.reasons:
            first = {"message": _xml(case.reasons[0])}
            failure = ElementTree.SubElement(element, "failure", first)
            failure.text = _xml("\n".join(case.reasons))
        if case.noted:
            noted = ElementTree.SubElement(element, "system-out")
            noted.text = _xml("\n".join(case.noted))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def summary(verdict: Mapping[str, Any]) -> str:
    """Markdown, as GitHub shows it for a step of a workflow."""
    passed = "passed" if verdict["passed"] else "failed"
    whose = verdict["session"] or "all sessions"
    lines = [f"### mockllm: {passed}", ""]
    lines += [f"{markdown(whose)}, requests: {verdict['requests']}", ""]
    for case in verdict_cases(verdict):
        reasons = case.reasons or case.noted
        if not reasons:
            continue
        mark = "failed" if case.reasons else "noted"
        lines += [f"**{markdown(case.name)}** ({mark}: {len(reasons)})", ""]
        lines += [f"- {markdown(reason)}" for reason in reasons[:_MOST]]
        if len(reasons) > _MOST:
            lines.append(f"- … and {len(reasons) - _MOST} more")
        lines.append("")
    if verdict["receipt"]:
        lines += [f"Receipt: `{verdict['receipt']}`", ""]
    return "\n".join(lines)


def markdown(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _PUNCTUATION.sub(r"\\\1", line(text))


def _xml(text: str) -> str:
    return _NO_XML.sub("�", text)


def _unmatched(one: Mapping[str, Any]) -> str:
    near = "; ".join(near_miss_text(miss) for miss in one["near_misses"])
    how = "no scenario matched (default answer)" if one["fallback"] else "no step answered"
    return f"{line(one['path'])}: {how} [{one['id']}]" + (f"; near: {near}" if near else "")


def _violation(one: Mapping[str, Any]) -> str:
    return f"{line(one['text'])} [{one['request'] or 'not kept'}]"


def _unserved(one: Mapping[str, Any]) -> str:
    return line(f"{one['scenario']}, step {one['step']}")


def coverage_page(found: Mapping[str, Any]) -> str:
    """The page of what `GET /control/coverage` answers."""
    return "\n".join(_html(found)) + "\n"


def _html(found: Mapping[str, Any]) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f"<title>mockllm coverage: {found['percent']:g} %</title>"
    yield f"<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>Coverage: {found['percent']:g} %</h1>"
    yield (
        f"<p>{found['served']:,} of {found['steps']:,} steps answered, {found['triggered']:,} of "
        f"{found['faults']:,} faults struck, in {found['requests']:,} requests since "
        f"{escape(str(found['since']))}.</p>"
    )
    if not found["complete"]:
        yield "<p>Some requests had left the journal unseen: conditions may have held in them.</p>"
    for one in found["scenarios"]:
        yield from _html_scenario(one)
    yield "</body>\n</html>"


def _html_scenario(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{escape(one['scenario'])}</h2>\n<table>"
    yield '<tr><th>Step</th><th class="number">Answers</th><th>Never</th></tr>'
    for step in one["steps"]:
        state = "served" if step["served"] else "missed"
        never = "<br>".join(escape(text) for text in missed(step))
        yield (
            f'<tr class="{state}"><td>{escape(step["step"])}</td>'
            f'<td class="number">{step["served"]:,}</td><td>{never}</td></tr>'
        )
    yield "</table>"


def missed(step: Mapping[str, Any]) -> Iterator[str]:
    """What of a step the run has not come by."""
    for never in step["never_true"]:
        yield f"never true: {never['field']}: {never['expected']}"
    for fault in step["faults"]:
        if not fault["triggered"]:
            yield f"never triggered: {fault['kind']} ({fault['place']})"
