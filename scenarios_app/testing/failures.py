"""The errors of servers in child processes, in a module that imports nothing."""


class ServerFailed(Exception):
    """The server did not start, is gone, or rejected a call; the message gives the reason."""

    # The public module, which tracebacks of tests show.
    __module__ = "mockllm"


class CallRejected(ServerFailed):
    """The server rejected what a call sent, such as a scenario; `reason` is its message alone."""

    __module__ = "mockllm"

    def __init__(self, reason: str, *, place: str = "") -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason
