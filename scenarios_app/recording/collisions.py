"""Notes on recordings of several files that share a name or a request."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from scenarios_app.engine.document import ScenarioDocument
from scenarios_app.engine.shapes import Problem
from scenarios_app.recording.document import TAG

MAX_NOTES: Final = 20
_WHO_ANSWERS: Final = "the first name answers, or the one in the header X-MockLLM-Scenario"


def find_collisions(
    documents: Iterable[ScenarioDocument], sources: Mapping[str, Sequence[str]]
) -> list[Problem]:
    """Return notes on recordings that share a name or a request: at most MAX_NOTES, and then one
    with the number of the others.

    `sources` are the files of each scenario by its name. Recordings of one file do not collide.
    """
    recordings = sorted(
        (document for document in documents if TAG in document.tags),
        key=lambda document: document.name,
    )
    notes = [*_merge_notes(recordings, sources), *_request_notes(recordings, sources)]
    if len(notes) > MAX_NOTES:
        more = f"and {len(notes) - MAX_NOTES} more recordings that collide"
        notes[MAX_NOTES:] = [Problem("", more)]
    return notes


def _merge_notes(
    recordings: Sequence[ScenarioDocument], sources: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Yield a note for each recording with steps of several files."""
    for document in recordings:
        first, *others = sources.get(document.name) or [""]
        if others:
            files = ", ".join(others)
            message = f"one scenario with the steps of {files}, which has the same name"
            yield Problem(document.name, message, first)


def _request_notes(
    recordings: Sequence[ScenarioDocument], sources: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Yield a note for each recording with requests that earlier ones of other files have too."""
    owners: dict[str, ScenarioDocument] = {}
    for document in recordings:
        files = sources.get(document.name, ())
        shared: Counter[str] = Counter()
        for step in document.steps:
            request = step.match.model_dump_json(exclude_defaults=True)
            owner = owners.setdefault(request, document)
            if owner is not document and files != sources.get(owner.name, ()):
                shared[owner.name] += 1
        if shared:
            names = ", ".join(sorted(shared))
            requests = f"{shared.total()} of {len(document.steps)} requests are in {names} too"
            message = f"{requests}; {_WHO_ANSWERS}"
            yield Problem(document.name, message, files[0] if files else "")
