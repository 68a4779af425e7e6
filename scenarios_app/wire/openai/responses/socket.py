"""The rules of a Responses connection over a WebSocket: lanes, the cache of responses that are not
stored, and errors as events."""

import re
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scenarios_app.engine.canonical import ErrorAnswer, Json
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.messages import encode_create_message, read_server_message
from scenarios_app.wire.openai.responses.record import encode_items, write_record
from scenarios_app.wire.openai.responses.request import read_input
from scenarios_app.wire.openai.responses.steer import (
    MAX_STEERS,
    Steer,
    Steering,
    input_items,
    joined_items,
    read_steer_items,
    required_results,
)
from scenarios_app.wire.openai.shared import error_fields, error_type
from scenarios_app.wire.sockets import (
    CloseSocket,
    RefuseTurn,
    SendEvent,
    SocketAction,
    StartTurn,
    Turn,
)

MAX_ACTIVE: Final = 16
MAX_LANES: Final = 32
MAX_SECONDS: Final = 3_600.0
# Requests that wait for their lane, and responses that are not stored; the oldest are evicted.
MAX_WAITING_BYTES: Final = 4_194_304
MAX_CACHED_BYTES: Final = 4_194_304
# Ids of ended responses that are remembered for steering that comes too late.
MAX_ENDED: Final = 64

_STREAM_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_RESPONSE_ID = re.compile(rb'"response": ?\{"id": ?"([^"]+)"')
# An event has its response's id in its beginning.
_HEAD_BYTES = 256
_EVENT_DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)
EVENT_END = re.compile(rb"\r?\n\r?\n")
_ANSWERED = re.compile(rb'.{0,60}"type": ?"response\.(?:completed|incomplete)"')
# Headers of an HTTP response that say nothing about its error.
_PLAIN_HEADERS = frozenset({"content-length", "content-type", "transfer-encoding"})

# Fields that the same request over HTTP has not.
_OWN_FIELDS = frozenset({"type", "stream_id", "background", "generate"})
# Fields of requests whose responses cannot be steered.
_UNSTEERABLE = frozenset({"conversation", "context_management"})
_TRUE, _FALSE = msgspec.Raw(b"true"), msgspec.Raw(b"false")

_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode


class _ClientEvent(msgspec.Struct):
    """The fields of an event that concern the connection."""

    type: Any = None
    stream_id: Any = None
    background: Any = None
    generate: Any = None
    store: Any = None
    previous_response_id: Any = None


_decode_event = msgspec.json.Decoder(_ClientEvent).decode


class _WaitingTurn(Turn):
    """A request with the id of its previous response, and whether its response is to be stored."""

    previous: str | None = None
    stores: bool = True
    # Input that steers its response, and that which made this request.
    steers: list[Steer] = msgspec.field(default_factory=list)
    steered_by: Sequence[Steer] = ()


class _CachedResponse(msgspec.Struct, frozen=True):
    """A response that is not stored: its request's body, its last event, its lane, and the id of
    its previous response."""

    body: bytes
    last_event: bytes
    stream_id: str | None
    previous: str | None

    @property
    def size(self) -> int:
        return len(self.body) + len(self.last_event)


class ResponsesSocket:
    """The rules of one connection of the Responses API. Requests of one lane are answered one after
    another, those of different lanes at the same time. Holds unstored responses for later requests,
    takes input that steers a running one, and closes the connection after 60 minutes."""

    encode_request = staticmethod(encode_create_message)
    read_answer = staticmethod(read_server_message)

    def __init__(self, query: Mapping[str, str]) -> None:
        self._model = query.get("model")
        self._names: set[str] = set()
        # The requests of each lane that is in use; the first is being answered or is ready.
        self._lanes: dict[str | None, deque[_WaitingTurn]] = {}
        self._ready: deque[_WaitingTurn] = deque()
        self._active = 0
        self._waiting_bytes = 0
        self._cache: OrderedDict[str, _CachedResponse] = OrderedDict()
        self._cached_bytes = 0
        self._steering = Steering()
        # The beginnings of the last events of the latest responses.
        self._ended: deque[bytes] = deque(maxlen=MAX_ENDED)
        self._is_expired = False

    def receive(self, data: bytes) -> Sequence[SocketAction]:
        """Return the actions that follow from a text message of the client; an invalid one is
        refused."""
        turn = _WaitingTurn(data)
        try:
            event = _decode_event(data)
            if event.type == "response.processed":
                # Codex reports with it that it has handled a response; nothing follows from it.
                return ()
            if event.type == "response.steer":
                return (self._steer(_decode(data)),)
            if event.type != "response.create":
                message = f"There is no client event {event.type!r}; 'response.create' is one."
                raise WireError(400, message, param="type")
            if self._is_expired:
                return (RefuseTurn(turn, _EXPIRED),)
            self._read_request(turn, event)
            return self._admit(turn)
        except WireError as refusal:
            return (RefuseTurn(turn, refusal.answer),)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            message = "A message has to be a JSON object with a 'type', as text."
            return (RefuseTurn(turn, ErrorAnswer(400, message, code="invalid_json")),)

    def encode(self, turn: Turn, piece: bytes) -> list[bytes]:
        """Return the events in a piece of a turn's event stream. The turn keeps the first and last
        one, and the beginning of one that is not complete."""
        *whole, turn.partial = EVENT_END.split(turn.partial + piece)
        events = [b"\n".join(_EVENT_DATA.findall(event)) for event in whole]
        events = [event for event in events if event and event != b"[DONE]"]
        if not events:
            return events
        turn.first_event = turn.first_event or events[0]
        turn.last_event = events[-1]
        return (
            events if turn.stream_id is None else [_with_stream_id(turn, event) for event in events]
        )

    def encode_error(
        self, turn: Turn, status: int, headers: Sequence[tuple[str, str]], body: bytes
    ) -> bytes:
        """Return the event that stands for an HTTP response with an error."""
        shown_headers = {name: value for name, value in headers if name not in _PLAIN_HEADERS}
        error = _read_error(body, status) | {"headers": shown_headers}
        event = {"type": "error", "status": status, "error": error, "headers": shown_headers}
        return _with_stream_id(turn, encode_json(event))

    def end(self, turn: Turn, *, status: int) -> Sequence[SocketAction]:
        """Process the end of a turn, with the HTTP status of its answer; start waiting turns."""
        assert isinstance(turn, _WaitingTurn)
        lane = self._lanes[turn.stream_id]
        lane.popleft()
        self._active -= 1
        self._waiting_bytes -= len(turn.body)
        is_answered = status < 400 and _ANSWERED.match(turn.last_event) is not None
        self._ended.append(turn.last_event[:_HEAD_BYTES])
        previous = turn.previous or ""
        parent = self._cache.get(previous)
        if is_answered and not turn.stores:
            self._cache_response(turn)
        elif not is_answered and parent is not None and parent.stream_id == turn.stream_id:
            # A failure to continue a response evicts it.
            self._drop_cached(previous)
        steered = turn.steers or turn.steered_by
        events = self._end_steering(turn, lane, is_answered=is_answered) if steered else ()
        if lane:
            self._ready.append(lane[0])
        else:
            del self._lanes[turn.stream_id]
        return (*events, *self._start_ready(), *self._close_if_expired())

    def _steer(self, event: Mapping[str, Json]) -> SendEvent:
        """Queue input for a response that is being sent; return the event that accepts or refuses
        it, with its `stream_id`."""
        name, items = event.get("previous_response_id"), read_steer_items(event)
        turn = self._active_turn(name)
        body = _decode_fields(turn.body) if turn is not None else {}
        if items is None or not isinstance(name, str):
            message = "Steering takes 'previous_response_id', and messages of the user as 'input'."
            failure = "invalid_input", message
        elif turn is None and name in map(_response_id, self._ended):
            failure = "response_already_completed", "The response has ended."
        elif turn is None:
            failure = "response_not_found", "No such response is under way on this connection."
        elif not _UNSTEERABLE.isdisjoint(body):
            message = "Responses with a conversation or automatic compaction cannot be steered."
            failure = "steering_not_supported", message
        elif len(turn.steers) >= MAX_STEERS:
            failure = "too_many_pending_steers", f"{MAX_STEERS} inputs wait for this response."
        else:
            number = len(turn.steers)
            steer = Steer(f"steer_{name}_{number}", name, event["input"], items)
            turn.steers.append(steer)
            return SendEvent(_with_stream_id(turn, self._steering.accepted_event(steer)))
        returned = {"input": event.get("input"), "previous_response_id": name}
        failed = self._steering.failed_event(returned, *failure)
        return SendEvent(_with_stream_id(turn or Turn(b""), failed))

    def _active_turn(self, name: Json) -> _WaitingTurn | None:
        """Return the request whose response has this id and is being sent, or None."""
        active = (lane[0] for lane in self._lanes.values())
        return next((t for t in active if name and _response_id(t.first_event) == name), None)

    def _end_steering(
        self, turn: _WaitingTurn, lane: deque[_WaitingTurn], *, is_answered: bool
    ) -> list[SendEvent]:
        """Make the input that steered a response the next request of its lane. Return events
        instead if the response failed, or needs the results of tools first."""
        steers = turn.steers
        if not is_answered:
            events = self._steering.failed_events([*turn.steered_by, *steers])
        elif not steers:
            return []
        elif calls := required_results(turn.last_event):
            events = self._steering.keep_waiting(steers, calls)
        else:
            fields: dict[str, Any] = dict(_decode_fields(turn.body))
            fields |= {"previous_response_id": steers[0].response, "input": joined_items(steers)}
            body, name = encode_json(fields), steers[0].response
            successor = _WaitingTurn(body, turn.stream_id, previous=name, stores=turn.stores)
            successor.steered_by = steers
            self._waiting_bytes += len(body)
            lane.appendleft(successor)
            return []
        return [SendEvent(_with_stream_id(turn, event)) for event in events]

    def expire(self, age: float) -> Sequence[SocketAction]:
        """Send an error and refuse new requests if the age in seconds is beyond the limit."""
        if age < MAX_SECONDS or self._is_expired:
            return ()
        self._is_expired = True
        fields = error_fields(_EXPIRED, kind=error_type(_EXPIRED.status), code=None)
        body = encode_json({"error": fields})
        event = self.encode_error(Turn(b""), _EXPIRED.status, (), body)
        return (SendEvent(event), *self._close_if_expired())

    def _close_if_expired(self) -> Sequence[SocketAction]:
        """Return the action that closes an expired connection once no request is open."""
        if self._lanes or not self._is_expired:
            return ()
        return (CloseSocket(1000, "the connection is 60 minutes old"),)

    def _read_request(self, turn: _WaitingTurn, event: _ClientEvent) -> None:
        """Set a turn's fields from an event, and its body as over HTTP, with input that waits for
        it; raises WireError."""
        stream_id = event.stream_id
        is_valid = isinstance(stream_id, str) and _STREAM_ID.fullmatch(stream_id)
        if stream_id is not None and not is_valid:
            message = "'stream_id' has to be a text of 1 to 256 letters, digits, '_', '-' and '.'."
            raise WireError(400, message, code="invalid_stream_id", param="stream_id")
        turn.stream_id = stream_id
        if event.background is True:
            raise WireError(400, "A WebSocket has no background responses.", param="background")
        previous = event.previous_response_id
        turn.previous = previous if isinstance(previous, str) else None
        turn.stores = event.store is not False
        body = _decode_fields(turn.body)
        for name in _OWN_FIELDS & body.keys():
            del body[name]
        body["stream"] = _TRUE
        if event.generate is False:
            body["generate"] = _FALSE
        if turn.previous is not None and (waiting := self._steering.pop_waiting(turn.previous)):
            turn.steered_by = waiting
            own = input_items(_decode(body["input"])) if "input" in body else ()
            body["input"] = msgspec.Raw(encode_json([*joined_items(waiting), *own]))
        if self._model is not None:
            body.setdefault("model", msgspec.Raw(encode_json(self._model)))
        turn.body = encode_json(body)

    def _admit(self, turn: _WaitingTurn) -> Sequence[SocketAction]:
        """Queue a request in its lane, and start it if it is the lane's first; raises WireError."""
        name = turn.stream_id
        if name is not None and name not in self._names and len(self._names) >= MAX_LANES:
            message = f"This connection uses all of its {MAX_LANES} stream ids; use one of them."
            raise WireError(400, message, code="websocket_stream_limit_reached", param="stream_id")
        if self._waiting_bytes + len(turn.body) > MAX_WAITING_BYTES and self._lanes:
            message = f"The requests that wait here are larger than {MAX_WAITING_BYTES} bytes."
            raise WireError(429, message, code="too_many_waiting_requests")
        if name is not None:
            self._names.add(name)
        self._waiting_bytes += len(turn.body)
        lane = self._lanes.get(name)
        if lane is not None:
            lane.append(turn)
            return ()
        self._lanes[name] = deque((turn,))
        self._ready.append(turn)
        return self._start_ready()

    def _start_ready(self) -> Sequence[SocketAction]:
        """Start the first turns of lanes while fewer than `MAX_ACTIVE` are being answered."""
        actions = []
        while self._ready and self._active < MAX_ACTIVE:
            turn = self._ready.popleft()
            self._active += 1
            # References to items have ids, and need no type.
            if self._cache and (turn.previous is not None or b'"id"' in turn.body):
                turn.recall = self._cached_record
            actions.append(StartTurn(turn))
        return actions

    def _cache_response(self, turn: _WaitingTurn) -> None:
        """Cache a turn's response, if it has an id; evict the oldest beyond MAX_CACHED_BYTES."""
        name = _response_id(turn.last_event)
        if not name:
            return
        self._drop_cached(name)
        response = _CachedResponse(turn.body, turn.last_event, turn.stream_id, turn.previous)
        self._cache[name] = response
        self._cached_bytes += response.size
        while self._cached_bytes > MAX_CACHED_BYTES:
            self._drop_cached(next(iter(self._cache)))

    def _drop_cached(self, name: str) -> None:
        """Forget a cached response, if it is there."""
        dropped = self._cache.pop(name, None)
        self._cached_bytes -= dropped.size if dropped else 0

    def _cached_record(self, name: str) -> bytes | None:
        """Return the encoded record of a cached response, or None."""
        cached = self._cache.get(name)
        if cached is None:
            return None
        response = _decode(cached.last_event)["response"]
        items = encode_items(name.removeprefix("resp_"), read_input(_decode(cached.body)))
        return write_record(response, items=items, previous=cached.previous, stream=b"")


_EXPIRED: Final = ErrorAnswer(
    400,
    "Responses websocket connection limit reached (60 minutes). Create a new websocket connection "
    "to continue.",
    code="websocket_connection_limit_reached",
)


def _response_id(event: bytes) -> str:
    """Return the id of the response in an event, or an empty string."""
    match = _RESPONSE_ID.search(event)
    return match[1].decode() if match is not None else ""


def _with_stream_id(turn: Turn, event: bytes) -> bytes:
    """Return an event with the turn's `stream_id`, if it has one; anything but a JSON object with
    fields stays as it is."""
    if turn.stream_id is None or not event.endswith(b"}") or event == b"{}":
        return event
    return b'%b,"stream_id":"%b"}' % (event[:-1], turn.stream_id.encode())


def _read_error(body: bytes, status: int) -> dict[str, Json]:
    """Return the error in a body; a body without one is its message."""
    try:
        error = _decode(body)["error"]
    except (ValueError, LookupError, TypeError, RecursionError):
        error = None
    if isinstance(error, dict):
        return error
    message = body.decode("utf-8", "replace")
    return error_fields(ErrorAnswer(status, message), kind=error_type(status), code=None)
