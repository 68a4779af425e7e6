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
MANY = 40
RECORDED = Path(__file__).parents[2] / "examples" / "recorded"


def of_recordings() -> list[ScenarioDocument]:
    files = sorted(RECORDED.glob("**/*.json"))
    return [document for file in files for document in load_text(file.read_bytes())]


def of_the_gallery() -> list[ScenarioDocument]:
    return [example.scenario for example in examples().values()]


def of_the_docs() -> list[ScenarioDocument]:
    """All that README and docs show, as few scenarios: each goes into the first that does not
    contradict it."""
    pooled: list[ScenarioDocument] = []
    for document in documented():
        for number, other in enumerate(pooled):
            if len(other.steps) >= MANY:
                continue
            same_name = document.model_copy(update={"name": other.name})
            try:
                (pooled[number],) = merge_documents([other, same_name])
            except DocumentError:
                continue
            break
        else:
            pooled.append(document.model_copy(update={"name": f"docs {len(pooled)}"}))
    return pooled


def documented() -> Iterator[ScenarioDocument]:
    blocks = (block for page in pages() for block in blocks_of(page) if block.language == "json")
    for block in blocks:
        try:
            yield from load_documents(json.loads(block.text))
        except (ValueError, DocumentError):
            # Request and response bodies, and scenarios that are wrong on purpose.
            continue
