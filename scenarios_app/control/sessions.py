"""The session API: reads and resets session state; resolves names and API keys."""

from collections.abc import Mapping, Sequence
from typing import Any

from asgiref.sync import async_to_sync
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.kit import (
    ANY_SESSION,
    ControlError,
    ControlView,
    JournalledBody,
    RequiredSessionQuery,
    StepBody,
    Texts,
    delete_journal_rows,
    documented,
    flush_journal,
    journal_completeness,
    rows_of_session,
)
from scenarios_app.engine.state import SessionState, StepRef, alias
from scenarios_app.serving.services import services

# Each is looked up by name and by key, and reset in every process.
MAX_RESET_SESSIONS = 100


class ConsumedBody(StepBody):
    """A step that is used up."""


class AttemptBody(ConsumedBody):
    """The number of failures of a step with `failures`."""

    provider = Text(help_text="The provider whose API was called.")
    count = Whole(help_text="The number of failures.")


class StateBody(JournalledBody):
    """The state of a session. `passed`: no expectation was violated."""

    session = Text(help_text="The session's name.")
    consumed = ConsumedBody(many=True, help_text="The consumed steps.")
    attempts = AttemptBody(many=True, help_text="Failures of steps with `failures`.")
    counters = serializers.DictField(child=Whole(), help_text="The counters by name.")
    violations = Texts(help_text="The last 1,000 violated expectations.")
    passed = Flag(help_text="True if no expectation was violated.")


class ResetBody(Shape):
    """The sessions to reset."""

    session = Text(**ANY_SESSION)
    sessions = Texts(
        required=False,
        allow_empty=False,
        max_length=MAX_RESET_SESSIONS,
        help_text=f"Names or API keys of up to {MAX_RESET_SESSIONS} sessions, instead of "
        "`session`.",
    )
    scenarios = Flag(required=False, default=False, help_text="Also remove private scenarios.")


class SessionStateView(ControlView):
    @documented("read_state", StateBody, "The session's state.", query=RequiredSessionQuery)
    def get(self, request: Request) -> Response:
        """A session's consumed steps, attempts, counters and violations."""
        state = _read_state(resolve_session(self.query(RequiredSessionQuery)["session"]))
        attempts = [
            {**_step_body(attempt.step), "provider": attempt.provider, "count": count}
            for attempt, count in state.attempts
        ]
        body = {
            "session": state.session,
            "consumed": list(map(_step_body, state.consumed)),
            "attempts": attempts,
            "counters": dict(state.counters),
            "violations": list(state.violations),
            "passed": not state.violations,
        }
        return Response(body | journal_completeness(state.session))


def _step_body(step: StepRef) -> dict[str, str]:
    return {"scenario": step.scenario, "step": step.label}


class ResetView(ControlView):
    @documented("reset", ResetBody, "The names of the reset sessions.", body=ResetBody)
    def post(self, request: Request) -> Response:
        """Forget a session's consumption, attempts, counters, ordinals and journal; or those of
        several sessions, or of all"""
        return Response(reset(self.read_body(ResetBody)))


def reset(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Reset the sessions of a ResetBody; return it with their resolved names. Raises ControlError
    400 for a body with both `session` and `sessions`."""
    several, scenarios = fields.get("sessions"), fields["scenarios"]
    if several is not None and fields["session"] is not None:
        message = "session: cannot be combined with `sessions`"
        raise ControlError(400, message, field="session")
    session = find_session(fields["session"])
    names = [resolve_session(name) for name in several or ()]
    flush_journal()
    one = None if session is None else [session]
    reset_sessions(one if several is None else names, scenarios=scenarios)
    return {"session": session, **({"sessions": names} if several else {}), "scenarios": scenarios}


def reset_sessions(sessions: Sequence[str] | None, *, scenarios: bool) -> None:
    """Reset sessions, or all of them, in every process. The caller flushes the journal first."""
    _reset_state(sessions, scenarios)
    delete_journal_rows(sessions)
    services().cluster.forget(sessions)


@async_to_sync
async def _reset_state(sessions: Sequence[str] | None, scenarios: bool) -> None:
    """Reset these sessions, or all, with their own scenarios if `scenarios` is true."""
    state = services().state
    for session in [None] if sessions is None else sessions:
        await state.reset(session, scenarios=scenarios)


def find_session(name_or_key: str | None) -> str | None:
    """Return `resolve_session`, or None for all sessions."""
    return None if name_or_key is None else resolve_session(name_or_key)


def find_scenario_session(name_or_key: str | None) -> str | None:
    """Return `resolve_scenario_session`, or None for all sessions."""
    return None if name_or_key is None else resolve_scenario_session(name_or_key)


def resolve_session(name_or_key: str) -> str:
    """Return the session of this name if it exists, else that of this API key, else the name."""
    by_key = alias(name_or_key)
    if by_key == name_or_key:
        return name_or_key
    return next((name for name in (name_or_key, by_key) if _session_exists(name)), name_or_key)


def resolve_scenario_session(name_or_key: str) -> str:
    """Return the session for private scenarios, which may be added before its first request. An
    unknown API key gives the session's alias, which both name and key find and which does not
    reveal the key."""
    by_key = alias(name_or_key)
    return name_or_key if by_key == name_or_key or _session_exists(name_or_key) else by_key


def _session_exists(name: str) -> bool:
    """Return True if a session has state or journal rows. The journal is flushed first."""
    flush_journal()
    return _read_state(name) != SessionState(name) or rows_of_session(name).exists()


def _read_state(name: str) -> SessionState:
    return async_to_sync(services().state.read)(name)
