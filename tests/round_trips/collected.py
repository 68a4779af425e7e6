"""The scenario documents that come with the product: recordings, the gallery, the docs."""

import json
from collections.abc import Iterator
from pathlib import Path

from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    load_documents,
    load_text,
    merge_documents,
)
from scenarios_app.play.conversation import examples
from tests.docs.blocks import blocks_of, pages

# Longer pages are slow.
MAX_STEPS = 40
RECORDINGS = Path(__file__).parents[2] / "examples" / "recorded"


def recorded_documents() -> list[ScenarioDocument]:
    files = sorted(RECORDINGS.glob("**/*.json"))
    return [document for file in files for document in load_text(file.read_bytes())]


def gallery_documents() -> list[ScenarioDocument]:
    return [example.scenario for example in examples().values()]


def docs_documents() -> list[ScenarioDocument]:
    """Return the steps shown in README and docs, packed into few scenarios.

    Each document is merged into the first scenario that it does not contradict.
    """
    packed_documents: list[ScenarioDocument] = []
    for document in documented():
        for number, other in enumerate(packed_documents):
            if len(other.steps) >= MAX_STEPS:
                continue
            same_name = document.model_copy(update={"name": other.name})
            try:
                (packed_documents[number],) = merge_documents([other, same_name])
            except DocumentError:
                continue
            break
        else:
            packed_documents.append(
                document.model_copy(update={"name": f"docs {len(packed_documents)}"})
            )
    return packed_documents


def documented() -> Iterator[ScenarioDocument]:
    blocks = (block for page in pages() for block in blocks_of(page) if block.language == "json")
    for block in blocks:
        try:
            yield from load_documents(json.loads(block.text))
        except (ValueError, DocumentError):
            # Request and response bodies, and scenarios that are wrong on purpose.
            continue
