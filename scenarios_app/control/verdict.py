"""The verdict on a session or on a run: what its clients and scripts did wrong."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.control.judged import Judged, judged, sessions_known
from scenarios_app.control.kit import (
    ControlError,
    ControlView,
    JournalledBody,
    SessionQuery,
    documented,
    flush,
)
from scenarios_app.control.requests import NearMissBody
from scenarios_app.control.sessions import forget, session_named
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import dump
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from scenarios_app.verdict.judge import (
    ALL,
    RULES,
    Verdict,
    VerdictOptions,
    judge,
    judge_run,
    receipt,
)
from scenarios_app.verdict.reports import verdict_text
from scenarios_app.verdict.session import JudgedExchange

LIST = "Names with commas between them, or a JSON list of them; `*` is all. "
DEFAULT = VerdictOptions()
INCOMPLETE = (
    "the journal may lack requests (no room, a database error, or a server process that ended "
    "without a shutdown): what it lost is judged by what sessions remember"
)


class UnmatchedBody(Shape):
    """A request that no step answered."""

    id = serializers.UUIDField(help_text="The answer's x-mockllm-request.")
    session = Text(help_text="Whose it is.")
    provider = Text(allow_blank=True, help_text="Whose API was asked.")
    path = Text(help_text="Without its query.")
    fallback = Flag(help_text="A catch-all answered.")
    near_misses = NearMissBody(many=True, help_text="The nearest steps.")


class ViolationBody(Shape):
    """What was expected and did not hold."""

    text = Text(help_text="What was expected, and what came.")
    session = Text(help_text="Whose request it was.")
    request = serializers.UUIDField(
        allow_null=True, help_text="The request; null where the journal has lost it."
    )
    scenario = Text(allow_null=True, help_text="Whose step expected it, where that is known.")
    step = Text(allow_null=True, help_text="That step.")


class UnservedBody(Shape):
    """A step that never answered."""

    scenario = Text(help_text="Its scenario.")
    step = Text(help_text="Its name, or its number from 1.")
    session = Text(allow_null=True, help_text="Whose own it is; null: no session's own.")


class FindingBody(Shape):
    """A rule that a client broke."""

    rule = serializers.ChoiceField([rule.name for rule in RULES], help_text="The rule.")
    level = serializers.ChoiceField(
        ["error", "warning"], help_text="A warning fails strict verdicts alone."
    )
    message = Text(help_text="What was seen.")
    session = Text(help_text="Whose requests they are.")
    request = serializers.UUIDField(help_text="The request at which it shows.")
    requests = serializers.ListField(
        child=serializers.UUIDField(), help_text="All requests that prove it, the first one first."
    )


class VerdictBody(JournalledBody):
    """Whether all went as it should, and if not, each reason."""

    session = Text(allow_null=True, help_text="The session's name; null: all of them.")
    passed = Flag(help_text="Whether there is nothing that fails it.")
    strict = Flag(help_text="Whether warnings fail it too.")
    requests = Whole(help_text="How many requests were judged.")
    unmatched = UnmatchedBody(many=True, help_text="Requests that no step answered.")
    violations = ViolationBody(many=True, help_text="What was expected and did not hold.")
    unserved = UnservedBody(many=True, help_text="Steps that never answered.")
    findings = FindingBody(many=True, help_text="What clients did wrong.")
    receipt = Text(
        allow_null=True,
        help_text="One hash over scripts, requests and answers; null where some are not known.",
    )
    text = Text(help_text="All of this for people.")


class VerdictQuery(SessionQuery):
    """On whom, and how. Without a session, on all sessions together."""

    scenarios = Text(
        required=False,
        default="",
        help_text=LIST + "Their steps have to answer, as those of a session's own scenarios do.",
    )
    allow_unserved = Text(
        required=False,
        default="",
        help_text=LIST + "Scenarios, or steps as SCENARIO/STEP, that need not answer.",
    )
    ignore = Text(required=False, default="", help_text=LIST + "Rules whose findings are left out.")
    strict = Flag(required=False, default=False, words=True, help_text="Warnings fail it too.")


class EndedSession(VerdictQuery):
    """Whose, and how it is judged."""

    session = Text(help_text="The session's name, or the API key that it is the session of.")
    strict = Flag(required=False, default=False, help_text="Warnings fail it too.")


class VerdictView(ControlView):
    @documented(
        "verdict",
        query=VerdictQuery,
        answers={200: (VerdictBody, "The verdict, whether it passed or not.")},
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """Judge a session, or all of them: unmatched requests, violations, steps never served,
        and what clients did wrong"""
        given = self.query(VerdictQuery)
        asked = _asked(given)
        flush()
        named = given.get("session")
        if named is not None:
            return Response(_of_session(session_named(named), asked))
        known = [judged(name) for name in sessions_known()]
        _check_scenarios(asked, known)
        return Response(
            verdict_body(judge_run([one.session for one in known], asked), known, asked)
        )

    @documented(
        "end_session",
        body=EndedSession,
        answers={200: (VerdictBody, "The verdict, whether it passed or not.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Judge a session, then forget it, its own scenarios too: the end of a test in one call"""
        given = self.given_as(EndedSession)
        asked = _asked(given)
        flush()
        session = session_named(given["session"])
        body = _of_session(session, asked)
        forget([session], scenarios=True)
        return Response(body)


def verdict_of(name: str, asked: VerdictOptions = DEFAULT) -> tuple[Verdict, Judged]:
    """Judge a session; the journal has been flushed."""
    known = judged(name)
    _check_scenarios(asked, [known])
    return judge(known.session, asked), known


def _of_session(name: str, asked: VerdictOptions) -> dict[str, Any]:
    verdict, known = verdict_of(name, asked)
    return verdict_body(verdict, [known], asked)


def verdict_body(
    verdict: Verdict, known: Iterable[Judged], asked: VerdictOptions
) -> dict[str, Any]:
    known = list(known)
    complete = all(one.complete for one in known)
    notes = () if complete else (INCOMPLETE,)
    return {
        "session": verdict.session,
        "passed": verdict.passed,
        "strict": verdict.strict,
        "requests": verdict.requests,
        "unmatched": [asdict(one) for one in verdict.unmatched],
        "violations": [asdict(one) for one in verdict.violations],
        "unserved": [asdict(one) for one in verdict.unserved],
        "findings": [asdict(one) for one in verdict.findings],
        "receipt": _receipt(known, asked) if complete else None,
        "text": verdict_text(verdict, notes=notes),
        "complete": complete,
        "lost": sum(one.lost for one in known),
    }


def _asked(given: Mapping[str, Any]) -> VerdictOptions:
    asked = VerdictOptions(
        scenarios=names_of(given["scenarios"], "scenarios"),
        allowed=names_of(given["allow_unserved"], "allow_unserved"),
        ignored=names_of(given["ignore"], "ignore"),
        strict=given["strict"],
    )
    rules = [rule.name for rule in RULES]
    if unknown := sorted(asked.ignored - {ALL, *rules}):
        message = f"ignore: there is no rule {unknown[0]!r}; known are {', '.join(rules)}"
        raise ControlError(400, message, field="ignore")
    return asked


def _check_scenarios(asked: VerdictOptions, known: Iterable[Judged]) -> None:
    there = {ALL, *catalog.snapshot().index.by_name}
    there.update(name for one in known for name in one.session.scenarios)
    if unknown := sorted(asked.scenarios - there):
        message = f"There is no enabled scenario “{unknown[0]}”."
        raise ControlError(404, message, field="scenarios")


def names_of(given: str, field: str) -> frozenset[str]:
    if not given.lstrip().startswith("["):
        return frozenset(name for part in given.split(",") if (name := part.strip()))
    try:
        listed = json.loads(given)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise ControlError(400, f"{field}: expected a JSON list of names", field=field)
    return frozenset(listed)


def _receipt(known: Iterable[Judged], asked: VerdictOptions) -> str:
    """Of the scenarios in play: those that answered, those of sessions' own and those named."""
    scripts: dict[str, Json] = {}
    common: set[str] = set(asked.scenarios)
    exchanges: list[JudgedExchange] = []
    for one in known:
        name = one.session.name
        scripts |= {f"{name}/{own}": document for own, document in one.documents.items()}
        common |= {e.scenario for e in one.session.exchanges if e.scenario} - one.session.own
        exchanges += one.session.exchanges
    if ALL in common:
        common = set(catalog.snapshot().index.by_name)
    rows = Scenario.objects.filter(name__in=common).prefetch_related("steps") if common else ()
    for row in rows:
        scripts[row.name] = dump(document_of(row))
    return receipt(scripts, exchanges)
