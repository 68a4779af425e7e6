"""Build compared requests from raw parts."""

from collections.abc import Mapping

from scenarios_app.engine.recorded.requests import ComparedRequest, decode_body


def compared_request(
    method: str,
    query: Mapping[str, str],
    body: bytes | str,
    *,
    exact: frozenset[str] = frozenset(),
) -> ComparedRequest:
    return ComparedRequest(method, query, decode_body(body), exact)
