"""JUnit XML and Markdown of a verdict: each reason stands in it, and nothing breaks it."""

from typing import Any
from xml.etree import ElementTree

import pytest

from scenarios_app.verdict.judge import RULES
from scenarios_app.verdict.reports import SUITE, junit, markdown, summary, verdict_cases

EVIL = "]]></failure><x a='\"'>&amp;\x00\x1b[31m | `code` <script>\n# big\u2028"


def verdict(**parts: Any) -> dict[str, Any]:
    return {
        **{"session": "s", "passed": not parts, "strict": False, "requests": 3},
        **{"unmatched": [], "violations": [], "unserved": [], "findings": []},
        **{"receipt": "sha256:00", "text": "…", "complete": True, "lost": 0},
        **parts,
    }


def failed(text: str) -> dict[str, Any]:
    miss = {"field": "match.model", "expected": text, "actual": text}
    near = {"scenario": text, "step": "1", "mismatches": [miss]}
    unmatched = {"id": "id-1", "path": text, "fallback": False, "near_misses": [near]}
    finding = {"rule": "no-back-off", "level": "error", "message": text, "request": "id-3"}
    warning = {**finding, "rule": "stream-closed-early", "level": "warning", "request": "id-4"}
    return verdict(
        unmatched=[unmatched],
        violations=[{"text": text, "request": None}],
        unserved=[{"scenario": text, "step": "last"}],
        findings=[finding, warning],
    )


def parsed(body: dict[str, Any]) -> ElementTree.Element:
    return ElementTree.fromstring(junit(SUITE, verdict_cases(body)))


def test_a_verdict_that_passed_is_a_suite_of_cases_that_passed() -> None:
    suite = parsed(verdict())
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


def test_every_reason_is_the_failure_of_its_case() -> None:
    suite = parsed(failed("plain"))
    assert suite.get("failures") == "4"
    told = {case.get("name"): case.findtext("failure") for case in suite}
    assert told["every request found its step"] == (
        "plain: no step answered [id-1]; near: plain, step 1: match.model wants plain, got plain"
    )
    assert told["every expectation held"] == "plain [not kept]"
    assert told["every step was served"] == "plain, step last"
    assert told["no-back-off"] == "plain [id-3]"


def test_a_warning_fails_no_case_unless_the_verdict_is_strict() -> None:
    (case,) = [c for c in parsed(failed("x")) if c.get("name") == "stream-closed-early"]
    assert (case.findtext("failure"), case.findtext("system-out")) == (None, "x [id-4]")
    strict = parsed({**failed("x"), "strict": True})
    (case,) = [c for c in strict if c.get("name") == "stream-closed-early"]
    assert (case.findtext("failure"), case.findtext("system-out")) == ("x [id-4]", None)


def test_no_text_breaks_the_xml() -> None:
    text = ElementTree.tostring(parsed(failed(EVIL)), encoding="unicode")
    assert "\x00" not in text
    assert parsed(failed(EVIL)).find(".//x") is None


def test_no_text_is_markdown_of_its_own() -> None:
    told = summary(failed(EVIL))
    assert "<script>" not in told
    assert r"\<script\>" in told
    assert "\n# big" not in told
    assert r"\`code\`" in told


@pytest.mark.parametrize(
    ("text", "shown"), [("a_b *c*", r"a\_b \*c\*"), ("&lt;", r"\&lt\;"), ("a\nb", "a b")]
)
def test_markdown_shows_a_text_as_it_is(text: str, shown: str) -> None:
    assert markdown(text) == shown


def test_a_summary_says_whether_it_passed_and_the_receipt() -> None:
    assert summary(verdict()).splitlines()[0] == "### mockllm: passed"
    assert "Receipt: `sha256:00`" in summary(verdict())
    told = summary(failed("plain"))
    assert told.startswith("### mockllm: failed")
    assert "**no\\-back\\-off** (failed: 1)" in told
    assert "**stream\\-closed\\-early** (noted: 1)" in told


def test_of_many_reasons_a_summary_tells_some() -> None:
    many = [{"scenario": "s", "step": str(number)} for number in range(60)]
    told = summary(verdict(unserved=many))
    assert told.count("- s\\, step") == 50
    assert "- … and 10 more" in told
