"""Reports that other tools read: JUnit XML and Markdown, out of what the control API answers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from scenarios_app.verdict.page import missed
from scenarios_app.verdict.rules import RULES
from scenarios_app.verdict.text import line, near_miss_text

SUITE = "mockllm"
# What XML 1.0 cannot say at all, escaped or not.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# So many reasons of a kind stand in a summary.
_MOST = 50


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
    how = "only the catch-all answered" if one["fallback"] else "no step answered"
    return f"{line(one['path'])}: {how} [{one['id']}]" + (f"; near: {near}" if near else "")


def _violation(one: Mapping[str, Any]) -> str:
    return f"{line(one['text'])} [{one['request'] or 'not kept'}]"


def _unserved(one: Mapping[str, Any]) -> str:
    return line(f"{one['scenario']}, step {one['step']}")
