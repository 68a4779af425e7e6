"""The interface behind which MCP stands: which tools there are, and a call of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from chat_app.request import Tool

Status = Literal["success", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended. `text` is the whole result; that of a failed call begins `Error: `. `code`
    is SERVICE_UNAVAILABLE for a timeout and a dead or unreachable server, VALIDATION_ERROR for
    arguments that are no JSON object, NOT_FOUND for a tool that is not there, else None."""

    text: str
    status: Status = "success"
    code: str | None = None


class Toolbox(Protocol):
    """The tools of this process."""

    async def available(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        """The tools of these servers, by their names in the operator's file, in stable order.

        A tool whose name another server has too is called `SERVER__NAME`. A server that is not
        named in the file or cannot be reached has none, and the log says so: it never raises.
        """
        ...

    async def call(
        self, servers: Sequence[str], name: str, *, arguments: str | Mapping[str, Any]
    ) -> Outcome:
        """Call a tool by the name that `available` gave it. Never raises but CancelledError, and
        that only when the caller was cancelled: the running call is cancelled with it."""
        ...

    async def close(self) -> None:
        """End every server of the running event loop; returns when nothing is left of them."""
        ...
