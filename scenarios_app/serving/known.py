"""What is known before a request is read: what its head says; and of one that came before, byte for
byte, what it asks for and what it finds.

A mock is asked the same again and again, by suites that are run and by load tests. Nothing here
depends on a session, on the clock or on what was answered before.
"""

from collections import OrderedDict
from weakref import ReferenceType, ref

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.index import Candidate, Index
from scenarios_app.engine.matching.select import decide_by_id, scenario_header_of
from scenarios_app.serving.worker import MEDIUM_BYTES
from scenarios_app.wire.registry import Target

# So many requests are known; the one that was met first makes room.
MOST = 1_024


class Head(msgspec.Struct, eq=False):
    """What a call's head says, for any body: where it goes, in which session, and whether it
    has an API key. It is `admitted` once it was found to be as it must be, and `kept` by a door
    that gives it again with the next call of the same head."""

    target: Target
    session: str
    keyed: bool
    admitted: bool = False
    kept: bool = False


class Known(msgspec.Struct, eq=False):
    """A request that has come before. It is `alone` if it names no earlier answers, and then it is
    as it is once these are resolved. It is `bare` once it was seen to script no answer itself."""

    request: CanonicalRequest
    alone: bool
    bare: bool = False
    _index: "ReferenceType[Index] | None" = None
    _first: Candidate | None = None

    def first(self, index: Index) -> Candidate | None:
        """What an index offers first to sessions that still have it; None where that cannot be
        said of all of them, and where the request names what answers it."""
        if self._index is None or self._index() is not index:
            self._index, self._first = ref(index), self._look(index)
        return self._first

    def _look(self, index: Index) -> Candidate | None:
        request = self.request
        if (
            not index.order_is_stateless
            or scenario_header_of(request)
            or decide_by_id(index, request)
        ):
            return None
        return next(index.candidates(request), None)


class KnownRequests:
    """The requests of one pipeline that came last."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[tuple[Head, bytes], Known] = OrderedDict()

    def find(self, head: Head, body: bytes) -> Known | None:
        """The request of such a head and body, if it came before."""
        return self._known.get((head, body)) if head.kept else None

    def keep(self, head: Head, body: bytes, request: CanonicalRequest, *, alone: bool) -> None:
        """A request was read off these."""
        if head.kept and len(body) <= MEDIUM_BYTES:
            self._known[head, body] = Known(request, alone)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
