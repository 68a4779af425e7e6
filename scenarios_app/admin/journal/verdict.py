"""The verdict on a session for its page, and passed or failed for the list of sessions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from mockllm_site.kit.admin.records import link_html
from scenarios_app.control.verdict import INCOMPLETE, judge_session
from scenarios_app.models import ServedRequest
from scenarios_app.verdict.judge import Verdict
from scenarios_app.verdict.reports import MAX_REASONS, line, unmatched_reason

# Limits for one view of the list: judging a request takes about 0.2 ms.
MAX_JUDGED_SESSIONS = 100
MAX_JUDGED_REQUESTS = 1_000


@dataclass(slots=True)
class FindingLine:
    """One reason of a verdict. `requests` are the ids of its journal entries; `links` are links to
    them as HTML. `near_misses` are those of the request's page. `scenario`, `step` and `rule` are
    "" if it concerns none."""

    text: str
    requests: Sequence[str] = ()
    near_misses: Sequence[Any] = ()
    scenario: str = ""
    step: str = ""
    links: Sequence[str] = ()
    rule: str = ""


@dataclass(frozen=True, slots=True)
class VerdictSection:
    """One section of the verdict card, such as unmatched requests, unused steps or findings of
    client rules; `fails` if it fails the verdict."""

    title: str
    findings: Sequence[FindingLine]
    fails: bool = True

    @property
    def lines(self) -> Sequence[FindingLine]:
        """The first findings, which are shown."""
        return self.findings[:MAX_REASONS]

    @property
    def count(self) -> int:
        return len(self.findings)

    @property
    def more(self) -> int:
        """The number of findings that are not shown."""
        return self.count - len(self.lines)


@dataclass(frozen=True, slots=True)
class VerdictCard:
    """The verdict as the session's page shows it. `requests` is the number of requests, `groups`
    are sections with findings; `note` says that the journal may lack requests, or is ""."""

    passed: bool
    requests: int
    groups: Sequence[VerdictSection]
    note: str

    @property
    def scenarios(self) -> set[str]:
        """The names of the scenarios in the shown lines."""
        lines = [line for group in self.groups for line in group.lines]
        near = {str(miss.get("scenario")) for line in lines for miss in line.near_misses}
        return {*near, *(line.scenario for line in lines)} - {""}


def verdict_card(session: str) -> VerdictCard:
    """Judge a session as `GET /control/verdict` does. The journal must have been flushed."""
    verdict, judged = judge_session(session)
    groups = [group for group in _verdict_sections(verdict) if group.findings]
    _add_links([finding for group in groups for finding in group.lines])
    note = "" if judged.complete else INCOMPLETE
    return VerdictCard(verdict.passed, verdict.requests, groups, note)


def quick_verdicts(sessions: Iterable[tuple[str, int, bool]]) -> dict[str, bool]:
    """Return by session if it passed. Each comes with its number of requests, and true if it is
    known to have failed. The others are judged within MAX_JUDGED_SESSIONS and MAX_JUDGED_REQUESTS;
    those that exceed what is left of these are not in the result."""
    passed: dict[str, bool] = {}
    sessions_left, requests_left = MAX_JUDGED_SESSIONS, MAX_JUDGED_REQUESTS
    for name, requests, failed in sessions:
        if failed:
            passed[name] = False
        elif sessions_left and requests <= requests_left:
            sessions_left, requests_left = sessions_left - 1, requests_left - requests
            passed[name] = judge_session(name)[0].passed
    return passed


def _verdict_sections(verdict: Verdict) -> Iterator[VerdictSection]:
    """Yield the sections in order: unmatched requests, violations, unused steps, findings by
    level."""
    unmatched = [
        FindingLine(
            f"{line(finding.path)}: {unmatched_reason(finding.fallback, finding.url_error)}",
            (finding.id,),
            finding.near_misses,
        )
        for finding in verdict.unmatched
    ]
    yield VerdictSection("Unmatched requests", unmatched)
    violations = [
        FindingLine(
            line(finding.text),
            (finding.request,) if finding.request else (),
            scenario=finding.scenario or "",
            step=finding.step or "",
        )
        for finding in verdict.violations
    ]
    yield VerdictSection("Violations", violations)
    unused = [
        FindingLine("never answered", scenario=finding.scenario, step=finding.step)
        for finding in verdict.unserved
    ]
    yield VerdictSection("Unused steps", unused)
    titles = {"error": "Client findings", "warning": "Warnings", "note": "Notes"}
    for level, title in titles.items():
        findings = [
            FindingLine(line(finding.message), finding.requests, rule=finding.rule)
            for finding in verdict.findings
            if finding.level == level
        ]
        yield VerdictSection(title, findings, fails=level == "error")


def _add_links(findings: Sequence[FindingLine]) -> None:
    """Link the findings to their requests that are still in the journal."""
    ids = {uid for finding in findings for uid in finding.requests}
    rows = ServedRequest.objects.filter(uid__in=ids).values_list("uid", "pk", "at")
    links = {
        str(uid): link_html(
            reverse("admin:scenarios_app_servedrequest_change", args=(pk,)),
            f"request {at:%H:%M:%S}",
        )
        for uid, pk, at in rows
    }
    for finding in findings:
        finding.links = [links[uid] for uid in finding.requests if uid in links]
