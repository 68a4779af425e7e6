"""The sessions of tests on one server."""

import hashlib
import secrets
from contextlib import suppress

from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.stubs import Mockllm

# Sessions that are reset in one request.
RESET_BATCH = 25


class SharedServer:
    """A server that many tests use, each with its own session. Unless the server is `exclusive` to
    this run, session names have a random prefix."""

    def __init__(self, control: Control, *, exclusive: bool) -> None:
        self.control = control
        self.base_url = control.base_url
        self.openai_base_url = f"{control.base_url}/v1"
        self._prefix = "" if exclusive else secrets.token_hex(8)
        self._ended_sessions: list[str] = []

    def session(self, test: str) -> Mockllm:
        """Return the session of a test; on an exclusive server its key is the same in each run."""
        key = f"mockllm-{hashlib.sha256((self._prefix + test).encode()).hexdigest()[:24]}"
        session = Mockllm(self.control, key)
        if session.session in self._ended_sessions:
            # The test is repeated.
            self.reset_ended()
        return session

    def end_session(self, session: Mockllm) -> None:
        """Schedule a session for reset; sessions are reset in batches to save requests."""
        self._ended_sessions.append(session.session)
        if len(self._ended_sessions) >= RESET_BATCH:
            # The verdict reports a server that is gone.
            with suppress(ServerFailed):
                self.reset_ended()

    def reset_ended(self) -> None:
        """Reset the ended sessions, with their steps."""
        names, self._ended_sessions = self._ended_sessions, []
        if names:
            self.control.send("POST", "reset", {"sessions": names, "scenarios": True})

    def close(self) -> None:
        """Reset the last sessions if the server still runs, and close the connection."""
        with suppress(ServerFailed):
            self.reset_ended()
        self.control.close()
