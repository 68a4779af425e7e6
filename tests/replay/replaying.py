"""Recordings loaded into a server without an edit, and each of their requests sent to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from scenarios_app.recording import Interaction
from scenarios_app.recording.importers import SUFFIXES, decode_recording, scenario_name, unique_name
from scenarios_app.recording.places import PlacedRequest, place_request

# Headers that a client sets itself, or that concern only a connection.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_KEYS = {"authorization": "Bearer replayed", "x-api-key": "replayed", "x-goog-api-key": "replayed"}


@dataclass(frozen=True, slots=True)
class Cassette:
    """A file, the name of its scenario, and its interactions with their places on the server; those
    for other APIs have none."""

    path: Path
    name: str
    interactions: tuple[tuple[Interaction, PlacedRequest | None], ...]

    @property
    def replayable(self) -> int:
        return sum(where is not None for _, where in self.interactions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the answer to one recorded request differs from what was recorded; empty: not at all."""

    cassette: str
    number: int
    wrong: str


def cassettes_of(paths: Sequence[Path]) -> list[Cassette]:
    """The recordings in files and folders, in the order and by the names in which a server has
    them."""
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.suffix.lower() in {*SUFFIXES, ".json"}
    ]
    found: list[Cassette] = []
    for file in files:
        read = decode_recording(file.read_bytes(), source=str(file))
        if read is None:
            continue
        interactions = tuple((one, place_request(one.request)) for one in read.interactions())
        if any(where for _, where in interactions):
            name = unique_name(scenario_name(str(file)), [one.name for one in found])
            found.append(Cassette(file, name, interactions))
    return found


def replay(http: httpx.Client, cassette: Cassette) -> Iterator[Outcome]:
    """Send what was recorded, in its order and in a session of its own."""
    for number, (interaction, where) in enumerate(cassette.interactions, start=1):
        if where is not None:
            wrong = _wrong(http, cassette.name, interaction, where)
            yield Outcome(cassette.name, number, wrong)


def _wrong(http: httpx.Client, name: str, interaction: Interaction, where: PlacedRequest) -> str:
    call, recorded = where.call, interaction.response
    url = f"{call.path}?{call.raw_query}" if call.raw_query else call.path
    headers = {k: v for k, v in call.headers.items() if k not in _OWN}
    headers |= _KEYS
    headers |= {"x-mockllm-scenario": quote(name), "x-mockllm-session": quote(name)[:200]}
    answer = http.request(call.method, url, headers=headers, content=call.body)
    wanted = {k.lower(): v for k, v in recorded.headers}.get("content-type")
    got = answer.headers.get("content-type")
    if answer.status_code != recorded.status:
        return f"status {answer.status_code}, recorded {recorded.status}: {answer.text[:300]}"
    if answer.content != recorded.body:
        return f"other bytes: {answer.content[:200]!r}, recorded {recorded.body[:200]!r}"
    return f"content type {got}, recorded {wanted}" if wanted not in (None, got) else ""
