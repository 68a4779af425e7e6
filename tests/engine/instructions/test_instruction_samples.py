"""Blocks as users write them: each becomes what it says."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.instructions.kinds import MESSAGE_KINDS
from scenarios_app.engine.parts import (
    AnswerPart,
    ReasoningPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.engine.instructions.blocks import instructed_answer
from tests.support.requirement_samples import BLOCKS, Sample, chain_of, each_block


def assert_says(kind: str, value: Any, parts: list[AnswerPart], mark: str) -> None:
    """That the parts of a message are those which its kind and value stand for."""
    said = [part.text for part in parts if isinstance(part, TextPart)]
    assert all(text.startswith(mark) and text.endswith(mark) for text in said)
    bare = [text[len(mark) : len(text) - len(mark)].strip() for text in said]
    match kind:
        case "tool_call":
            wanted = [ToolCallPart("", call["name"], compact(call["args"])) for call in value]
            assert parts == wanted
        case "server_tool_use":
            (part,) = parts
            assert part == ServerToolUsePart(value["id"], value["name"], compact(value["input"]))
        case "server_tool_result":
            (part,) = parts
            assert isinstance(part, ServerToolResultPart)
            assert json.loads(part.content) == value.get("result")
            assert (part.name, part.error_code) == (value["name"], value.get("error_code"))
            assert part.tool_use_id == value.get("tool_use_id", "")
        case "text":
            assert bare == [value]
        case "text_message" | "text_with_citations":
            (part,) = parts
            assert isinstance(part, TextPart)
            cited = [(c.url, c.title, c.cited_text) for c in part.citations]
            given = value.get("citations", ())
            assert cited == [(c["url"], c["title"], c["cited_text"]) for c in given]
            if "text" in value:
                assert bare == [value["text"]]
            else:
                assert len(bare[0].split()) == value["length"]
        case _:
            assert len(bare) == len(parts) == 1 and bare[0]


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@each_block
def test_blocks_of_users_become_what_they_say(block: Sample) -> None:
    chain = chain_of(block)
    for turn, one in enumerate(chain):
        found = instructed_answer(block, turn)
        assert found.label == one["id"]
        for index, (message, choice) in enumerate(
            zip(one["messages"], found.answer.choices, strict=True)
        ):
            ((kind, value),) = message.items()
            has_reasoning = "reasoning" in one and (index == 0 or kind == "text_message")
            assert isinstance(choice.parts[0], ReasoningPart) == has_reasoning
            assert_says(kind, value, [*choice.parts[has_reasoning:]], one.get("id_message", ""))
    assert instructed_answer(block, len(chain)).label == "complete"


def kinds_of(samples: list[Sample]) -> set[str]:
    """The kinds of message in blocks, and every key beside and inside them."""
    found = set()
    for sample in samples:
        for block in chain_of(sample["block"]):
            found |= block.keys() - {"messages"}
            for message in block["messages"]:
                ((kind, value),) = message.items()
                found.add(kind)
                for one in value if isinstance(value, list) else [value]:
                    found |= {f"{kind}.{key}" for key in one} if isinstance(one, dict) else set()
    return found


def test_our_blocks_have_every_kind_of_message() -> None:
    assert {name for name in kinds_of(BLOCKS["ours"]) if name in MESSAGE_KINDS} == set(
        MESSAGE_KINDS
    )


@pytest.mark.parametrize("origin", BLOCKS)
def test_our_blocks_have_whatever_others_have(origin: str) -> None:
    assert kinds_of(BLOCKS[origin]) - kinds_of(BLOCKS["ours"]) == set()
