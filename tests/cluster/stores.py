"""Stores in Redis, each with a separate key prefix."""

from uuid import uuid4

from scenarios_app.cluster.connections import Connections
from scenarios_app.cluster.state import RedisState
from tests.cluster.redis import local_redis_url


def fresh_state(most: int = 100_000, *, url: str | None = None) -> RedisState:
    """Return a store with a new key prefix."""
    connections = Connections(url or local_redis_url())
    connections.prefix = b"mockllm-test-%b:" % uuid4().hex.encode()
    return RedisState(connections, most)


def state_of_other_process(state: RedisState) -> RedisState:
    """Return the same store as another process has it."""
    connections = Connections(state._connections._url)
    connections.prefix = state._connections.prefix
    return RedisState(connections, state.max_sessions)


def stored_keys(state: RedisState) -> list[bytes]:
    """Return all keys of the store in Redis."""
    connections = state._connections
    return sorted(connections.here.scan_iter(match=connections.prefix + b"*", count=1_000))


def delete_keys(state: RedisState) -> None:
    """Delete all keys of the store."""
    for key in stored_keys(state):
        state._connections.here.delete(key)
