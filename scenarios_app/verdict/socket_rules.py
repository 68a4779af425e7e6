"""Client rules on the Responses API over WebSockets: what a client does after a reconnect, where
responses with `store: false` no longer exist."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scenarios_app.verdict.session import JudgedExchange, JudgedSession, Rule, Sighting
from scenarios_app.wire.openai.responses.turns import RecordedTurn, output_of, read_turn

# Codex uses HTTP after this number of reconnects.
MAX_RECONNECTS = 5
_KEY = "sec-websocket-key"
_LOST = frozenset({"fault", "client_gone"})


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """An exchange with its handshake key; `is_lost` if a fault or the client ended it."""

    exchange: JudgedExchange
    connection: str
    content: RecordedTurn
    is_lost: bool


@dataclass(frozen=True, slots=True)
class _Turns:
    """The turns of a session in order of arrival; none if no request came over a WebSocket."""

    all: list[_Turn] = field(default_factory=list)
    by_response: dict[str, _Turn] = field(default_factory=dict)
    by_connection: dict[str, list[_Turn]] = field(default_factory=dict)

    def previous(self, turn: _Turn) -> _Turn | None:
        """Return the turn whose response a turn continues by its id. None without such an id."""
        return self.by_response.get(turn.content.previous_response)

    def conversation_inputs(self, turn: _Turn) -> frozenset[str]:
        """Return the inputs of a turn and of those that it continues."""
        inputs, chain = turn.content.inputs, {turn}
        while (turn := self.previous(turn) or turn) not in chain:
            chain.add(turn)
            inputs |= turn.content.inputs
        return inputs


def _read_turns(session: JudgedSession) -> _Turns:
    """Return the turns of a session's WebSocket connections; none if it has no connection."""
    turns = _Turns()
    has_sockets = any(_KEY in exchange.request_headers for exchange in session.exchanges)
    for exchange in session.exchanges if has_sockets else ():
        if content := read_turn(exchange.request_body, exchange.response_body):
            key = exchange.request_headers.get(_KEY, "")
            turn = _Turn(exchange, key, content, is_lost=bool(key) and exchange.outcome in _LOST)
            turns.all.append(turn)
            if content.response:
                turns.by_response[content.response] = turn
            if key:
                turns.by_connection.setdefault(key, []).append(turn)
    return turns


def _find_inputs_not_resent(session: JudgedSession) -> Iterator[Sighting]:
    """Yield sightings of refused turns that continue a response of another connection, if no later
    request sends the whole input."""
    turns = _read_turns(session)
    for turn in turns.all:
        lost = turns.previous(turn) if turn.content.is_refused else None
        if lost is None or lost.connection in ("", turn.connection):
            continue
        needed = turns.conversation_inputs(turn)
        later = (other.content for other in turns.all if other.exchange.at >= turn.exchange.at)
        if not any(needed <= content.inputs and not content.previous_response for content in later):
            message = f"continued {turn.content.previous_response}, which only another connection "
            message += "had, and did not send the whole input again"
            yield Sighting(message, turn.exchange, (lost.exchange,))


def _find_lost_tool_outputs(session: JudgedSession) -> Iterator[Sighting]:
    """Yield sightings of requests that continue after a lost connection without a call's output."""
    turns = _read_turns(session)
    for connection in turns.by_connection.values():
        for number, turn in enumerate(connection if connection[-1].is_lost else ()):
            # A client that left has not read the response.
            calls = {} if turn.exchange.outcome == "client_gone" else turn.content.calls
            for call, name in calls.items():
                sent = [
                    later_turn
                    for later_turn in connection[number:]
                    if output_of(call) in later_turn.content.inputs
                ]
                first = _first_without(turns, turn, sent, call)
                if first is not None:
                    message = f"went on without the output of {name} ({call}) after a reconnect"
                    yield Sighting(message, first.exchange, (turn.exchange,))


def _first_without(turns: _Turns, turn: _Turn, sent: Sequence[_Turn], call: str) -> _Turn | None:
    """Return the first request on another connection that continues after a call without its
    output. None if there is none or the output arrived; `sent` are requests with the output on the
    call's own connection."""
    later = [other for other in turns.all if other.exchange.at >= turn.exchange.ended_at]
    later = [other for other in later if other.connection != turn.connection]
    is_delivered = any(output_of(call) in other.content.inputs for other in later)
    if is_delivered or not all(sent_turn.is_lost for sent_turn in sent):
        return None
    began = turns.conversation_inputs(turn)
    for other in later:
        # The same input alone is a retry, unless the client has had the output already.
        is_longer = began < other.content.inputs or (bool(sent) and began == other.content.inputs)
        if is_longer or turns.previous(other) is turn:
            return other
    return None


def _find_too_many_reconnects(session: JudgedSession) -> Iterator[Sighting]:
    """Yield connections after more than MAX_RECONNECTS lost ones in a row."""
    turns = _read_turns(session)
    rows: list[tuple[_Turn, ...]] = []
    for connection in turns.by_connection.values():
        lost = next((row for row in reversed(rows) if _resumes(turns, connection[0], row[-1])), ())
        if lost:
            rows.remove(lost)
        if len(lost) == MAX_RECONNECTS + 1:
            message = f"connected again {len(lost)} times without a whole answer in between"
            yield Sighting(message, connection[0].exchange, tuple(turn.exchange for turn in lost))
        if connection[-1].is_lost:
            in_vain = all(turn.is_lost for turn in connection)
            rows.append((*(lost if in_vain else ()), connection[-1]))


def _resumes(turns: _Turns, first: _Turn, lost: _Turn) -> bool:
    """Return whether the first request of a connection continues or repeats a lost turn."""
    previous = turns.previous(first)
    continues = previous is not None and previous.connection == lost.connection
    repeats = bool(lost.content.inputs) and lost.content.inputs <= first.content.inputs
    return first.exchange.at >= lost.exchange.ended_at and (continues or repeats)


RULES = (
    Rule(
        "input-not-resent",
        "A client did not send its whole input again after a reconnect.",
        "After `previous_response_not_found` for a response of another WebSocket: a request with "
        "all messages of the user and outputs of calls, and without `previous_response_id`.",
        "With `store: false`, an agent keeps the last response's id when it connects again.",
        "error",
        _find_inputs_not_resent,
    ),
    Rule(
        "tool-output-lost",
        "The output of a tool call was lost with its WebSocket.",
        "Calls in whole responses of a WebSocket that a fault or the client ended. If later "
        "requests continue the conversation elsewhere, one must have the call's output.",
        "A socket closes while the output is sent. The client resends its history without it.",
        "error",
        _find_lost_tool_outputs,
    ),
    Rule(
        "too-many-reconnects",
        f"A client connected again more than {MAX_RECONNECTS} times without a whole answer.",
        "WebSockets whose last answer was broken off, each followed by one that begins with the "
        f"same input or continues a response of it. Codex uses HTTP after {MAX_RECONNECTS}.",
        "A loop that opens a new socket whenever the old one closes, without a limit.",
        "warning",
        _find_too_many_reconnects,
    ),
)
