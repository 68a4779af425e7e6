"""Compares today's requests, and the shapes of today's responses, with recorded ones."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.recorded import describe_difference
from scenarios_app.engine.recorded.requests import (
    ComparedRequest,
    Difference,
    DifferenceKind,
    decode_body,
    differences,
)
from scenarios_app.recording import RecordedRequest
from scenarios_app.recording.places import place_request
from scenarios_app.wire.decoded import parse_json

Document: TypeAlias = Mapping[str, Any]
# The names of a scenario and of one of its steps.
StepName: TypeAlias = tuple[str, str]
# Requests that are less similar count as new, not as changed.
_MIN_LIKENESS: Final = 0.2
# The JSON types found at each path of a response.
Shape: TypeAlias = Mapping[str, Set[str]]
_STREAM: Final = "text/event-stream"
_DONE: Final = "[DONE]"
_NULL: Final = "null"
_TYPES: Final = {str: "string", bool: "boolean", int: "number", float: "number"}


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A recorded request as its cassette has it; `step` is its name, or its number from 1."""

    cassette: str
    step: str
    path: str
    request: ComparedRequest
    document: Document = field(compare=False, repr=False)
    """The whole step."""

    @property
    def request_line(self) -> str:
        """The method and the path, as in `POST /v1/messages`."""
        return f"{self.request.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference from the recording. `step` is empty for a new request; `request` reads `POST
    /v1/messages`; `times` counts its repetitions."""

    kind: DifferenceKind
    cassette: str
    step: str
    request: str
    differences: tuple[Difference, ...] = ()
    times: int = 1


@dataclass(frozen=True, slots=True)
class DriftReport:
    """The drifts of a recording, and the steps that were not reached: an earlier request was not
    answered, so the client did not get that far."""

    drifts: tuple[Drift, ...] = ()
    unreached: tuple[RecordedStep, ...] = ()


@dataclass(slots=True)
class _MissedRequest:
    """A request that no recorded step answered, with the number of its repetitions."""

    path: str
    request: ComparedRequest
    times: int = 0


def recorded_steps(document: Document) -> Iterator[RecordedStep]:
    """Yield the steps of a cassette that have a recorded request, in order."""
    for number, step in enumerate(document.get("steps", ()), 1):
        match = step.get("match") or {}
        recorded = match.get("recorded")
        if recorded is None:
            continue
        body = recorded.get("body")
        request = ComparedRequest(
            recorded.get("method", "POST"),
            recorded.get("query", {}),
            decode_body(body) if isinstance(body, str) else body,
            frozenset(recorded.get("exact", ())),
        )
        path = match.get("path") or ""
        label = step.get("name") or str(number)
        yield RecordedStep(document.get("name", ""), label, path, request, step)


def find_drift(
    documents: Iterable[Document], served: Set[StepName], missed: Sequence[RecordedRequest]
) -> DriftReport:
    """Return the drift of cassettes: `served` are the steps that answered, `missed` the unanswered
    requests without secrets. Each miss is compared with the most similar step that did not answer,
    or is new. Without misses, the steps that did not answer are removed requests."""
    steps = [step for document in documents for step in recorded_steps(document)]
    left = [step for step in steps if (step.cassette, step.step) not in served]
    drifts: list[Drift] = []
    for miss in _unique_misses(missed):
        drift, likely_step = _drift_of_miss(miss, left, steps)
        drifts.append(drift)
        if likely_step is not None:
            left.remove(likely_step)
    if drifts:
        return DriftReport(tuple(drifts), tuple(left))
    return DriftReport(tuple(Drift("removed", s.cassette, s.step, s.request_line) for s in left))


def _unique_misses(missed: Sequence[RecordedRequest]) -> list[_MissedRequest]:
    """Return each request once, with the number of its repetitions."""
    misses: dict[tuple[str, str], _MissedRequest] = {}
    for request in missed:
        where = place_request(request)
        url = request.url_parts
        path = where.path if where else url.path
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        compared = ComparedRequest(request.method, query, decode_body(request.body))
        misses.setdefault((path, compared.digest), _MissedRequest(path, compared)).times += 1
    return list(misses.values())


def _drift_of_miss(
    miss: _MissedRequest, left: Sequence[RecordedStep], steps: Sequence[RecordedStep]
) -> tuple[Drift, RecordedStep | None]:
    """Return the drift of an unanswered request, and the step of `left` that it changes, if any."""
    line = f"{miss.request.method} {miss.path}"
    there = [step for step in left if step.path == miss.path]
    likely = max(there, key=lambda step: _likeness(step, miss), default=None)
    if likely is None or _likeness(likely, miss) < _MIN_LIKENESS:
        cassette = (left or steps)[0].cassette if steps else ""
        return Drift("new", cassette, "", line, times=miss.times), None
    request = replace(miss.request, exact=likely.request.exact)
    changes = differences(likely.request, request)
    return Drift("changed", likely.cassette, likely.step, line, changes, miss.times), likely


def _likeness(step: RecordedStep, miss: _MissedRequest) -> float:
    """Return how much a missed request is like a recorded step's, from 0 to 1."""
    return step.request.likeness(replace(miss.request, exact=step.request.exact))


def drift_json(drift: Drift) -> dict[str, Any]:
    """Return a drift as JSON for reports."""
    return {
        "kind": drift.kind,
        "cassette": drift.cassette,
        "step": drift.step,
        "request": drift.request,
        "times": drift.times,
        "differences": [
            {"kind": d.kind, "place": d.place, "recorded": d.recorded, "asked": d.received}
            for d in drift.differences
        ],
        "text": "\n".join(describe_drift(drift)),
    }


def describe_drift(drift: Drift) -> Iterator[str]:
    """Yield the lines that describe a drift."""
    often = f" ({drift.times} times)" if drift.times > 1 else ""
    match drift.kind:
        case "new":
            yield f"new: {drift.request}{often} is requested, but was not recorded"
        case "removed":
            yield f"removed: {drift.request} (step {drift.step}) is no longer requested"
        case _:
            yield f"changed: {drift.request} (step {drift.step}){often}"
            yield from (f"  {describe_difference(difference)}" for difference in drift.differences)


def response_shape(status: int, media_type: str, body: bytes) -> Shape:
    """Return the JSON types at each path of a response. Each kind of stream event has a separate
    path; a response without JSON has only status and content type."""
    kind = media_type.partition(";")[0].strip().lower()
    shape: dict[str, set[str]] = {"status": {str(status)}, "content-type": {kind}}
    text = body.decode(errors="replace")
    for name, value in _parse_events(text) if kind == _STREAM else _parse_lines(text):
        for place, type_name in _iter_types(value, name):
            shape.setdefault(place, set()).add(type_name)
    return shape


def shape_differences(recorded: Shape, today: Shape) -> tuple[Difference, ...]:
    """Return new, removed and retyped fields; null is compatible with every type."""
    changes: list[Difference] = []
    for place in sorted({*recorded, *today}):
        before, now = recorded.get(place, set()), today.get(place, set())
        kind: DifferenceKind = "changed" if before and now else "removed" if before else "new"
        old, new = before - {_NULL}, now - {_NULL}
        if kind != "changed" or (old and new and old.isdisjoint(new)):
            texts = (" or ".join(sorted(types)) or None for types in (before, now))
            changes.append(Difference(kind, place, *texts))
    return tuple(changes)


def _parse_lines(text: str) -> Iterator[tuple[str, Json]]:
    """Yield a JSON body with the name `body`, or each line that is JSON with the name `line`."""
    try:
        yield "body", json.loads(text)
    except (ValueError, RecursionError):
        values = map(parse_json, text.splitlines())
        yield from (("line", value) for value in values if value is not None)


def _parse_events(text: str) -> Iterator[tuple[str, Json]]:
    """Yield `event NAME` and the JSON of each event with data except `[DONE]`; None for no JSON."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = [line.partition(":") for line in block.split("\n")]
        name = next((value.strip() for key, _, value in fields if key == "event"), "")
        data = "\n".join(value.removeprefix(" ") for key, _, value in fields if key == "data")
        if not data or data == _DONE:
            continue
        value = parse_json(data)
        kind = value.get("type") if isinstance(value, dict) else None
        yield f"event {name or (kind if isinstance(kind, str) else 'data')}", value


def _iter_types(value: Json, place: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the type of a value and of all values in it."""
    match value:
        case dict():
            yield place, "object"
            for key, item in value.items():
                yield from _iter_types(item, f"{place}.{key}")
        case list():
            yield place, "list"
            for item in value:
                yield from _iter_types(item, f"{place}[]")
        case None:
            yield place, _NULL
        case _:
            yield place, _TYPES[type(value)]
