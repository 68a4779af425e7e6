"""Stores session state in Redis, for all processes on one database."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mockllm_site.kit.bounded_dict import BoundedDict
from scenarios_app.cluster import scripts
from scenarios_app.cluster.connections import Connections
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.state import (
    MAX_RESPONSE_BYTES,
    MAX_RESPONSES,
    MAX_SESSIONS,
    MAX_VIOLATIONS,
    Arrival,
    AttemptRef,
    SessionState,
    StateUnavailable,
    StepRef,
    alias,
)

# Of these sessions the consumed steps are cached: Redis sends only new ones.
MAX_CACHED_SESSIONS: Final = 10_000
_AT_ONCE: Final = 200


class _ConsumedSteps:
    """The cached first entries of a session's list of consumed steps in one epoch."""

    __slots__ = ("epoch", "steps")

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.steps: dict[tuple[str, str], None] = {}

    def add(self, start: int, entries: Sequence[bytes]) -> None:
        """Append the entries that are not cached yet; the first one has the index `start`."""
        for entry in entries[max(len(self.steps) - start, 0) :]:
            scenario, key, _ = _read_netstrings(entry, 2)
            self.steps[scenario, key] = None


class _Own(NamedTuple):
    """A session's own scenarios, as cached by this process."""

    revision: int
    documents: Mapping[str, Json]


_NONE: Final = _Own(0, MappingProxyType({}))


class RedisState:
    """A StateStore in Redis. At most `max_sessions` sessions are kept for all processes together;
    `session_count` and `evicted_count` are as of the last request. While Redis is away, requests of
    sessions whose own scenarios this process has cached are still served; counting or consuming
    raises StateUnavailable."""

    def __init__(self, connections: Connections, max_sessions: int = MAX_SESSIONS) -> None:
        self.max_sessions = max_sessions
        self.session_count = self.evicted_count = 0
        self._connections = connections
        self._run = connections.run
        self._consumed = BoundedDict[bytes, _ConsumedSteps](MAX_CACHED_SESSIONS)
        self._own = BoundedDict[str, _Own](MAX_CACHED_SESSIONS)

    async def arrive(self, session: str) -> Arrival:
        """Count a request and return the state that it finds. While Redis is away, return the
        session's cached scenarios with a negative ordinal; raise StateUnavailable if none are
        cached."""
        key, name = alias(session), _encode_text(session)
        consumed, own = self._consumed.get(name) or _ConsumedSteps(), self._own.get(key)
        cached_versions = consumed.epoch, len(consumed.steps), own.revision if own else 0
        try:
            reply = await self._run(
                scripts.ARRIVE, name, _encode_text(key), self.max_sessions, *cached_versions
            )
        except StateUnavailable:
            if own is None:
                raise
            return Arrival(-random.getrandbits(53) - 1, frozenset(), *own)
        ordinal, epoch, start, entries, revision, documents, changes, moment, count, left = reply
        self.session_count, self.evicted_count = count, int(left)
        self._connections.moment = max(self._connections.moment, moment)
        if documents:
            own = _Own(int(revision), MappingProxyType(json.loads(documents)))
        elif own is None or own.revision != int(revision):
            own = _NONE
        self._own[key] = own
        consumed = self._add_consumed(name, int(epoch), start, entries)
        return Arrival(ordinal, consumed.steps.keys(), *own, int(changes))

    async def consume(self, session: str, step: StepRef) -> bool:
        return await self.consume_first(session, [step]) is not None

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        """Consume the first free step; return its index, or None if all are consumed."""
        name = _encode_text(session)
        consumed = self._consumed.get(name) or _ConsumedSteps()
        wanted = [
            part
            for step in steps
            for part in (_encode_text(step.scenario), _encode_step(step), _encode_text(step.label))
        ]
        place, epoch, start, entries = await self._run_for_session(
            scripts.CONSUME, session, consumed.epoch, len(consumed.steps), *wanted
        )
        self._add_consumed(name, int(epoch), start, entries)
        return place - 1 if place else None

    async def count_failure(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        """Count a failed attempt and return True; return False if `times` are counted already."""
        step = attempt.step
        field = _encode_step(step) + _netstring(attempt.provider)
        arguments = _encode_text(step.scenario), field, _encode_text(step.label), times
        return bool(await self._run_for_session(scripts.FAIL, session, *arguments))

    async def increment(self, session: str, counter: str) -> int:
        return int(await self._run_for_session(scripts.COUNT, session, _encode_text(counter)))

    async def add_violation(self, session: str, violation: str) -> None:
        await self._run_for_session(
            scripts.VIOLATE, session, _encode_text(violation), MAX_VIOLATIONS
        )

    async def read(self, session: str) -> SessionState:
        reply = await self._run(scripts.READ, _encode_text(session))
        ordinal, consumed, attempts, counts, counters, violations = reply
        by_field = dict(_pair_up(counts))
        return SessionState(
            session=session,
            ordinal=int(ordinal),
            consumed=tuple(StepRef(*_read_netstrings(entry, 2)) for entry in consumed),
            attempts=tuple(_decode_attempt(entry, by_field) for entry in attempts),
            counters={_decode_text(name): int(count) for name, count in _pair_up(counters)},
            violations=tuple(map(_decode_text, violations)),
        )

    async def sessions(self) -> tuple[str, ...]:
        return tuple(sorted(map(_decode_text, await self._run(scripts.SESSIONS))))

    async def reset(self, session: str | None, *, scenarios: bool = False) -> None:
        """Delete a session's state (all sessions' for None), with `scenarios` its scenarios too."""
        names = (
            [session] if session is not None else map(_decode_text, await self._run(scripts.NAMES))
        )
        arguments = [
            part for name in names for part in (_encode_text(name), _encode_text(alias(name)))
        ]
        options = self.max_sessions, int(scenarios)
        for start in range(0, len(arguments), 2 * _AT_ONCE):
            await self._run(scripts.RESET, *options, *arguments[start : start + 2 * _AT_ONCE])
        if session is None:
            await self._run(scripts.RESET_OWN, *options)

    async def clear_scenario(self, scenario: str, *, session: str | None = None) -> None:
        """Delete a scenario's state in all sessions (None), or those with the session's alias."""
        wanted = "" if session is None else alias(session)
        await self._run(scripts.CLEAR, _encode_text(scenario), _encode_text(wanted))

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        await self._run_for_session(
            scripts.REMEMBER, session, _encode_text(name), data, MAX_RESPONSES, MAX_RESPONSE_BYTES
        )

    async def recall_response(self, session: str, name: str) -> bytes | None:
        data: bytes | None = await self._run(
            scripts.RECALL, _encode_text(session), _encode_text(name)
        )
        return data

    async def recall_responses(self, session: str, prefix: str) -> dict[str, bytes]:
        reply = await self._run(scripts.RECALL_ALL, _encode_text(session), _encode_text(prefix))
        return {_decode_text(name): data for name, data in _pair_up(reply)}

    async def forget_response(self, session: str, name: str) -> None:
        await self._run(scripts.GIVE_UP, _encode_text(session), _encode_text(name))

    async def replace_scenarios(
        self, session: str, documents: Mapping[str, Json], *, revision: int
    ) -> bool:
        """Replace a session's own scenarios; return False if `revision` is no longer theirs."""
        data = json.dumps(dict(documents)) if documents else ""
        channel = self._connections.channel
        return bool(await self._run_for_session(scripts.KEEP, session, revision, data, channel))

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        """Return a session's own scenarios: their revision (0: none) and documents by name."""
        revision, data = await self._run(
            scripts.OWN, _encode_text(session), _encode_text(alias(session))
        )
        return int(revision), MappingProxyType(json.loads(data) if data else {})

    def drop_cached_scenarios(self, key: str | None = None) -> None:
        """Drop the cached scenarios of an alias, or all: another process may have changed them."""
        if key is None:
            self._own.clear()
        else:
            self._own.pop(key, None)

    async def _run_for_session(self, script: str, session: str, *values: Any) -> Any:
        """Run a script for a session, whose own scenarios are under its alias."""
        return await self._run(
            script, _encode_text(session), _encode_text(alias(session)), self.max_sessions, *values
        )

    def _add_consumed(
        self, name: bytes, epoch: int, start: int, entries: Sequence[bytes]
    ) -> _ConsumedSteps:
        """Return the consumed steps with new entries. Replies may arrive out of order, and later
        epochs win."""
        consumed = self._consumed.get(name)
        if consumed is None or consumed.epoch < epoch:
            consumed = _ConsumedSteps(epoch)
        if consumed.epoch == epoch and start <= len(consumed.steps):
            consumed.add(start, entries)
        self._consumed[name] = consumed
        return consumed


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _netstring(text: str) -> bytes:
    """Return a text with its length before it, so that joined ones can be split again."""
    data = _encode_text(text)
    return b"%d:%b" % (len(data), data)


def _encode_step(step: StepRef) -> bytes:
    """Return the netstrings of a step's scenario and key."""
    return _netstring(step.scenario) + _netstring(step.key)


def _read_netstrings(entry: bytes, netstrings: int) -> list[str]:
    """Return the first texts of an entry, `netstrings` of them, and the rest as the last one."""
    values = []
    for _ in range(netstrings):
        size, _, entry = entry.partition(b":")
        values.append(_decode_text(entry[: int(size)]))
        entry = entry[int(size) :]
    return [*values, _decode_text(entry)]


def _decode_attempt(entry: bytes, counts: Mapping[bytes, bytes]) -> tuple[AttemptRef, int]:
    """Return the attempt of a list entry with its count from `counts`."""
    scenario, key, provider, label = _read_netstrings(entry, 3)
    attempt = AttemptRef(StepRef(scenario, key, label), provider)
    return attempt, int(counts[_encode_step(attempt.step) + _netstring(provider)])


def _pair_up(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield items 0 and 1, then 2 and 3, and so on; raise ValueError for an odd number."""
    return zip(flat[::2], flat[1::2], strict=True)
