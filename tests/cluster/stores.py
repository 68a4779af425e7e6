"""Stores in Redis, each with keys of its own."""

from uuid import uuid4

from scenarios_app.cluster.connections import Connections
from scenarios_app.cluster.state import RedisState
from tests.cluster.redis import machine


def fresh_state(most: int = 100_000, *, url: str | None = None) -> RedisState:
    """A store of which nobody else has the keys."""
    connections = Connections(url or machine())
    connections.prefix = b"mockllm-test-%b:" % uuid4().hex.encode()
    return RedisState(connections, most)


def same_state(state: RedisState) -> RedisState:
    """What another process has of the same."""
    other = Connections(state._connections._url)
    other.prefix = state._connections.prefix
    return RedisState(other, state.most)


def keys(state: RedisState) -> list[bytes]:
    """Everything that the store has in Redis."""
    here = state._connections
    return sorted(here.here.scan_iter(match=here.prefix + b"*", count=1_000))


def forget(state: RedisState) -> None:
    for key in keys(state):
        state._connections.here.delete(key)
