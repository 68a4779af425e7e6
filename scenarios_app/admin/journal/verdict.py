"""The verdict on a session for its page, and passed or failed for the list of sessions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from scenarios_app.control.verdict import INCOMPLETE, judge_session
from scenarios_app.models import ServedRequest
from scenarios_app.verdict.judge import Verdict
from scenarios_app.verdict.reports import MAX_REASONS, line, near_miss_text, unmatched_reason
from scenarios_app.verdict.session import Finding

# Limits for one view of the list: judging a request takes about 0.2 ms.
MAX_JUDGED_SESSIONS = 100
MAX_JUDGED_REQUESTS = 1_000


@dataclass(frozen=True, slots=True)
class RequestLink:
    label: str
    url: str


@dataclass(frozen=True, slots=True)
class FindingLine:
    """One finding. `requests` are the ids of its journal entries."""

    text: str
    requests: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()
    scenario: str = ""
    step: str = ""
    links: tuple[RequestLink, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one kind, at most MAX_REASONS of them; `more` counts those that are left out."""

    title: str
    lines: tuple[FindingLine, ...]
    count: int
    fails: bool = True

    @property
    def more(self) -> int:
        return self.count - len(self.lines)


@dataclass(frozen=True, slots=True)
class VerdictCard:
    passed: bool
    requests: int
    groups: tuple[FindingGroup, ...]
    note: str

    @property
    def scenarios(self) -> set[str]:
        return {
            finding.scenario for group in self.groups for finding in group.lines if finding.scenario
        }


def verdict_card(session: str) -> VerdictCard:
    """Judge a session as `GET /control/verdict` does. The journal must have been flushed."""
    verdict, judged = judge_session(session)
    groups = tuple(_linked(group) for group in _groups(verdict) if group.count)
    note = "" if judged.complete else INCOMPLETE
    return VerdictCard(verdict.passed, verdict.requests, groups, note)


def quick_verdicts(sessions: Iterable[tuple[str, int, bool]]) -> dict[str, bool]:
    """Return by session whether it passed; sessions that are too large to judge are left out.

    Each session comes with its number of requests, and whether it is known to have failed.
    """
    passed: dict[str, bool] = {}
    sessions_left, requests_left = MAX_JUDGED_SESSIONS, MAX_JUDGED_REQUESTS
    for name, requests, failed in sessions:
        if failed:
            passed[name] = False
        elif sessions_left and requests <= requests_left:
            sessions_left, requests_left = sessions_left - 1, requests_left - requests
            passed[name] = judge_session(name)[0].passed
    return passed


def _groups(verdict: Verdict) -> Iterator[FindingGroup]:
    unmatched = [
        FindingLine(
            f"{line(finding.path)}: {unmatched_reason(finding.fallback, finding.url_error)}",
            (finding.id,),
            tuple(near_miss_text(miss) for miss in finding.near_misses),
        )
        for finding in verdict.unmatched
    ]
    yield _group("Unmatched requests", unmatched)
    violations = [
        FindingLine(
            line(finding.text),
            (finding.request,) if finding.request else (),
            scenario=finding.scenario or "",
            step=finding.step or "",
        )
        for finding in verdict.violations
    ]
    yield _group("Violations", violations)
    unused = [
        FindingLine("never answered", scenario=finding.scenario, step=finding.step)
        for finding in verdict.unserved
    ]
    yield _group("Unused steps", unused)
    yield _group("Client findings", _findings(verdict.findings, "error"))
    yield _group("Warnings", _findings(verdict.findings, "warning"), fails=False)
    yield _group("Notes", _findings(verdict.findings, "note"), fails=False)


def _findings(findings: Iterable[Finding], level: str) -> list[FindingLine]:
    selected = [finding for finding in findings if finding.level == level]
    return [
        FindingLine(f"{finding.rule}: {line(finding.message)}", finding.requests)
        for finding in selected
    ]


def _group(title: str, lines: Sequence[FindingLine], *, fails: bool = True) -> FindingGroup:
    return FindingGroup(title, tuple(lines[:MAX_REASONS]), len(lines), fails)


def _linked(group: FindingGroup) -> FindingGroup:
    """Return the group with links to its requests that are still in the journal."""
    ids = {uid for finding in group.lines for uid in finding.requests}
    rows = ServedRequest.objects.filter(uid__in=ids).values_list("uid", "pk", "at")
    links = {
        str(uid): RequestLink(
            f"{at:%H:%M:%S}", reverse("admin:scenarios_app_servedrequest_change", args=(pk,))
        )
        for uid, pk, at in rows
    }
    lines = tuple(
        replace(finding, links=tuple(links[uid] for uid in finding.requests if uid in links))
        for finding in group.lines
    )
    return replace(group, lines=lines)
