"""The sessions of tests on one server, and what they are called."""

import hashlib
import secrets

from scenarios_app.testing.control import Control
from scenarios_app.testing.words import Mockllm


class SharedServer:
    """A server that many tests use, each with a session of its own. Where it is not this run's
    `alone`, no other run has the same sessions."""

    def __init__(self, control: Control, *, alone: bool) -> None:
        self.control = control
        self.base_url = control.base_url
        self.openai_base_url = f"{control.base_url}/v1"
        self._prefix = "" if alone else secrets.token_hex(8)

    def session(self, test: str) -> Mockllm:
        """The session of a test, the same one in each run that has the server alone, so that the
        answers are."""
        key = f"mockllm-{hashlib.sha256((self._prefix + test).encode()).hexdigest()[:24]}"
        return Mockllm(self.control, key)

    def close(self) -> None:
        self.control.close()
