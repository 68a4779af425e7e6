"""Caches what depends only on a request's bytes: the parsed head, the parsed body and the first
matching step.

Test suites and load tests send the same requests again and again. Nothing cached here depends on
a session, on the clock or on earlier requests.
"""

from collections import OrderedDict
from weakref import ReferenceType, ref

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.index import Candidate, Index
from scenarios_app.engine.matching.select import decide_by_id, scenario_header_of
from scenarios_app.serving.executor import MEDIUM_BYTES
from scenarios_app.wire.registry import Target

MAX_REQUESTS = 1_024


class RequestHead(msgspec.Struct, eq=False):
    """The parsed head of a request: its endpoint, its session and whether it has an API key.

    `is_admitted` is set once the head has passed all checks. `is_cached` is set by a transport
    that passes the same object again with the next request of the same head.
    """

    target: Target
    session: str
    has_api_key: bool
    is_admitted: bool = False
    is_cached: bool = False


class CachedRequest(msgspec.Struct, eq=False):
    """A parsed request that arrived before with the same head and body.

    `context_free` is true if the request names no stored response or conversation, so that parsing
    it again would give the same result in every session. `has_inline_script` is false once the
    request was found to hold no instruction block.
    """

    request: CanonicalRequest
    context_free: bool
    has_inline_script: bool = True
    _index: "ReferenceType[Index] | None" = None
    _first_match: Candidate | None = None

    def first_match(self, index: Index) -> Candidate | None:
        """Return the step that matches first in a session that has not consumed it.

        Returns None if the order depends on consumed steps, or if the request names its scenario.
        """
        if self._index is None or self._index() is not index:
            self._index, self._first_match = ref(index), self._find_first_match(index)
        return self._first_match

    def _find_first_match(self, index: Index) -> Candidate | None:
        request = self.request
        if (
            not index.order_is_stateless
            or scenario_header_of(request)
            or decide_by_id(index, request)
        ):
            return None
        return next(index.candidates(request), None)


class RequestCache:
    """The most recent requests of one pipeline, keyed by head and body; the oldest is evicted."""

    def __init__(self, max_requests: int = MAX_REQUESTS) -> None:
        self._max_requests = max_requests
        self._requests: OrderedDict[tuple[RequestHead, bytes], CachedRequest] = OrderedDict()

    def get(self, head: RequestHead, body: bytes) -> CachedRequest | None:
        """Return the cached request for this head and body, or None."""
        return self._requests.get((head, body)) if head.is_cached else None

    def add(
        self, head: RequestHead, body: bytes, request: CanonicalRequest, *, context_free: bool
    ) -> None:
        """Cache a request whose head is cached, unless its body exceeds MEDIUM_BYTES."""
        if head.is_cached and len(body) <= MEDIUM_BYTES:
            self._requests[head, body] = CachedRequest(request, context_free)
            if len(self._requests) > self._max_requests:
                self._requests.popitem(last=False)
