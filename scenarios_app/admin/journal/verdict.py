"""The verdict on a session for its page, and passed or failed for the list of sessions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from django.urls import reverse

from mockllm_site.kit.admin.records import link_html
from mockllm_site.kit.bounded_dict import BoundedDict
from scenarios_app.admin.journal.session_list import JournalCounts, SessionLine
from scenarios_app.catalog import catalog
from scenarios_app.catalog.snapshot import Snapshot
from scenarios_app.control.verdict import INCOMPLETE, judge_session
from scenarios_app.engine.state import SessionState
from scenarios_app.models import ServedRequest
from scenarios_app.verdict.judge import Verdict
from scenarios_app.verdict.reports import MAX_REASONS, line, unmatched_reason

# Longer sessions are judged on their pages alone: a request takes 0.2 to 1 ms.
MAX_SESSION_REQUESTS = 1_000
# Once so many requests are judged, the other sessions wait for the next view of the list.
MAX_JUDGED_REQUESTS = 50
MAX_KEPT_VERDICTS = 1_000


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


class JudgedLine(NamedTuple):
    """A verdict, and whether the journal had all of its session's requests."""

    verdict: Verdict
    complete: bool


class VerdictCache:
    """The latest verdicts of sessions. Each is kept until its session gets another request or
    other state, or until a scenario changes."""

    def __init__(self) -> None:
        self._judged = BoundedDict[str, tuple[_Evidence, JudgedLine]](MAX_KEPT_VERDICTS)
        self._snapshot: Snapshot | None = None

    def find(self, line: SessionLine) -> JudgedLine | None:
        """Return the kept verdict of a session, or None if it has to be judged."""
        if (snapshot := catalog.snapshot()) is not self._snapshot:
            self._judged.clear()
            self._snapshot = snapshot
        evidence, judged = self._judged.get(line.name, (None, None))
        return judged if evidence == _evidence_of(line) else None

    def judge(self, line: SessionLine) -> JudgedLine:
        """Return the kept verdict of a session, else judge it as `GET /control/verdict` does. The
        journal must have been flushed."""
        if (judged := self.find(line)) is None:
            verdict, loaded = judge_session(line.name)
            judged = JudgedLine(verdict, loaded.complete)
            self._judged[line.name] = _evidence_of(line), judged
        return judged


_Evidence: TypeAlias = tuple[JournalCounts, SessionState, int]


def _evidence_of(line: SessionLine) -> _Evidence:
    return line.seen, line.state, line.revision


verdicts: Final = VerdictCache()


def verdict_card(line: SessionLine) -> VerdictCard:
    """Return the verdict on a session for its page. The journal must have been flushed."""
    verdict, complete = verdicts.judge(line)
    groups = [group for group in _verdict_sections(verdict) if group.findings]
    _add_links([finding for group in groups for finding in group.lines])
    note = "" if complete else INCOMPLETE
    return VerdictCard(verdict.passed, verdict.requests, groups, note)


def judge_lines(lines: Iterable[SessionLine]) -> bool:
    """Set `passed` of sessions: of those that failed for sure, have a kept verdict, or are judged
    now within MAX_JUDGED_REQUESTS. Return True if others wait for the next call."""
    left, waiting = MAX_JUDGED_REQUESTS, False
    for session in lines:
        if session.seen.unmatched or session.state.violations:
            session.passed = False
        elif judged := verdicts.find(session):
            session.passed = judged.verdict.passed
        elif session.seen.requests <= MAX_SESSION_REQUESTS and left > 0:
            left -= session.seen.requests
            session.passed = verdicts.judge(session).verdict.passed
        else:
            waiting |= session.seen.requests <= MAX_SESSION_REQUESTS
    return waiting


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
