"""The verdict on a session, or on all sessions of a run: the rules of clients in the order in which
they are told, what they find, and one hash over scripts, requests and answers."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scenarios_app.engine.canonical import Json
from scenarios_app.verdict.conversation_rules import (
    PROMPT_CACHE_BROKEN,
    TOOL_ARGUMENTS_OUTSIDE_SCHEMA,
    TOOL_RESULT_MISSING,
    TOOL_RESULT_UNKNOWN,
)
from scenarios_app.verdict.session import Exchange, Finding, Rule, Session
from scenarios_app.verdict.transport_rules import (
    NO_BACK_OFF,
    RETRIED_UNRETRYABLE,
    RETRY_AFTER_IGNORED,
    STREAM_CLOSED_EARLY,
    TRUNCATED_TAKEN_AS_COMPLETE,
    USAGE_UNREAD,
)

# What stands for every name in a list of them.
ALL = "*"
SCHEME = "sha256:"
RULES: tuple[Rule, ...] = (
    RETRY_AFTER_IGNORED,
    NO_BACK_OFF,
    RETRIED_UNRETRYABLE,
    TRUNCATED_TAKEN_AS_COMPLETE,
    STREAM_CLOSED_EARLY,
    USAGE_UNREAD,
    TOOL_RESULT_MISSING,
    TOOL_RESULT_UNKNOWN,
    TOOL_ARGUMENTS_OUTSIDE_SCHEMA,
    PROMPT_CACHE_BROKEN,
)


def receipt(scripts: Mapping[str, Json], exchanges: Iterable[Exchange]) -> str:
    """The receipt of a run, out of the documents of its scenarios by name.

    It holds method, path, query and body of each request, and status, how it ended, and body of
    each answer; no headers, no times, no ids of the journal's own. The order in which parallel
    answers ended makes no difference. Of an answer that its client left only the status counts:
    how much of it was sent is chance.
    """
    lines = sorted(_digest(_answered(one)) for one in exchanges)
    return SCHEME + _digest([dict(sorted(scripts.items())), list(lines)])


def _answered(one: Exchange) -> Json:
    left = one.outcome == "client_gone"
    sent: list[Json] = [] if left else [one.response_body, one.response_bytes]
    return [
        [one.method, one.path, dict(one.query), one.request_body, one.request_bytes],
        [one.status, one.outcome, *sent],
    ]


def _digest(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A request that no step answered, or a catch-all alone."""

    id: str
    session: str
    provider: str
    path: str
    fallback: bool
    near_misses: Sequence[Json]


@dataclass(frozen=True, slots=True)
class Violation:
    """What was expected and did not hold. Of one whose request the journal has lost only the text
    is known."""

    text: str
    session: str
    request: str | None = None
    scenario: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Unserved:
    """A step that never answered. `session` is None where it is no session's own."""

    scenario: str
    step: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """How to judge. Of `scenarios` every step has to answer, besides those of a session's own; but
    for `allowed` ones (`SCENARIO` or `SCENARIO/STEP`). `ignored` are names of rules."""

    scenarios: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a session or, where `session` is None, with all of a run. `requests` is
    how many were judged."""

    session: str | None
    strict: bool = False
    requests: int = 0
    unmatched: tuple[Unmatched, ...] = ()
    violations: tuple[Violation, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    findings: tuple[Finding, ...] = field(default=())

    @property
    def passed(self) -> bool:
        told = self.findings if self.strict else [f for f in self.findings if f.level == "error"]
        return not (self.unmatched or self.violations or self.unserved or told)


def judge(session: Session, asked: Asked = Asked()) -> Verdict:
    """The verdict on one session."""
    return Verdict(
        session.name,
        strict=asked.strict,
        requests=len(session.exchanges),
        unmatched=tuple(_unmatched(session)),
        violations=tuple(_violations(session)),
        unserved=tuple(_unserved(session, asked)),
        findings=tuple(_findings(session, asked.ignored)),
    )


def judge_run(sessions: Iterable[Session], asked: Asked) -> Verdict:
    """The verdict on all sessions together: a step that is common to them has to answer in one."""
    found: list[Verdict] = []
    own: list[Unserved] = []
    common: dict[tuple[str, str], Unserved] = {}
    served: set[tuple[str, str]] = set()
    for session in sessions:
        one = judge(session, asked)
        found.append(one)
        own += [step for step in one.unserved if step.session is not None]
        missing = {(s.scenario, s.step): s for s in one.unserved if s.session is None}
        served |= set(_wanted_labels(session, asked)) - missing.keys()
        common |= missing
    left = [step for key, step in common.items() if key not in served]
    return Verdict(
        None,
        strict=asked.strict,
        requests=sum(one.requests for one in found),
        unmatched=tuple(each for one in found for each in one.unmatched),
        violations=tuple(each for one in found for each in one.violations),
        unserved=(*sorted(left), *own),
        findings=tuple(each for one in found for each in one.findings),
    )


def _unmatched(session: Session) -> Iterator[Unmatched]:
    for one in session.exchanges:
        if one.unmatched:
            yield Unmatched(
                one.id, session.name, one.provider, one.path, one.fallback, one.near_misses
            )


def _violations(session: Session) -> Iterator[Violation]:
    known: Counter[str] = Counter()
    for one in session.exchanges:
        known.update(one.violations)
        for text in one.violations:
            yield Violation(text, session.name, one.id, one.scenario or None, one.step or None)
    for text in (Counter(session.violations) - known).elements():
        yield Violation(text, session.name)


def _unserved(session: Session, asked: Asked) -> Iterator[Unserved]:
    for name, key, label in _wanted(session, asked):
        if (name, key) not in session.answered:
            yield Unserved(name, label, session.name if name in session.own else None)


def _wanted_labels(session: Session, asked: Asked) -> Iterator[tuple[str, str]]:
    """The steps that are common to sessions and have to answer."""
    return ((name, label) for name, _, label in _wanted(session, asked) if name not in session.own)


def _wanted(session: Session, asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Scenario, key and label of every step that has to answer."""
    for name in sorted(session.scenarios):
        scenario = session.scenarios[name]
        wanted = name in session.own or _names(asked.scenarios, name)
        if not wanted or scenario.catch_all or _names(asked.allowed, name):
            continue
        for step in scenario.steps:
            if f"{name}/{step.label}" not in asked.allowed:
                yield name, step.key, step.label


def _names(listed: Collection[str], name: str) -> bool:
    return name in listed or ALL in listed


def _findings(session: Session, ignored: Collection[str]) -> Iterator[Finding]:
    if ALL in ignored:
        return
    places = {one: place for place, one in enumerate(session.exchanges)}
    found = [
        (places[seen.exchange], number, rule, seen)
        for number, rule in enumerate(RULES)
        if rule.name not in ignored
        for seen in rule.sightings(session)
    ]
    for _, _, rule, seen in sorted(found, key=lambda each: each[:2]):
        requests = tuple(one.id for one in (*seen.before, seen.exchange))
        yield Finding(rule.name, rule.level, seen.message, session.name, seen.exchange.id, requests)
