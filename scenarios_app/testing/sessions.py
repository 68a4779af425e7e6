"""The sessions of tests on one server, and what they are called."""

import hashlib
import secrets
from contextlib import suppress

from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.words import Mockllm

# So many sessions are forgotten in one request.
AT_ONCE = 25


class SharedServer:
    """A server that many tests use, each with a session of its own. Where it is not this run's
    `alone`, no other run has the same sessions."""

    def __init__(self, control: Control, *, alone: bool) -> None:
        self.control = control
        self.base_url = control.base_url
        self.openai_base_url = f"{control.base_url}/v1"
        self._prefix = "" if alone else secrets.token_hex(8)
        self._ended: list[str] = []

    def session(self, test: str) -> Mockllm:
        """The session of a test, the same one in each run that has the server alone, so that the
        answers are."""
        key = f"mockllm-{hashlib.sha256((self._prefix + test).encode()).hexdigest()[:24]}"
        session = Mockllm(self.control, key)
        if session.session in self._ended:
            # The same test once more.
            self.forget()
        return session

    def end(self, session: Mockllm) -> None:
        """Have a test's session forgotten, its steps too, with those of others: a request for each
        would take longer than the forgetting."""
        self._ended.append(session.session)
        if len(self._ended) >= AT_ONCE:
            self.forget()

    def forget(self) -> None:
        """Forget all there is of the sessions that have ended."""
        ended, self._ended = self._ended, []
        if ended:
            self.control.send("POST", "reset", {"sessions": ended, "scenarios": True})

    def close(self) -> None:
        """The last sessions are forgotten, as far as the server is there to do it."""
        with suppress(ServerFailed):
            self.forget()
        self.control.close()
