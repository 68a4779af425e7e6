"""Sessions: what one remembers, and forgetting it."""

from collections.abc import Sequence

from asgiref.sync import async_to_sync
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.kit import (
    ControlError,
    ControlView,
    JournalledBody,
    NeededSession,
    completeness,
    documented,
    flush,
    forget_rows,
    rows_of_session,
)
from scenarios_app.engine.state import SessionState, alias
from scenarios_app.serving.services import services

# Each is looked for by name and key, and forgotten everywhere.
MOST_AT_ONCE = 100


class ConsumedBody(Shape):
    """A step that is used up."""

    scenario = Text(help_text="Its scenario.")
    step = Text(help_text="Its name, or its number from 1.")


class AttemptBody(ConsumedBody):
    """How often a step with `failures` has failed."""

    provider = Text(help_text="By whose API it was asked.")
    count = Whole(help_text="How often it has failed.")


class StateBody(JournalledBody):
    """What a session remembers. `passed`: nothing that was expected of it was violated."""

    session = Text(help_text="Its name.")
    consumed = ConsumedBody(many=True, help_text="The steps that are used up.")
    attempts = AttemptBody(many=True, help_text="How often steps with `failures` have failed.")
    counters = serializers.DictField(child=Whole(), help_text="The counters by name.")
    violations = serializers.ListField(
        child=Text(), help_text="What was expected and did not hold, the latest 1,000 of it."
    )
    passed = Flag(help_text="Whether nothing was violated.")


class ResetBody(Shape):
    """What to forget."""

    session = Text(
        required=False,
        allow_null=True,
        default=None,
        help_text="A session's name or API key; null for every session.",
    )
    sessions = serializers.ListField(
        child=Text(),
        required=False,
        allow_empty=False,
        max_length=MOST_AT_ONCE,
        help_text=f"Names or API keys of up to {MOST_AT_ONCE} sessions, in place of `session`.",
    )
    scenarios = Flag(
        required=False, default=False, help_text="Drop the sessions' own scenarios as well."
    )


class StateView(ControlView):
    @documented("read_state", query=NeededSession, answers={200: (StateBody, "As it is now.")})
    def get(self, request: Request) -> Response:
        """What a session has consumed, attempted, counted and violated."""
        state = _read(session_named(self.query(NeededSession)["session"]))
        return Response(
            {
                "session": state.session,
                "consumed": [
                    {"scenario": step.scenario, "step": step.label} for step in state.consumed
                ],
                "attempts": [
                    {
                        "scenario": attempt.step.scenario,
                        "step": attempt.step.label,
                        "provider": attempt.provider,
                        "count": count,
                    }
                    for attempt, count in state.attempts
                ],
                "counters": dict(state.counters),
                "violations": list(state.violations),
                "passed": not state.violations,
                **completeness(state.session),
            }
        )


class ResetView(ControlView):
    @documented("reset", body=ResetBody, answers={200: (ResetBody, "What was reset, by its name.")})
    def post(self, request: Request) -> Response:
        """Forget a session's consumption, attempts, counters, ordinals and journal; or those of
        several sessions, or of all"""
        asked = self.given_as(ResetBody)
        several, scenarios = asked.get("sessions"), asked["scenarios"]
        if several is not None:
            if asked["session"] is not None:
                message = "session: given beside `sessions`, which takes its place"
                raise ControlError(400, message, field="session")
            names = [session_named(one) for one in several]
            flush()
            forget(names, scenarios=scenarios)
            return Response({"session": None, "sessions": names, "scenarios": scenarios})
        session = None if asked["session"] is None else session_named(asked["session"])
        flush()
        forget(None if session is None else [session], scenarios=scenarios)
        return Response({"session": session, "scenarios": scenarios})


def forget(sessions: Sequence[str] | None, *, scenarios: bool) -> None:
    """Forget sessions, or every one; the journal has been flushed."""
    _reset(sessions, scenarios)
    forget_rows(sessions)
    services().everywhere.forget(sessions)


@async_to_sync
async def _reset(sessions: Sequence[str] | None, scenarios: bool) -> None:
    state = services().state
    for session in [None] if sessions is None else sessions:
        await state.reset(session, scenarios=scenarios)


def session_named(given: str) -> str:
    """The session that a name or an API key means: the one of that name if there is one, else the
    one of that key, else the name, of which nothing is known."""
    by_key = alias(given)
    if by_key == given:
        return given
    return next((name for name in (given, by_key) if _is_known(name)), given)


def session_of_scenarios(given: str) -> str:
    """As `session_named`, for the scenarios of a session that may not have begun yet: they are
    kept so that either finds them, under a name that gives no key away."""
    by_key = alias(given)
    return given if by_key == given or _is_known(given) else by_key


def _is_known(name: str) -> bool:
    flush()
    return _read(name) != SessionState(name) or rows_of_session(name).exists()


def _read(name: str) -> SessionState:
    return async_to_sync(services().state.read)(name)
