"""Which session a request belongs to: the one key that scopes all that a test can disturb."""

from scenarios_app.engine.state import key_session
from scenarios_app.wire.base import Call, Wire

HEADER = "x-mockllm-session"
DEFAULT = "default"
# A longer name is refused; until then it is called by its beginning.
LONGEST = 200


def session_of(wire: Wire, call: Call) -> str:
    """The session header, else the API key under its stored name, else the default."""
    given = call.headers.get(HEADER, "").strip()
    if given:
        return given[:LONGEST]
    key = wire.api_key(call)
    return key_session(key) if key else DEFAULT
