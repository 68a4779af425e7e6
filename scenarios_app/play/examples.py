"""The examples that a new scenario can start from, each with its test conversation."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scenarios_app.engine.document import ScenarioDocument
from scenarios_app.play.conversation import ConversationDocument, read_play

FOLDER = Path(__file__).parent / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """One of them; `key` names it in addresses."""

    key: str
    title: str
    description: str
    scenario: ScenarioDocument
    conversation: ConversationDocument


@cache
def examples() -> Mapping[str, Example]:
    """All of them by their keys, in the order in which they are offered."""
    return {one.key: one for one in map(_example, sorted(FOLDER.glob("*.json")))}


def _example(path: Path) -> Example:
    read = read_play(path.read_bytes(), source=path.name)
    (scenario,), (conversation,) = read.scenarios, read.conversations
    key = path.stem.partition("-")[2]
    return Example(key, read.title, read.description, scenario, conversation)
