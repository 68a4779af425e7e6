"""Limits the time and memory that the client of one connection may take: bytes of a head, and the
time for heads, bodies, idling and reading of answers. Knows no sockets; times are passed in."""

from typing import Literal, TypeAlias

# Time limit of a request's head, and of a pause within its body.
HEAD_SECONDS = 10.0
BODY_SECONDS = 25.0
# Time limit for a client that reads none of the written bytes.
UNREAD_SECONDS = 60.0
# The time limit of heads and bodies while no more connections are accepted, and the time after
# which idle connections are closed for new ones.
CROWDED_SECONDS = 3.0

# What a connection is at: new (no request has begun), in a request's head or body, answering a
# complete request, idle after an answer, refused (an error was sent, and the connection will be
# closed), or upgraded to another protocol.
State: TypeAlias = Literal["new", "head", "body", "answering", "idle", "refused", "upgraded"]
# What has to be done about a client that is too slow: close the connection, also if bytes are not
# sent yet (abort), or answer with an error first.
Remedy: TypeAlias = Literal["abort", "close", "late_head", "late_body"]


class ClientLimits:
    """The state of one connection, since when it lasts, and the limits that apply to it."""

    def __init__(self, *, max_head_bytes: int, idle_seconds: float, now: float) -> None:
        self.state: State = "new"
        self._since = now
        # Bytes of an incomplete head, or of a chunked body since its last content.
        self._head_bytes = 0
        self._max_head_bytes = max_head_bytes
        self._idle_seconds = idle_seconds
        # Unread bytes at the last check, and since when the client reads none.
        self._unread_bytes = 0
        self._unread_since = now

    @property
    def is_between_requests(self) -> bool:
        """Return True if the next byte begins a request."""
        return self.state in _BETWEEN_REQUESTS

    @property
    def is_free(self) -> bool:
        """Return True if the next request can be answered now."""
        return self.state == "idle" or self.state == "new"

    @property
    def waits_for_server(self) -> bool:
        """Return True while an answer or the next protocol has to come before more is parsed."""
        return self.state == "answering" or self.state == "upgraded"

    @property
    def is_head_too_large(self) -> bool:
        """Return True if a head, or the trailers of a body, exceed the limit."""
        return self._head_bytes > self._max_head_bytes and not self.is_between_requests

    @property
    def idle_since(self) -> float | None:
        """Return since when the connection waits for a further request, or None."""
        return self._since if self.state == "idle" else None

    def begin_head(self, now: float) -> None:
        """Begin a request. The time limit of the first one began with the connection."""
        if self.state != "new":
            self._since, self._head_bytes = now, 0
        self.state = "head"

    def begin_body(self, now: float) -> None:
        """Begin a body, after a complete head."""
        self.state, self._since, self._head_bytes = "body", now, 0

    def add_bytes(self, size: int, now: float) -> None:
        """Count received bytes, and start the time limit of a pause within a body anew."""
        self._head_bytes += size
        if self.state == "body":
            self._since = now

    def add_content(self) -> None:
        """Take the bytes so far for content of a body, which is no trailer."""
        self._head_bytes = 0

    def add_trailer(self, size: int) -> None:
        """Count a trailer, which may have come in one piece with content."""
        self._head_bytes += size

    def end_request(self, now: float, *, is_answered: bool = False) -> None:
        """End a request, which may be answered already."""
        self.state, self._since = "idle" if is_answered else "answering", now

    def end_answer(self, now: float) -> None:
        """End an answer. The rest of its request may still be missing."""
        if self.is_between_requests:
            self.state, self._since = "idle", now

    def refuse(self, now: float) -> None:
        """End all requests, since an error was sent."""
        self.state, self._since = "refused", now

    def upgrade(self) -> None:
        """End all requests, since another protocol follows."""
        self.state = "upgraded"

    def is_unread(self, now: float, unread_bytes: int) -> bool:
        """Return True if the client has read none of the written bytes for UNREAD_SECONDS. Called
        regularly with the number of unread bytes."""
        before, self._unread_bytes = self._unread_bytes, unread_bytes
        if not before or unread_bytes < before:
            self._unread_since = now
        return unread_bytes > 0 and now - self._unread_since > UNREAD_SECONDS

    def find_remedy(self, now: float, *, is_crowded: bool, is_paused: bool) -> Remedy | None:
        """Return what to do about a client that is idle or does not complete a head or body in
        time; None if it keeps the limits. `is_paused`: this server reads nothing from it."""
        waited = now - self._since
        if self.state == "idle":
            return "close" if waited > self._idle_seconds else None
        if is_paused or self.waits_for_server:
            return None
        if is_crowded and waited > CROWDED_SECONDS:
            # Closed without a response, because other clients need the descriptor.
            return "abort"
        if self.state == "refused":
            return "close"
        if self.state == "body":
            return "late_body" if waited > BODY_SECONDS else None
        if waited <= HEAD_SECONDS:
            return None
        return "late_head" if self._head_bytes else "close"


# The next byte begins a request, or belongs to the next protocol.
_BETWEEN_REQUESTS = frozenset[State]({"new", "answering", "idle", "upgraded"})
