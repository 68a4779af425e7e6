"""Sample blocks of users: each gives the answer that it describes."""

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
from tests.support.requirement_samples import BLOCKS, Sample, blocks_of_chain, each_block


def check_message_parts(kind: str, value: Any, parts: list[AnswerPart], mark: str) -> None:
    """Check that the parts of a message correspond to its kind and value."""
    part_texts = [part.text for part in parts if isinstance(part, TextPart)]
    assert all(text.startswith(mark) and text.endswith(mark) for text in part_texts)
    unmarked_texts = [text[len(mark) : len(text) - len(mark)].strip() for text in part_texts]
    match kind:
        case "tool_call":
            expected_calls = [
                ToolCallPart("", call["name"], compact_json(call["args"])) for call in value
            ]
            assert parts == expected_calls
        case "server_tool_use":
            (part,) = parts
            assert part == ServerToolUsePart(
                value["id"], value["name"], compact_json(value["input"])
            )
        case "server_tool_result":
            (part,) = parts
            assert isinstance(part, ServerToolResultPart)
            assert json.loads(part.content) == value.get("result")
            assert (part.name, part.error_code) == (value["name"], value.get("error_code"))
            assert part.tool_use_id == value.get("tool_use_id", "")
        case "text":
            assert unmarked_texts == [value]
        case "text_message" | "text_with_citations":
            (part,) = parts
            assert isinstance(part, TextPart)
            part_citations = [(c.url, c.title, c.cited_text) for c in part.citations]
            expected_citations = value.get("citations", ())
            assert part_citations == [
                (c["url"], c["title"], c["cited_text"]) for c in expected_citations
            ]
            if "text" in value:
                assert unmarked_texts == [value["text"]]
            else:
                assert len(unmarked_texts[0].split()) == value["length"]
        case _:
            assert len(unmarked_texts) == len(parts) == 1 and unmarked_texts[0]


def compact_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@each_block
def test_sample_block_gives_the_answer_that_it_describes(block: Sample) -> None:
    chain = blocks_of_chain(block)
    for turn, chain_block in enumerate(chain):
        answer = instructed_answer(block, turn)
        assert answer.label == chain_block["id"]
        for index, (message, choice) in enumerate(
            zip(chain_block["messages"], answer.answer.choices, strict=True)
        ):
            ((kind, value),) = message.items()
            has_reasoning = "reasoning" in chain_block and (index == 0 or kind == "text_message")
            assert isinstance(choice.parts[0], ReasoningPart) == has_reasoning
            check_message_parts(
                kind, value, [*choice.parts[has_reasoning:]], chain_block.get("id_message", "")
            )
    assert instructed_answer(block, len(chain)).label == "complete"


def block_keys(samples: list[Sample]) -> set[str]:
    """Return the kinds of message in blocks, and every key beside and inside them."""
    keys = set()
    for sample in samples:
        for block in blocks_of_chain(sample["block"]):
            keys |= block.keys() - {"messages"}
            for message in block["messages"]:
                ((kind, value),) = message.items()
                keys.add(kind)
                for item in value if isinstance(value, list) else [value]:
                    keys |= {f"{kind}.{key}" for key in item} if isinstance(item, dict) else set()
    return keys


def test_our_blocks_cover_every_kind_of_message() -> None:
    assert {name for name in block_keys(BLOCKS["ours"]) if name in MESSAGE_KINDS} == set(
        MESSAGE_KINDS
    )


@pytest.mark.parametrize("origin", BLOCKS)
def test_our_blocks_cover_the_keys_of_other_samples(origin: str) -> None:
    assert block_keys(BLOCKS[origin]) - block_keys(BLOCKS["ours"]) == set()
