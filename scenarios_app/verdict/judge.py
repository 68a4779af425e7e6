"""The verdict on a session or on all sessions of a run, the list of client rules, and the receipt:
a hash of scenarios, requests and responses."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.scenario import Step
from scenarios_app.verdict import conversation_rules, socket_rules, transport_rules
from scenarios_app.verdict.session import Finding, JudgedExchange, JudgedSession, Rule, is_failing

# Wildcard for every name in a list.
ALL = "*"
RULES: tuple[Rule, ...] = (*transport_rules.RULES, *conversation_rules.RULES, *socket_rules.RULES)


def receipt(scripts: Mapping[str, Json], exchanges: Iterable[JudgedExchange]) -> str:
    """Return the hash of a run; `scripts` are its scenario documents by name.

    Hashed are method, path, query and body of each request, and status, outcome and body of each
    response; not headers, times and journal ids. The order of exchanges makes no difference. A
    response's body is left out if the client closed the connection, since how much was sent is
    chance.
    """
    digests = sorted(_digest(_hashed_fields(exchange)) for exchange in exchanges)
    return "sha256:" + _digest([dict(sorted(scripts.items())), list(digests)])


def _hashed_fields(exchange: JudgedExchange) -> Json:
    """Return the fields of an exchange by which two runs are compared."""
    client_left = exchange.outcome == "client_gone"
    sent: list[Json] = [] if client_left else [exchange.response_body, exchange.response_bytes]
    body: list[Json] = [exchange.request_body, exchange.request_bytes]
    request: list[Json] = [exchange.method, exchange.path, dict(exchange.query), *body]
    return [request, [exchange.status, exchange.outcome, *sent]]


def _digest(value: Json) -> str:
    """Return the hash of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class UnmatchedRequest:
    """A request that no step answered, or only a catch-all (`fallback`), or whose URL or method is
    unknown (`url_error`)."""

    id: str
    session: str
    provider: str
    path: str
    fallback: bool
    near_misses: Sequence[Json]
    url_error: str = ""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated expectation of a step. Of a request that left the journal only `text` and
    `session` are known."""

    text: str
    session: str
    request: str | None = None
    scenario: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class UnservedStep:
    """A step that never answered. `session` is None unless its scenario is a session's own.
    `never_asked` is the step's provider, if no request was for that one; else it is empty."""

    scenario: str
    step: str
    session: str | None = None
    never_asked: str = ""


@dataclass(frozen=True, slots=True)
class VerdictOptions:
    """Options of a verdict. Every step of `scenarios`, and of a session's own scenarios, has to
    answer, except `allowed` ones (`SCENARIO` or `SCENARIO/STEP`) and catch-alls. `ignored` are
    names of rules. ALL in a set stands for all names. If `strict`, warnings fail the verdict."""

    scenarios: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """All errors of a session, or of a whole run if `session` is None. `requests` is the number of
    judged requests."""

    session: str | None
    strict: bool = False
    requests: int = 0
    unmatched: tuple[UnmatchedRequest, ...] = ()
    violations: tuple[Violation, ...] = ()
    unserved: tuple[UnservedStep, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def passed(self) -> bool:
        """True without unmatched requests, violations, unserved steps and findings that fail."""
        failing = any(is_failing(one.level, strict=self.strict) for one in self.findings)
        return not (self.unmatched or self.violations or self.unserved or failing)


def judge(
    session: JudgedSession,
    options: VerdictOptions = VerdictOptions(),
    *,
    providers: frozenset[str] | None = None,
) -> Verdict:
    """Return the verdict on one session. `providers` are the providers of the run's requests, by
    default those of the session's."""
    providers = session.providers if providers is None else providers
    return Verdict(
        session.name,
        strict=options.strict,
        requests=len(session.exchanges),
        unmatched=tuple(_unmatched_requests(session)),
        violations=tuple(_find_violations(session)),
        unserved=tuple(_unserved_steps(session, options, providers)),
        findings=tuple(_findings(session, options.ignored)),
    )


def judge_run(sessions: Iterable[JudgedSession], options: VerdictOptions) -> Verdict:
    """Return the verdict on all sessions; a step that they share has to answer in one of them."""
    verdicts: list[Verdict] = []
    unserved_own: list[UnservedStep] = []
    unserved_shared: dict[tuple[str, str], UnservedStep] = {}
    served: set[tuple[str, str]] = set()
    sessions = list(sessions)
    providers = frozenset(provider for session in sessions for provider in session.providers)
    for session in sessions:
        verdict = judge(session, options, providers=providers)
        verdicts.append(verdict)
        unserved_own += [step for step in verdict.unserved if step.session is not None]
        shared = {(s.scenario, s.step): s for s in verdict.unserved if s.session is None}
        required = _required_steps(session, options)
        labels = {(name, step.label) for name, step in required if name not in session.own}
        served |= labels - shared.keys()
        unserved_shared |= shared
    never_served = [step for key, step in unserved_shared.items() if key not in served]
    return Verdict(
        None,
        strict=options.strict,
        requests=sum(verdict.requests for verdict in verdicts),
        unmatched=tuple(item for verdict in verdicts for item in verdict.unmatched),
        violations=tuple(item for verdict in verdicts for item in verdict.violations),
        unserved=(*sorted(never_served), *unserved_own),
        findings=tuple(item for verdict in verdicts for item in verdict.findings),
    )


def _unmatched_requests(session: JudgedSession) -> Iterator[UnmatchedRequest]:
    """Yield the requests that no step but a catch-all's answered, in the order of arrival."""
    for one in session.exchanges:
        if one.is_unmatched:
            yield UnmatchedRequest(
                *(one.uid, session.name, one.provider, one.path, one.fallback, one.near_misses),
                url_error=one.response_preview if one.way == "url" else "",
            )


def _find_violations(session: JudgedSession) -> Iterator[Violation]:
    """Yield the violations of the journaled requests, then those whose request is not kept."""
    journaled: Counter[str] = Counter()
    for one in session.exchanges:
        journaled.update(one.violations)
        for text in one.violations:
            yield Violation(text, session.name, one.uid, one.scenario or None, one.step or None)
    for text in (Counter(session.violations) - journaled).elements():
        yield Violation(text, session.name)


def _unserved_steps(
    session: JudgedSession, options: VerdictOptions, providers: frozenset[str]
) -> Iterator[UnservedStep]:
    """Yield the required steps that answered no request of the session."""
    for name, step in _required_steps(session, options):
        if (name, step.key) not in session.answered:
            own = session.name if name in session.own else None
            yield UnservedStep(name, step.label, own, _missing_providers(step, providers))


def _missing_providers(step: Step, providers: frozenset[str]) -> str:
    """Return the providers that a step requires, joined by "or". Empty if it requires none by exact
    name, or one of them got a request."""
    names = [condition.equals for condition in step.match.alternatives("provider")]
    if any(name is None or name in providers for name in names):
        return ""
    return " or ".join(name for name in names if name)


def _required_steps(session: JudgedSession, options: VerdictOptions) -> Iterator[tuple[str, Step]]:
    """Yield every step that has to answer (VerdictOptions), with the name of its scenario."""
    for name in sorted(session.scenarios):
        scenario = session.scenarios[name]
        required = name in session.own or _includes(options.scenarios, name)
        if not required or scenario.catch_all or _includes(options.allowed, name):
            continue
        for step in scenario.steps:
            if f"{name}/{step.label}" not in options.allowed:
                yield name, step


def _includes(names: Collection[str], name: str) -> bool:
    """Return whether the names contain this one or the wildcard `*`."""
    return name in names or ALL in names


def _findings(session: JudgedSession, ignored: Collection[str]) -> Iterator[Finding]:
    """Yield the findings of all rules, ordered by request and then by rule."""
    if ALL in ignored:
        return
    positions = {exchange: position for position, exchange in enumerate(session.exchanges)}
    sightings = [
        (positions[sighting.exchange], number, rule, sighting)
        for number, rule in enumerate(RULES)
        if rule.name not in ignored
        for sighting in rule.find_sightings(session)
    ]
    for _, _, rule, sighting in sorted(sightings, key=lambda item: item[:2]):
        request = sighting.exchange.uid
        requests = (*(one.uid for one in sighting.earlier), request)
        yield Finding(rule.name, rule.level, sighting.message, session.name, request, requests)
