"""Starts and ends recordings of sessions, and builds their scenario document and drift report."""

import re
from collections.abc import Mapping
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
    Texts,
    documented,
)
from scenarios_app.control.sessions import find_scenario_session
from scenarios_app.control.stores import check_step, read_documents
from scenarios_app.engine.document import DocumentError, dump
from scenarios_app.engine.state import alias
from scenarios_app.recording.document import to_document
from scenarios_app.recording.drift import DriftReport, drift_json, find_drift
from scenarios_app.serving.recorder.recordings import MODES, RecordedSession, Recording
from scenarios_app.serving.services import services

DEFAULT_NAME: Final = "recording"
SHARED_STATE_ERROR: Final = (
    "A recording is in the memory of one process, and this server's sessions may be answered by "
    "several (REDIS_URL): it would be half of one. Record with a server that has no REDIS_URL."
)


def find_recording(name_or_key: str | None) -> Recording:
    """Return the recording for a name or API key, or that of all sessions; ControlError 404."""
    recordings = services().pipeline.recordings
    recording = recordings.get(name_or_key)
    if recording is None and name_or_key is not None:
        recording = recordings.get(alias(name_or_key))
    if recording is None:
        whose = "all sessions" if name_or_key is None else f"session “{name_or_key}”"
        raise ControlError(404, f"There is no recording of {whose}.")
    return recording


# Printable ASCII; an empty key keeps the client's.
_KEY = re.compile(r"[\x21-\x7e]*")


def start_recording(recording: Recording) -> None:
    """Start a recording; it replaces one of the same session.

    Raises ControlError 400 for a key that no header can hold, 409 in a cluster; if it records, 400
    for an invalid name, 409 without upstreams or if the name is recorded.
    """
    pipeline = services().pipeline
    if not services().cluster.is_single_process:
        raise ControlError(409, SHARED_STATE_ERROR)
    for provider, key in recording.keys.items():
        if not _KEY.fullmatch(key):
            message = (
                f"The key for {provider} has a line break, a space or another character that no "
                "header can hold."
            )
            raise ControlError(400, message, field=f"keys.{provider}")
    if recording.records:
        try:
            read_documents({"name": recording.name, "steps": []})
        except DocumentError as error:
            raise ControlError(400, str(error), field="name") from None
        if not (recording.upstreams or pipeline.options.upstreams):
            message = "No upstream is set; add one to MOCKLLM_UPSTREAMS."
            raise ControlError(409, message)
        others = [
            other for other in pipeline.recordings.values() if other.session != recording.session
        ]
        # Both would write the same scenario.
        if any(other.records and other.name == recording.name for other in others):
            message = f"“{recording.name}” is being recorded by another session."
            raise ControlError(409, message, field="name")
    pipeline.recordings[recording.session] = recording


def end_recording(name_or_key: str | None) -> tuple[Recording, dict[str, Any]]:
    """End the recording for a name or API key, or that of all sessions; return it and its result as
    an EndedBody. Raises ControlError 404."""
    recording = find_recording(name_or_key)
    services().pipeline.recordings.pop(recording.session, None)
    ended = recording.wait_for_result()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    drifted = DriftReport()
    if recording.records:
        document, notes = _merge_document(recording, ended)
    else:
        missed = [miss.request for miss in ended.missed]
        drifted = find_drift(recording.cassettes, ended.served, missed)
    drift: dict[str, Any] = {
        "drifted": bool(drifted.drifts),
        "drift": [drift_json(drift) for drift in drifted.drifts],
        "unreached": [f"{step.cassette}/{step.step}" for step in drifted.unreached],
    }
    if not recording.records:
        names = [document["name"] for document in recording.cassettes]
        services().drifts.append({"session": recording.session, "cassettes": names, **drift})
    body = {
        **_recording_body(recording),
        "problems": list(ended.problems),
        "document": document,
        "notes": list(notes),
        **drift,
    }
    return recording, body


def _merge_document(
    recording: Recording, ended: RecordedSession
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the recording's steps appended to its cassette, and notes on what was dropped: also
    steps that no document can hold."""
    conversion = to_document(recording.name, ended.interactions)
    document, notes = conversion.document, conversion.notes
    try:
        read_documents(document)
    except DocumentError:
        document = {**document, "steps": []}
        for number, step in enumerate(conversion.document["steps"], 1):
            try:
                check_step(step)
                document["steps"].append(step)
            except DocumentError as error:
                notes = (*notes, f"left out: answer {number}: {error.problems[0]}")
    before = next((d for d in recording.cassettes if d["name"] == recording.name), None)
    if before is not None:
        earlier: Any = before.get("steps") or []
        document = {**before, "steps": [*earlier, *document["steps"]]}
    return document, notes


class DifferenceBody(Shape):
    """One difference between a recorded request and the current one."""

    kind = Text(help_text="`new`, `removed` or `changed`.")
    place = Text(help_text="The place in the request.")
    recorded = serializers.JSONField(help_text="The recorded value.")
    asked = serializers.JSONField(help_text="The current value.")


class DriftBody(Shape):
    """A request that differs from its recording, is new or is missing."""

    kind = Text(help_text="`new`, `removed` or `changed`.")
    cassette = Text(allow_blank=True, help_text="The scenario of the recording.")
    step = Text(allow_blank=True, help_text="The step's name or number; empty for a new request.")
    request = Text(help_text="The method and path.")
    times = Whole(help_text="The number of such requests.")
    differences = DifferenceBody(many=True, help_text="The differences.")
    text = Text(help_text="The same as text.")


class BeginBody(Shape):
    """The session to record, the mode, and the cassettes to start from."""

    session = Text(
        required=False,
        allow_null=True,
        default=None,
        help_text="A session's name or API key; null for every session without a recording.",
    )
    mode = serializers.ChoiceField(
        choices=MODES,
        help_text="`none`: only replay. `new`: replay, and record requests that do not match. "
        "`all`: like `new`, but without earlier recordings.",
    )
    name = Text(
        required=False,
        default=DEFAULT_NAME,
        max_length=200,
        help_text="The name of the new scenario.",
    )
    keys = serializers.DictField(
        child=Text(),
        required=False,
        default=dict,
        write_only=True,
        help_text="API keys by provider, to be sent upstream instead of the session's. They "
        "stay in memory until the recording ends.",
    )
    cassettes = serializers.ListField(
        child=ScenarioField(),
        required=False,
        default=list,
        help_text="Earlier recordings that these sessions replay.",
    )


class RecordingBody(Shape):
    """A running recording."""

    session = Text(allow_null=True, help_text="The session; null for all without a recording.")
    mode = Text(help_text="The mode: none, new or all.")
    name = Text(help_text="The name of the new scenario.")
    upstreams = serializers.DictField(child=Text(), help_text="The upstream URLs by provider.")
    interactions = Whole(help_text="The number of recorded requests.")
    problems = Texts(help_text="Requests that could not be recorded, and why.")


class DriftedBody(Shape):
    """Requests that differ from the recording, and recorded steps not reached."""

    drifted = Flag(help_text="True if a request differs from the recording.")
    drift = DriftBody(many=True, help_text="The requests that differ.")
    unreached = Texts(
        help_text="Recorded steps (SCENARIO/STEP) that were not reached after a difference."
    )


class SessionDriftBody(DriftedBody):
    """The drift of one ended recording."""

    session = Text(allow_null=True, help_text="The session; null for all without a recording.")
    cassettes = Texts(help_text="The replayed scenarios.")


class AllDriftBody(Shape):
    """The drift of every replay-only recording that ended since the server started."""

    recordings = SessionDriftBody(many=True, help_text="The recordings by time of their end.")


class EndedBody(RecordingBody, DriftedBody):
    """A recording that has ended."""

    document = serializers.JSONField(
        help_text="The scenario, with earlier recordings; null if it only replayed."
    )
    notes = Texts(help_text="Notes on parts that were not recorded.")


class RecordingView(ControlView):
    @documented("read_recording", RecordingBody, "Its state.", query=SessionQuery, errors=(404,))
    def get(self, request: Request) -> Response:
        """The recording of a session, or of all sessions"""
        return Response(_recording_body(find_recording(self.query(SessionQuery).get("session"))))

    @documented(
        "begin_recording",
        RecordingBody,
        "The recording has begun.",
        status=201,
        body=BeginBody,
        errors=(409,),
    )
    def put(self, request: Request) -> Response:
        """Start recording a session; this replaces its recording. The upstreams are the
        operator's MOCKLLM_UPSTREAMS"""
        return Response(begin_recording(self.read_body(BeginBody)), status=201)

    @documented("end_recording", EndedBody, "The result.", query=SessionQuery, errors=(404,))
    def delete(self, request: Request) -> Response:
        """End a recording and return its scenario, which is not stored elsewhere"""
        return Response(end_recording(self.query(SessionQuery).get("session"))[1])


class AllDriftView(ControlView):
    @documented("read_drift", AllDriftBody, "The ended recordings.")
    def get(self, request: Request) -> Response:
        """The drift of every recording that has ended"""
        return Response({"recordings": list(services().drifts)})


def begin_recording(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Start the recording of a BeginBody, in place of the session's current one; return it as a
    RecordingBody. Raises ControlError 400 or 409, and DocumentError for invalid cassettes."""
    cassettes = tuple(map(dump, read_documents({"scenarios": fields["cassettes"]})))
    session = find_scenario_session(fields["session"])
    mode, name, keys = (fields[key] for key in ("mode", "name", "keys"))
    recording = Recording(session, mode, name, keys, cassettes, services().state)
    start_recording(recording)
    return _recording_body(recording)


def _recording_body(recording: Recording) -> dict[str, Any]:
    upstreams = recording.upstreams or services().pipeline.options.upstreams
    return {
        "session": recording.session,
        "mode": recording.mode,
        "name": recording.name,
        "upstreams": dict(upstreams) if recording.records else {},
        "interactions": len(recording),
        "problems": list(recording.problems),
    }
