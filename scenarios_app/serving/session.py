"""Which session a request belongs to: the one key that scopes all that a test can disturb."""

from scenarios_app.engine.state import key_session
from scenarios_app.wire.base import Call, Wire

HEADER = "x-mockllm-session"
DEFAULT = "default"
# A longer name is refused; until then it is called by its beginning.
LONGEST = 200


def session_of(wire: Wire, call: Call) -> str:
    """The session header, else the API key under its stored name, else the default.

    A header that repeats the key names the key's session: it is not to be read anywhere either.
    """
    given = call.headers.get(HEADER, "").strip()
    key = wire.api_key(call)
    if given and given != key:
        return given[:LONGEST]
    return key_session(key) if key else DEFAULT
