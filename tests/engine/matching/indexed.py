"""The candidates that an index offers, as the keys of their steps."""

from collections.abc import Iterable

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.index import Index


def keys(
    index: Index, request: CanonicalRequest, name: str | None = None, consumed: Iterable[str] = ()
) -> list[str]:
    gone = {(one.name, key) for one in index.by_name.values() for key in consumed}
    candidates = index.candidates(request, scenario=name, consumed=gone)
    return [candidate.step.key for candidate in candidates]
