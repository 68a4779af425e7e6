"""JUnit XML and Markdown of a verdict contain each reason, escaped."""

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from scenarios_app.verdict.judge import RULES, Verdict
from scenarios_app.verdict.reports import (
    SUITE,
    escape_markdown,
    job_summary,
    junit,
    verdict_cases,
    verdict_text,
)
from scenarios_app.verdict.session import Finding

HOSTILE_TEXT = "]]></failure><x a='\"'>&amp;\x00\x1b[31m | `code` <script>\n# big\u2028"


def verdict(**parts: Any) -> dict[str, Any]:
    return {
        **{"session": "s", "passed": not parts, "strict": False, "requests": 3},
        **{"unmatched": [], "violations": [], "unserved": [], "findings": []},
        **{"receipt": "sha256:00", "text": "…", "complete": True, "lost": 0},
        **parts,
    }


def failed_verdict(text: str) -> dict[str, Any]:
    miss = {"field": "match.model", "expected": text, "actual": text}
    near = {"scenario": text, "step": "1", "mismatches": [miss]}
    unmatched = {"id": "id-1", "path": text, "fallback": False, "url_error": ""}
    unmatched |= {"near_misses": [near]}
    finding = {"rule": "no-back-off", "level": "error", "message": text, "request": "id-3"}
    warning = {**finding, "rule": "stream-closed-early", "level": "warning", "request": "id-4"}
    return verdict(
        unmatched=[unmatched],
        violations=[{"text": text, "request": None}],
        unserved=[{"scenario": text, "step": "last"}],
        findings=[finding, warning],
    )


def parse_junit(body: dict[str, Any]) -> ElementTree.Element:
    return ElementTree.fromstring(junit(SUITE, verdict_cases(body)))


def test_passed_verdict_is_a_suite_of_passed_cases() -> None:
    suite = parse_junit(verdict())
    assert (suite.tag, suite.get("failures")) == ("testsuite", "0")
    names = [case.get("name") for case in suite]
    assert suite.get("tests") == str(len(names))
    assert names[:3] == [
        "every request found its step",
        "every expectation held",
        "every step was served",
    ]
    assert names[3:] == [rule.name for rule in RULES]
    assert not any(list(case) for case in suite)


def test_each_reason_is_the_failure_of_its_case() -> None:
    suite = parse_junit(failed_verdict("plain"))
    assert suite.get("failures") == "4"
    text = {case.get("name"): case.findtext("failure") for case in suite}
    assert text["every request found its step"] == (
        "plain: no step answered [id-1]; "
        "near: plain, step 1: match.model: expected plain, got plain"
    )
    assert text["every expectation held"] == "plain [not kept]"
    assert text["every step was served"] == "plain, step last"
    assert text["no-back-off"] == "plain [id-3]"


def test_warning_fails_its_case_only_in_a_strict_verdict() -> None:
    (case,) = [
        c for c in parse_junit(failed_verdict("x")) if c.get("name") == "stream-closed-early"
    ]
    assert (case.findtext("failure"), case.findtext("system-out")) == (None, "x [id-4]")
    strict = parse_junit({**failed_verdict("x"), "strict": True})
    (case,) = [c for c in strict if c.get("name") == "stream-closed-early"]
    assert (case.findtext("failure"), case.findtext("system-out")) == ("x [id-4]", None)


@pytest.mark.parametrize("strict", [False, True])
def test_note_fails_no_verdict(strict: bool) -> None:
    note = Finding("some-rule", "note", "seen", "s", "id-5", ("id-5",))
    noted = Verdict("s", strict=strict, requests=1, findings=(note,))
    assert noted.passed
    assert verdict_text(noted).splitlines() == [
        "passed: session s, 1 request, 1 note",
        "note: some-rule: seen [id-5]",
    ]
    warning = replace(note, level="warning")
    assert replace(noted, findings=(note, warning)).passed is not strict


def test_note_fails_its_case_in_no_verdict() -> None:
    note = {"rule": "retries-undecided", "level": "note", "message": "x", "request": "id-5"}
    for strict in (False, True):
        suite = parse_junit(verdict(findings=[note], strict=strict))
        assert suite.get("failures") == "0"
        (case,) = [case for case in suite if case.get("name") == "retries-undecided"]
        assert case.findtext("system-out") == "x [id-5]"
        text = job_summary(verdict(findings=[note], strict=strict))
        assert "**retries\\-undecided** (noted: 1)" in text


def test_hostile_text_is_escaped_in_xml() -> None:
    text = ElementTree.tostring(parse_junit(failed_verdict(HOSTILE_TEXT)), encoding="unicode")
    assert "\x00" not in text
    assert parse_junit(failed_verdict(HOSTILE_TEXT)).find(".//x") is None


def test_hostile_text_is_escaped_in_the_summary() -> None:
    text = job_summary(failed_verdict(HOSTILE_TEXT))
    assert "<script>" not in text
    assert r"\<script\>" in text
    assert "\n# big" not in text
    assert r"\`code\`" in text


@pytest.mark.parametrize(
    ("text", "escaped"), [("a_b *c*", r"a\_b \*c\*"), ("&lt;", r"\&lt\;"), ("a\nb", "a b")]
)
def test_escaped_markdown_shows_the_text_unchanged(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


def test_summary_shows_result_receipt_and_failed_rules() -> None:
    assert job_summary(verdict()).splitlines()[0] == "### mockllm: passed"
    assert "Receipt: `sha256:00`" in job_summary(verdict())
    text = job_summary(failed_verdict("plain"))
    assert text.startswith("### mockllm: failed")
    assert "**no\\-back\\-off** (failed: 1)" in text
    assert "**stream\\-closed\\-early** (noted: 1)" in text


def test_summary_lists_at_most_fifty_reasons() -> None:
    many = [{"scenario": "s", "step": str(number)} for number in range(60)]
    text = job_summary(verdict(unserved=many))
    assert text.count("- s\\, step") == 50
    assert "- … and 10 more" in text
