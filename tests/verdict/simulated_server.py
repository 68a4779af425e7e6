"""An in-process server with a fake clock, whose journal is a list."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scenarios_app.control.session_loader import to_exchange
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.journal_entry import RawEntry, clean_entry
from scenarios_app.engine.matching.index import Index, build_index
from scenarios_app.engine.memory import MemoryState
from scenarios_app.models import ServedRequest
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.verdict.judge import Verdict, VerdictOptions, judge
from scenarios_app.verdict.session import JudgedExchange, JudgedSession
from scenarios_app.wire.base import Call
from tests.state.entries import row_of

KEY = "sk-of-the-server"
OPTIONS = Options(words_per_second=0, clock=1_735_689_600)
# Simulated duration of a response, in seconds.
RESPONSE_SECONDS = 0.002


@dataclass(frozen=True)
class ServerResponse:
    """A response that a client received; `complete` is false if the connection closed early."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class SimulatedServer:
    """A server with the scenarios of one session that records all exchanges."""

    def __init__(self, *documents: Mapping[str, Any], key: str = KEY) -> None:
        scenario_documents = load_documents({"scenarios": list(documents)})
        self.index = build_index([compile_scenario(document) for document in scenario_documents])
        self.key = key
        self.now = 1_800_000_000.0
        self.exchanges: list[JudgedExchange] = []
        self._rows: list[ServedRequest] = []
        self._pipeline = Pipeline(
            catalog=self, state=MemoryState(), options=OPTIONS, record=self._record
        )

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return self.index

    def ask(
        self,
        path: str,
        body: Any,
        *,
        headers: Mapping[str, str] | None = None,
        leave_after: int | None = None,
    ) -> ServerResponse:
        """Send a request; the client closes the connection after `leave_after` pieces."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        default_headers = {"authorization": f"Bearer {self.key}", "x-api-key": self.key}
        default_headers |= {"x-goog-api-key": self.key, "anthropic-version": "2023-06-01"}
        call = Call("POST", path, {}, {**default_headers, **(headers or {})}, data)
        response = asyncio.run(self._ask(call, leave_after))
        # A row may refer to stored responses, which are read outside of an event loop.
        self.exchanges += [to_exchange(row, OPTIONS) for row in self._rows]
        self._rows.clear()
        return response

    async def _ask(self, call: Call, leave_after: int | None) -> ServerResponse:
        answer = await self._pipeline.answer(call)
        pieces: list[bytes] = []
        remaining_pieces = answer.pieces()
        async for piece in remaining_pieces:
            pieces.append(piece)
            if leave_after is not None and len(pieces) >= leave_after:
                break
        await remaining_pieces.aclose()
        reply, body = answer.reply, b"".join(pieces)
        headers = dict(reply.headers)
        size = headers.get("content-length", str(len(body)))
        complete = bool(pieces) and not answer.reply.cut and size == str(len(body))
        return ServerResponse(reply.status if pieces else 0, headers, body, complete)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def _record(self, entry: RawEntry) -> None:
        timings = {"head_ms": RESPONSE_SECONDS * 500} if entry.response_headers else {}
        timed_entry = msgspec.structs.replace(
            entry, at=self.now, duration_ms=RESPONSE_SECONDS * 1000, timings=timings
        )
        self.now += RESPONSE_SECONDS
        row = row_of(clean_entry(timed_entry, body_bytes=OPTIONS.journal_body_bytes))
        self._rows.append(row)

    def session(self, *, own: Sequence[str] | None = None) -> JudgedSession:
        """Return the session; all scenarios are its own unless `own` names some."""
        names = self.index.by_name if own is None else own
        return JudgedSession(
            "the-session",
            tuple(self.exchanges),
            scenarios=self.index.by_name,
            own=frozenset(names),
        )

    def verdict(self, **options: Any) -> Verdict:
        return judge(self.session(), VerdictOptions(**options))

    def rules(self) -> list[str]:
        """Return the rule of each finding."""
        return [finding.rule for finding in self.verdict().findings]
