"""Instruction blocks in few words: a request that holds one, and what is made of it."""

import json
from typing import Any

from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer, Json
from scenarios_app.engine.instructions import END, START, InstructedAnswer, build_instructed_answer
from scenarios_app.engine.instructions.kinds import MESSAGE_KINDS
from scenarios_app.engine.instructions.probes import Received
from scenarios_app.engine.parts import AnswerPart, ReasoningPart, TextPart, ToolCallPart
from tests.engine.asking import ask, say

RECEIVED = Received(
    url="/v1/chat/completions?beta=true",
    headers={"x-team": "qa", "authorization": "Bearer ***1234"},
    body={"model": "gpt-4o", "temperature": 0.5, "tools": [{"type": "function"}]},
)


def marked(block: Json) -> str:
    """A user message with a block; text stands for JSON as it is."""
    text = block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)
    return f"Do it. {START}{text}{END} Thank you."


def asking(block: Json, answered: int = 0, **fields: Any) -> CanonicalRequest:
    """A request with a block, and so many assistant messages after it."""
    turns = [say("assistant", "done") for _ in range(answered)]
    return ask(marked(block), *turns, **fields)


def build_block_answer(
    request: CanonicalRequest, limit: int = 2_000_000
) -> InstructedAnswer | ErrorAnswer | None:
    return build_instructed_answer(request, lambda: RECEIVED, max_text_bytes=limit)


def instructed_answer(block: Json, answered: int = 0, **fields: Any) -> InstructedAnswer:
    answer = build_block_answer(asking(block, answered, **fields))
    assert isinstance(answer, InstructedAnswer), answer
    return answer


def choices(block: Json, answered: int = 0, **fields: Any) -> list[tuple[AnswerPart, ...]]:
    """The parts of each of the answer's choices."""
    return [choice.parts for choice in instructed_answer(block, answered, **fields).answer.choices]


def message(**kinds: Json) -> dict[str, Json]:
    """A block of one message."""
    return {"messages": [kinds]}


def part(block: Json, **fields: Any) -> AnswerPart:
    """The only part of the only choice."""
    ((answer_part,),) = choices(block, **fields)
    return answer_part


def text(block: Json, **fields: Any) -> str:
    answer_part = part(block, **fields)
    assert isinstance(answer_part, TextPart)
    return answer_part.text


def texts(parts: tuple[AnswerPart, ...]) -> list[tuple[type[AnswerPart], str]]:
    return [
        (type(p), p.arguments if isinstance(p, ToolCallPart) else p.text)
        for p in parts
        if isinstance(p, TextPart | ReasoningPart | ToolCallPart)
    ]


def problem(block: Json, limit: int = 2_000_000) -> str:
    answer = build_block_answer(asking(block), limit)
    assert isinstance(answer, ErrorAnswer), answer
    assert (answer.status, answer.param) == (400, "messages")
    return answer.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
KEYS = st.sampled_from(
    ["id", "id_message", "reasoning", "messages", "cancel_after_chunks", "instruction_chain"]
)
KIND_NAMES = st.sampled_from(sorted(MESSAGE_KINDS))
INNER = st.dictionaries(
    st.sampled_from(["length", "name", "args", "text", "citations", "fields", "input", "result"]),
    JSON | st.integers(0, 50) | st.text(max_size=5),
)
MESSAGES = st.lists(
    st.dictionaries(KIND_NAMES, INNER | st.lists(INNER, max_size=3) | JSON, max_size=2), max_size=3
)
BLOCKS = st.fixed_dictionaries(
    {}, optional={"messages": MESSAGES, "reasoning": INNER, "id_message": st.text(max_size=5)}
)


CHAINS = st.lists(BLOCKS).map(lambda chain: {"instruction_chain": chain})
ANY_BLOCKS = st.dictionaries(KEYS, JSON) | BLOCKS | CHAINS
"""Blocks of which some are right and most are wrong."""

_TEXT = st.text(st.sampled_from('ab \n"\\é🙂\u2028') | st.characters(codec="utf-8"), max_size=12)
_NAME = st.text(st.sampled_from("ab_é"), min_size=1, max_size=5)
_LENGTH = st.fixed_dictionaries({"length": st.integers(0, 40)})
_CITATION = st.fixed_dictionaries({}, optional={"url": _TEXT, "title": _TEXT, "cited_text": _TEXT})
_OBJECTS = st.dictionaries(_NAME, JSON, max_size=3)
RIGHT_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text_message": _LENGTH,
    "text": _TEXT,
    "tool_call": st.lists(
        st.fixed_dictionaries({"name": _NAME}, optional={"args": _OBJECTS}),
        min_size=1,
        max_size=3,
    ),
    "server_tool_use": st.fixed_dictionaries(
        {"name": st.sampled_from(["web_search", "mine"])}, optional={"input": _OBJECTS}
    ),
    "server_tool_result": st.fixed_dictionaries(
        {"name": st.sampled_from(["web_search", "mine"])},
        optional={"result": JSON, "error_code": _NAME},
    ),
    "text_with_citations": st.fixed_dictionaries(
        {"text": _TEXT}, optional={"citations": st.lists(_CITATION, max_size=2)}
    ),
    "system_prompt_echo": st.just({}),
    "tools_list": st.just({}),
    "tools_echo": st.just({}),
    "tool_schema": st.fixed_dictionaries({"name": _NAME}),
    "request_url_echo": st.just({}),
    "request_headers_echo": st.just({}),
    "request_params_echo": st.just({"fields": ["model", "nothing"]}),
}
RIGHT_BLOCKS = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.sampled_from(sorted(RIGHT_KINDS)).flatmap(
                lambda kind: RIGHT_KINDS[kind].map(lambda value: {kind: value})
            ),
            min_size=1,
            max_size=5,
        )
    },
    optional={"id": _TEXT, "id_message": _TEXT, "reasoning": _LENGTH},
)
"""Blocks with nothing wrong in them, that say the same whether they are streamed or not."""
