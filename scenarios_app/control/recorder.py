"""Recordings begun and ended, by the control API and by the admin: what each comes to."""

from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.control.kit import ControlError
from scenarios_app.control.sessions import session_of_scenarios
from scenarios_app.control.stores import read_documents
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.state import alias
from scenarios_app.recording.document import to_document
from scenarios_app.recording.drift import Drifted, drift_json, drift_of
from scenarios_app.serving.recorder.recordings import Ended, Recording
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
        if not pipeline.options.upstreams:
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
