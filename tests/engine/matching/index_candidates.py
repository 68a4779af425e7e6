"""The step keys of an index's candidates."""

from collections.abc import Iterable

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.index import Index


def candidate_keys(
    index: Index, request: CanonicalRequest, name: str | None = None, consumed: Iterable[str] = ()
) -> list[str]:
    """Return the keys of the candidate steps for a request, in order."""
    consumed_refs = {
        (scenario.name, key) for scenario in index.by_name.values() for key in consumed
    }
    candidates = index.candidates(request, scenario=name, consumed=consumed_refs)
    return [candidate.step.key for candidate in candidates]
