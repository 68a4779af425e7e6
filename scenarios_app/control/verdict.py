"""The verdict on a session or a run: unmatched requests, violations, unused steps and more."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.control.kit import (
    ControlError,
    ControlView,
    JournalledBody,
    SessionQuery,
    StepBody,
    documented,
    flush_journal,
)
from scenarios_app.control.requests import NearMissBody
from scenarios_app.control.session_loader import LoadedSession, list_session_names, load_session
from scenarios_app.control.sessions import reset_sessions, resolve_session
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, load_scenario
from scenarios_app.models import Scenario
from scenarios_app.serving.exchange import DEFAULT_SESSION
from scenarios_app.store import document_of, limits
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

NAMES_HELP = "Comma-separated names or a JSON list; `*` is all. "
DEFAULT_OPTIONS = VerdictOptions()
VERDICT_PARTS = ("unmatched", "violations", "unserved", "findings")
INCOMPLETE = (
    "the journal may lack requests (no room, a database error, or a server process that ended "
    "without a shutdown): lost requests are judged by the state of sessions"
)


class UnmatchedBody(Shape):
    """A request that no step answered."""

    id = serializers.UUIDField(help_text="The value of the header x-mockllm-request.")
    session = Text(help_text="The session.")
    provider = Text(allow_blank=True, help_text="The provider whose API was called.")
    path = Text(help_text="The path without its query.")
    fallback = Flag(help_text="True if a catch-all answered.")
    near_misses = NearMissBody(many=True, help_text="The closest steps.")
    url_error = Text(
        allow_blank=True, help_text="The error for an unknown URL or method; else empty."
    )


class ViolationBody(Shape):
    """A violated expectation."""

    text = Text(help_text="The expected and the actual value.")
    session = Text(help_text="The session of the request.")
    request = serializers.UUIDField(
        allow_null=True, help_text="The request's id; null if it is not in the journal."
    )
    scenario = Text(allow_null=True, help_text="The scenario of the step, if known.")
    step = Text(allow_null=True, help_text="The step, if known.")


class UnservedBody(StepBody):
    """A step that never answered."""

    session = Text(allow_null=True, help_text="The session, for private scenarios.")
    never_asked = Text(
        allow_blank=True, help_text="The step's provider, if it got no request; else empty."
    )


class FindingBody(Shape):
    """A rule that a client broke, or in a note may have broken."""

    rule = serializers.ChoiceField([rule.name for rule in RULES], help_text="The rule.")
    level = serializers.ChoiceField(
        ["error", "warning", "note"],
        help_text="A warning fails only strict verdicts, a note none.",
    )
    message = Text(help_text="The finding in one sentence.")
    session = Text(help_text="The session of the requests.")
    request = serializers.UUIDField(help_text="The request that broke the rule.")
    requests = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="The requests that prove it, in order; for a note the first and the last.",
    )


class VerdictBody(JournalledBody):
    """Passed, or failed with each reason."""

    session = Text(allow_null=True, help_text="The session; null for all sessions.")
    passed = Flag(help_text="True if nothing failed.")
    strict = Flag(help_text="True if warnings fail it too.")
    requests = Whole(help_text="The number of judged requests.")
    unmatched = UnmatchedBody(many=True, help_text="Requests that no step answered.")
    violations = ViolationBody(many=True, help_text="Violated expectations.")
    unserved = UnservedBody(many=True, help_text="Steps that never answered.")
    findings = FindingBody(many=True, help_text="Client rules that were broken.")
    receipt = Text(
        allow_null=True,
        help_text="A hash over scenarios, requests and answers; null if some are missing.",
    )
    text = Text(help_text="The verdict as text.")


class VerdictQuery(SessionQuery):
    """The session to judge, or all sessions together, and how to judge."""

    scenarios = Text(
        required=False,
        default="",
        help_text=NAMES_HELP + "Scenarios whose steps must answer, like those of private ones.",
    )
    allow_unserved = Text(
        required=False,
        default="",
        help_text=NAMES_HELP + "Scenarios or steps (SCENARIO/STEP) that need not answer.",
    )
    ignore = Text(required=False, default="", help_text=NAMES_HELP + "Rules to ignore.")
    strict = Flag(required=False, default=False, words=True, help_text="Warnings fail it too.")


class EndedSession(VerdictQuery):
    """The session to judge and forget, and how to judge it."""

    session = Text(help_text="The session's name or API key.")
    strict = Flag(required=False, default=False, help_text="Warnings fail it too.")


class VerdictView(ControlView):
    @documented(
        "verdict",
        VerdictBody,
        "The verdict, whether it passed or not.",
        query=VerdictQuery,
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """Judge a session, or all of them: unmatched requests, violations, steps never served,
        and what clients did wrong"""
        return Response(judge_query(self.query(VerdictQuery)))

    @documented(
        "end_session",
        VerdictBody,
        "The verdict, whether it passed or not.",
        body=EndedSession,
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Judge a session, then forget it, its own scenarios too: the end of a test in one call"""
        fields = self.read_body(EndedSession)
        options = _parse_options(fields)
        flush_journal()
        session = resolve_session(fields["session"])
        body = _session_verdict(session, options)
        reset_sessions([session], scenarios=True)
        return Response(body)


def judge_query(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict for the fields of a VerdictQuery; raises ControlError 400 or 404."""
    options = _parse_options(query)
    flush_journal()
    if (name_or_key := query.get("session")) is not None:
        return _session_verdict(resolve_session(name_or_key), options)
    # Steps that have to answer are missing in a run without requests, too.
    sessions = [load_session(name) for name in list_session_names() or [DEFAULT_SESSION]]
    _check_scenarios(options, sessions)
    verdict = judge_run([loaded.session for loaded in sessions], options)
    return verdict_body(verdict, sessions, options)


def judge_session(
    name: str, options: VerdictOptions = DEFAULT_OPTIONS
) -> tuple[Verdict, LoadedSession]:
    """Return the verdict on a session, and the session. The caller flushes the journal first.
    Raises ControlError 404 for an unknown scenario in the options."""
    loaded = load_session(name)
    _check_scenarios(options, [loaded])
    return judge(loaded.session, options), loaded


def _session_verdict(name: str, options: VerdictOptions) -> dict[str, Any]:
    verdict, loaded = judge_session(name, options)
    return verdict_body(verdict, [loaded], options)


def verdict_body(
    verdict: Verdict, sessions: Sequence[LoadedSession], options: VerdictOptions
) -> dict[str, Any]:
    """Return a verdict as the API writes it, with a note if rows of the journal are missing."""
    complete = all(loaded.complete for loaded in sessions)
    notes = () if complete else (INCOMPLETE,)
    return {
        "session": verdict.session,
        "passed": verdict.passed,
        "strict": verdict.strict,
        "requests": verdict.requests,
        **{part: list(map(asdict, getattr(verdict, part))) for part in VERDICT_PARTS},
        "receipt": _compute_receipt(sessions, options) if complete else None,
        "text": verdict_text(verdict, notes=notes),
        "complete": complete,
        "lost": sum(loaded.lost for loaded in sessions),
    }


def _parse_options(fields: Mapping[str, Any]) -> VerdictOptions:
    """Return the options of a VerdictQuery. Raises ControlError 400."""
    options = VerdictOptions(
        scenarios=parse_names(fields["scenarios"], "scenarios"),
        allowed=parse_names(fields["allow_unserved"], "allow_unserved"),
        ignored=parse_names(fields["ignore"], "ignore"),
        strict=fields["strict"],
    )
    rules = [rule.name for rule in RULES]
    if unknown := sorted(options.ignored - {ALL, *rules}):
        message = f"ignore: there is no rule {unknown[0]!r}; known are {', '.join(rules)}"
        raise ControlError(400, message, field="ignore")
    return options


def _check_scenarios(options: VerdictOptions, sessions: Iterable[LoadedSession]) -> None:
    """Raise ControlError 404 unless the required scenarios are enabled or sessions' own."""
    own = (name for loaded in sessions for name in loaded.session.scenarios)
    check_enabled(options.scenarios, {*catalog.snapshot().index.by_name, *own})


def check_enabled(names: frozenset[str], enabled: Iterable[str]) -> None:
    """Raise ControlError 404 for a name that is neither `*` nor that of an enabled scenario."""
    if unknown := sorted(names.difference(enabled, {ALL})):
        message = f"There is no enabled scenario “{unknown[0]}”."
        raise ControlError(404, message, field="scenarios")


def parse_names(text: str, field: str) -> frozenset[str]:
    """Return the names in a comma-separated or JSON list; ControlError 400 names the field."""
    if not text.lstrip().startswith("["):
        return frozenset(name for part in text.split(",") if (name := part.strip()))
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise ControlError(400, f"{field}: expected a JSON list of names", field=field)
    return frozenset(listed)


def _compute_receipt(sessions: Iterable[LoadedSession], options: VerdictOptions) -> str:
    """Return a hash over the requests and the scenarios that answered, are private or named, apart
    from common ones that are deleted or invalid by now."""
    scripts: dict[str, Json] = {}
    common: set[str] = set(options.scenarios)
    exchanges: list[JudgedExchange] = []
    for loaded in sessions:
        session = loaded.session
        for own, data in loaded.documents.items():
            scripts[f"{session.name}/{own}"] = load_scenario(data, limits=limits()).dump_shortest()
        common |= {e.scenario for e in session.exchanges if e.scenario} - session.own
        exchanges += session.exchanges
    if ALL in common:
        common = set(catalog.snapshot().index.by_name)
    rows = Scenario.objects.filter(name__in=common).prefetch_related("steps") if common else ()
    for row in rows:
        with suppress(DocumentError):
            scripts[row.name] = document_of(row).dump_shortest()
    return receipt(scripts, exchanges)
