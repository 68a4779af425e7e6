"""Loads recordings into a server and sends their requests to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from scenarios_app.recording import Interaction
from scenarios_app.recording.importers import SUFFIXES, decode_recording, scenario_name, unique_name
from scenarios_app.recording.places import PlacedRequest, place_request

# Headers that a client sets itself, or that concern only a connection.
_CLIENT_HEADERS = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_KEY_HEADERS = {
    "authorization": "Bearer replayed",
    "x-api-key": "replayed",
    "x-goog-api-key": "replayed",
}


@dataclass(frozen=True, slots=True)
class Cassette:
    """A recording with its scenario's name and interactions.

    Interactions with APIs that the server does not support have no placed request.
    """

    path: Path
    name: str
    interactions: tuple[tuple[Interaction, PlacedRequest | None], ...]

    @property
    def replayable(self) -> int:
        return sum(placed is not None for _, placed in self.interactions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The difference of a response from its recording; empty if they are equal."""

    cassette: str
    number: int
    difference: str


def read_cassettes(paths: Sequence[Path]) -> list[Cassette]:
    """Return the recordings in files and folders, in the server's order and with its names."""
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.suffix.lower() in {*SUFFIXES, ".json"}
    ]
    cassettes: list[Cassette] = []
    for file in files:
        recording = decode_recording(file.read_bytes(), source=str(file))
        if recording is None:
            continue
        interactions = tuple(
            (interaction, place_request(interaction.request))
            for interaction in recording.interactions()
        )
        if any(placed for _, placed in interactions):
            name = unique_name(
                scenario_name(str(file)), [interaction.name for interaction in cassettes]
            )
            cassettes.append(Cassette(file, name, interactions))
    return cassettes


def replay(http: httpx.Client, cassette: Cassette) -> Iterator[Outcome]:
    """Send the recorded requests in order, in a new session."""
    for number, (interaction, placed) in enumerate(cassette.interactions, start=1):
        if placed is not None:
            difference = _describe_difference(http, cassette.name, interaction, placed)
            yield Outcome(cassette.name, number, difference)


def _describe_difference(
    http: httpx.Client, name: str, interaction: Interaction, placed: PlacedRequest
) -> str:
    call, recorded_response = placed.call, interaction.response
    url = f"{call.path}?{call.raw_query}" if call.raw_query else call.path
    headers = {k: v for k, v in call.headers.items() if k not in _CLIENT_HEADERS}
    headers |= _KEY_HEADERS
    headers |= {"x-mockllm-scenario": quote(name), "x-mockllm-session": quote(name)[:200]}
    answer = http.request(call.method, url, headers=headers, content=call.body)
    expected_type = {k.lower(): v for k, v in recorded_response.headers}.get("content-type")
    actual_type = answer.headers.get("content-type")
    if answer.status_code != recorded_response.status:
        return (
            f"status {answer.status_code}, recorded {recorded_response.status}: {answer.text[:300]}"
        )
    if answer.content != recorded_response.body:
        return f"other bytes: {answer.content[:200]!r}, recorded {recorded_response.body[:200]!r}"
    return (
        f"content type {actual_type}, recorded {expected_type}"
        if expected_type not in (None, actual_type)
        else ""
    )
