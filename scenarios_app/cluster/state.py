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

# Of so many sessions this process knows what they have consumed, so that Redis has to tell it only
# what is new.
MAX_CACHED_SESSIONS: Final = 10_000
_AT_ONCE: Final = 200


class _ConsumedSteps:
    """The beginning of a session's list of consumed steps of one epoch, as far as this process
    knows it."""

    __slots__ = ("epoch", "steps")

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.steps: dict[tuple[str, str], None] = {}

    def add(self, start: int, entries: Sequence[bytes]) -> None:
        for entry in entries[max(len(self.steps) - start, 0) :]:
            scenario, key, _ = _read(entry, 2)
            self.steps[scenario, key] = None


class _Own(NamedTuple):
    revision: int
    documents: Mapping[str, Json]


_NONE: Final = _Own(0, MappingProxyType({}))


class RedisState:
    """A StateStore. `most` sessions are kept by all processes together; `kept` and `left` are as
    of the last request. While Redis is away, requests of sessions whose own scenarios this process
    knows arrive all the same; what has to be counted or consumed for them cannot be."""

    def __init__(self, connections: Connections, most: int = MAX_SESSIONS) -> None:
        self.most = most
        self.kept = self.left = 0
        self._connections = connections
        self._run = connections.run
        self._consumed = BoundedDict[bytes, _ConsumedSteps](MAX_CACHED_SESSIONS)
        self._own = BoundedDict[str, _Own](MAX_CACHED_SESSIONS)

    async def arrive(self, session: str) -> Arrival:
        key, name = alias(session), _bytes(session)
        consumed, own = self._consumed.get(name) or _ConsumedSteps(), self._own.get(key)
        cached_versions = consumed.epoch, len(consumed.steps), own.revision if own else 0
        try:
            reply = await self._run(scripts.ARRIVE, name, _bytes(key), self.most, *cached_versions)
        except StateUnavailable:
            if own is None:
                raise
            return Arrival(-random.getrandbits(53) - 1, frozenset(), *own)
        ordinal, epoch, start, entries, revision, documents, changes, moment, kept, left = reply
        self.kept, self.left = kept, int(left)
        self._connections.moment = max(self._connections.moment, moment)
        if documents:
            own = _Own(int(revision), MappingProxyType(json.loads(documents)))
        elif own is None or own.revision != int(revision):
            own = _NONE
        self._own[key] = own
        consumed = self._learn(name, int(epoch), start, entries)
        return Arrival(ordinal, consumed.steps.keys(), *own, int(changes))

    async def consume(self, session: str, step: StepRef) -> bool:
        return await self.consume_first(session, [step]) is not None

    async def consume_first(self, session: str, steps: Sequence[StepRef]) -> int | None:
        name = _bytes(session)
        consumed = self._consumed.get(name) or _ConsumedSteps()
        wanted = [
            part
            for step in steps
            for part in (_bytes(step.scenario), _step(step), _bytes(step.label))
        ]
        place, epoch, start, entries = await self._use(
            scripts.CONSUME, session, consumed.epoch, len(consumed.steps), *wanted
        )
        self._learn(name, int(epoch), start, entries)
        return place - 1 if place else None

    async def count_failure(self, session: str, attempt: AttemptRef, *, times: int) -> bool:
        step = attempt.step
        field = _step(step) + _netstring(attempt.provider)
        arguments = _bytes(step.scenario), field, _bytes(step.label), times
        return bool(await self._use(scripts.FAIL, session, *arguments))

    async def increment(self, session: str, counter: str) -> int:
        return int(await self._use(scripts.COUNT, session, _bytes(counter)))

    async def add_violation(self, session: str, violation: str) -> None:
        await self._use(scripts.VIOLATE, session, _bytes(violation), MAX_VIOLATIONS)

    async def read(self, session: str) -> SessionState:
        reply = await self._run(scripts.READ, _bytes(session))
        ordinal, consumed, attempts, counts, counters, violations = reply
        by_field = dict(_pairs(counts))
        return SessionState(
            session=session,
            ordinal=int(ordinal),
            consumed=tuple(StepRef(*_read(entry, 2)) for entry in consumed),
            attempts=tuple(_attempt(entry, by_field) for entry in attempts),
            counters={_text(name): int(count) for name, count in _pairs(counters)},
            violations=tuple(map(_text, violations)),
        )

    async def sessions(self) -> tuple[str, ...]:
        return tuple(sorted(map(_text, await self._run(scripts.SESSIONS))))

    async def reset(self, session: str | None, *, scenarios: bool = False) -> None:
        names = [session] if session is not None else map(_text, await self._run(scripts.NAMES))
        arguments = [part for name in names for part in (_bytes(name), _bytes(alias(name)))]
        options = self.most, int(scenarios)
        for start in range(0, len(arguments), 2 * _AT_ONCE):
            await self._run(scripts.RESET, *options, *arguments[start : start + 2 * _AT_ONCE])
        if session is None:
            await self._run(scripts.RESET_OWN, *options)

    async def clear_scenario(self, scenario: str, *, session: str | None = None) -> None:
        wanted = "" if session is None else alias(session)
        await self._run(scripts.CLEAR, _bytes(scenario), _bytes(wanted))

    async def remember_response(self, session: str, name: str, data: bytes) -> None:
        await self._use(
            scripts.REMEMBER, session, _bytes(name), data, MAX_RESPONSES, MAX_RESPONSE_BYTES
        )

    async def recall_response(self, session: str, name: str) -> bytes | None:
        data: bytes | None = await self._run(scripts.RECALL, _bytes(session), _bytes(name))
        return data

    async def recall_responses(self, session: str, prefix: str) -> dict[str, bytes]:
        reply = await self._run(scripts.RECALL_ALL, _bytes(session), _bytes(prefix))
        return {_text(name): data for name, data in _pairs(reply)}

    async def forget_response(self, session: str, name: str) -> None:
        await self._run(scripts.GIVE_UP, _bytes(session), _bytes(name))

    async def replace_scenarios(
        self, session: str, documents: Mapping[str, Json], *, revision: int
    ) -> bool:
        data = json.dumps(dict(documents)) if documents else ""
        channel = self._connections.channel
        return bool(await self._use(scripts.KEEP, session, revision, data, channel))

    async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
        revision, data = await self._run(scripts.OWN, _bytes(session), _bytes(alias(session)))
        return int(revision), MappingProxyType(json.loads(data) if data else {})

    def drop_cached_scenarios(self, key: str | None = None) -> None:
        """Drop the cached scenarios of an alias, or all: another process may have changed them."""
        if key is None:
            self._own.clear()
        else:
            self._own.pop(key, None)

    async def _use(self, script: str, session: str, *values: Any) -> Any:
        return await self._run(script, _bytes(session), _bytes(alias(session)), self.most, *values)

    def _learn(
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


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _netstring(text: str) -> bytes:
    """Return a text with its length before it, so that joined ones can be split again."""
    data = _bytes(text)
    return b"%d:%b" % (len(data), data)


def _step(step: StepRef) -> bytes:
    return _netstring(step.scenario) + _netstring(step.key)


def _read(entry: bytes, netstrings: int) -> list[str]:
    """Return that many netstrings and the rest."""
    values = []
    for _ in range(netstrings):
        size, _, entry = entry.partition(b":")
        values.append(_text(entry[: int(size)]))
        entry = entry[int(size) :]
    return [*values, _text(entry)]


def _attempt(entry: bytes, counts: Mapping[bytes, bytes]) -> tuple[AttemptRef, int]:
    scenario, key, provider, label = _read(entry, 3)
    attempt = AttemptRef(StepRef(scenario, key, label), provider)
    return attempt, int(counts[_step(attempt.step) + _netstring(provider)])


def _pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
