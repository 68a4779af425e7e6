"""Recordings: what of a session is passed on upstream and kept, until it is ended, by the control
API or by the admin, and what each comes to."""

from dataclasses import dataclass
from typing import Any, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.kit import (
    ControlError,
    ControlView,
    ScenarioField,
    SessionQuery,
    documented,
)
from scenarios_app.control.sessions import session_of_scenarios
from scenarios_app.control.stores import read_documents
from scenarios_app.engine.document import DocumentError, dump
from scenarios_app.engine.state import alias
from scenarios_app.recording.document import to_document
from scenarios_app.recording.drift import Drifted, drift_json, drift_of
from scenarios_app.serving.recorder.recordings import MODES, Ended, Recording
from scenarios_app.serving.services import services

UNNAMED: Final = "recording"
SHARED: Final = (
    "A recording is in the memory of one process, and this server's sessions may be answered by "
    "several (REDIS_URL): it would be half of one. Record with a server that has no REDIS_URL."
)


@dataclass(frozen=True, slots=True)
class Came:
    """What a recording came to: its scenario, None where it only replayed, what of it could not be
    carried over, what could not be kept, and what was not asked as it was recorded."""

    document: dict[str, Any] | None
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    drifted: Drifted


def session_meant(given: str | None) -> str | None:
    """The session of a recording by its name or API key; None is all of them."""
    return None if given is None else session_of_scenarios(given)


def recording_named(given: str | None) -> Recording:
    """The recording of a session by its name or API key; raises a 404 where there is none."""
    recordings = services().pipeline.recordings
    if given is None:
        recording = recordings.get(None)
    else:
        recording = recordings.get(given) or recordings.get(alias(given))
    if recording is None:
        whose = "all sessions" if given is None else f"session “{given}”"
        raise ControlError(404, f"There is no recording of {whose}.")
    return recording


def begin(recording: Recording) -> None:
    """Record from now on, in place of a recording of the same session; raises a 409."""
    pipeline = services().pipeline
    if not services().everywhere.alone:
        raise ControlError(409, SHARED)
    if recording.records:
        if not (recording.upstreams or pipeline.options.upstreams):
            message = "There is nobody to ask: MOCKLLM_UPSTREAMS names no upstream."
            raise ControlError(409, message)
        for other in tuple(pipeline.recordings.values()):
            # Each would write its own in the place of the other's.
            if (
                other.records
                and other.name == recording.name
                and other.session != recording.session
            ):
                message = f"“{recording.name}” is being recorded by another session."
                raise ControlError(409, message, field="name")
    pipeline.recordings[recording.session] = recording


def end(given: str | None) -> tuple[Recording, Came]:
    """End the recording of a session by its name or API key, or with None that of all; raises a 404
    where there is none."""
    recording = recording_named(given)
    services().pipeline.recordings.pop(recording.session, None)
    ended = recording.ended()
    if recording.records:
        document, notes = _document(recording, ended)
        return recording, Came(document, notes, ended.problems, Drifted())
    asked = [one.request for one in ended.missed]
    drifted = drift_of(recording.cassettes, ended.served, asked)
    names = [document["name"] for document in recording.cassettes]
    told = {"session": recording.session, "cassettes": names, **drift_body(drifted)}
    services().drifts.append(told)
    return recording, Came(None, (), ended.problems, drifted)


def drift_body(drifted: Drifted) -> dict[str, Any]:
    """What drifted, as the control API shows it."""
    return {
        "drifted": bool(drifted.found),
        "drift": [drift_json(one) for one in drifted.found],
        "unreached": [f"{one.cassette}/{one.step}" for one in drifted.unreached],
    }


def _document(recording: Recording, ended: Ended) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The scenario of a recording, after what its cassette held before; with what of it could not
    be carried over."""
    made = to_document(recording.name, ended.interactions)
    document = made.document
    before = next((d for d in recording.cassettes if d["name"] == recording.name), None)
    if before is not None:
        steps = before.get("steps") or []
        assert isinstance(steps, list)
        document = {**before, "steps": [*steps, *document["steps"]]}
    try:
        read_documents(document)
    except DocumentError as error:
        raise ControlError(500, f"What was recorded is no valid document: {error}") from None
    return document, made.notes


class DifferenceBody(Shape):
    """One difference between what was recorded and what is asked."""

    kind = Text(help_text="new, removed or changed.")
    place = Text(help_text="Where it is in the request.")
    recorded = serializers.JSONField(help_text="What was recorded there.")
    asked = serializers.JSONField(help_text="What is asked there.")


class DriftBody(Shape):
    """Something that is not asked as it was recorded."""

    kind = Text(help_text="new, removed or changed.")
    cassette = Text(allow_blank=True, help_text="The scenario in which it is recorded.")
    step = Text(allow_blank=True, help_text="Its name or number there; empty for what is new.")
    request = Text(help_text="Its method and path.")
    times = Whole(help_text="How often it was asked.")
    differences = DifferenceBody(many=True, help_text="What differs.")
    text = Text(help_text="All of this for people.")


class BeginBody(Shape):
    """What to record, and how."""

    session = Text(
        required=False,
        allow_null=True,
        default=None,
        help_text="A session's name or API key; null for every session without a recording.",
    )
    mode = serializers.ChoiceField(
        choices=MODES,
        help_text="none: recordings alone answer. new: what is not recorded is asked upstream and "
        "kept. all: the same, for a session that begins without recordings.",
    )
    name = Text(
        required=False, default=UNNAMED, max_length=200, help_text="Of the scenario that it makes."
    )
    keys = serializers.DictField(
        child=Text(),
        required=False,
        default=dict,
        write_only=True,
        help_text="Keys by provider that are sent upstream in place of the session's own. They "
        "stay in memory until the recording ends.",
    )
    cassettes = serializers.ListField(
        child=ScenarioField(),
        required=False,
        default=list,
        help_text="Scenarios of what was recorded before, for the sessions that it is about.",
    )


class RecordingBody(Shape):
    """A recording under way."""

    session = Text(allow_null=True, help_text="Whose it is.")
    mode = Text(help_text="As it was begun.")
    name = Text(help_text="Of the scenario that it makes.")
    upstreams = serializers.DictField(child=Text(), help_text="Where requests go, by provider.")
    interactions = Whole(help_text="How many it holds.")
    problems = serializers.ListField(
        child=Text(), help_text="What was to be kept and could not be."
    )


class DriftedBody(Shape):
    """What was not asked as it was recorded."""

    drifted = Flag(help_text="Whether anything was not.")
    drift = DriftBody(many=True, help_text="What was not.")
    unreached = serializers.ListField(
        child=Text(),
        help_text="Recorded steps, as SCENARIO/STEP, that nobody came to after something drifted.",
    )


class SessionDriftBody(DriftedBody):
    """The same of one session's recording that has ended."""

    session = Text(allow_null=True, help_text="Whose it was.")
    cassettes = serializers.ListField(child=Text(), help_text="The scenarios that it replayed.")


class AllDriftBody(Shape):
    """What drifted in all recordings that only replayed, since the server started."""

    recordings = SessionDriftBody(many=True, help_text="In the order in which they ended.")


class EndedBody(RecordingBody, DriftedBody):
    """A recording that has ended."""

    document = serializers.JSONField(
        help_text="Its scenario, with what was recorded before; null: it only replayed.",
    )
    notes = serializers.ListField(
        child=Text(), help_text="What of its interactions could not be carried over."
    )


class RecordingView(ControlView):
    @documented(
        "read_recording",
        query=SessionQuery,
        answers={200: (RecordingBody, "As it is now.")},
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """A session's recording, or that of all sessions"""
        return Response(_body(recording_named(self.query(SessionQuery).get("session"))))

    @documented(
        "begin_recording",
        body=BeginBody,
        answers={201: (RecordingBody, "It records from now on.")},
        errors=(409,),
    )
    def put(self, request: Request) -> Response:
        """Record a session from now on, in place of a recording that it has: upstreams are the
        operator's MOCKLLM_UPSTREAMS"""
        asked = self.given_as(BeginBody)
        documents = read_documents({"scenarios": asked["cassettes"]})
        recording = Recording(
            session_meant(asked["session"]),
            asked["mode"],
            asked["name"],
            asked["keys"],
            tuple(dump(document) for document in documents),
            services().state,
        )
        begin(recording)
        return Response(_body(recording), status=201)

    @documented(
        "end_recording",
        query=SessionQuery,
        answers={200: (EndedBody, "What it came to.")},
        errors=(404,),
    )
    def delete(self, request: Request) -> Response:
        """End a recording; its scenario is in the answer, and nowhere else"""
        recording, came = end(self.query(SessionQuery).get("session"))
        return Response(
            {
                **_body(recording),
                "problems": list(came.problems),
                "document": came.document,
                "notes": list(came.notes),
                **drift_body(came.drifted),
            }
        )


class DriftView(ControlView):
    @documented("read_drift", answers={200: (AllDriftBody, "Each that has ended.")})
    def get(self, request: Request) -> Response:
        """What was not asked as it was recorded, in every recording that has ended"""
        return Response({"recordings": list(services().drifts)})


def _upstreams(recording: Recording) -> dict[str, str]:
    named = recording.upstreams or services().pipeline.options.upstreams
    return dict(named) if recording.records else {}


def _body(recording: Recording) -> dict[str, Any]:
    return {
        "session": recording.session,
        "mode": recording.mode,
        "name": recording.name,
        "upstreams": _upstreams(recording),
        "interactions": len(recording),
        "problems": list(recording.problems),
    }
