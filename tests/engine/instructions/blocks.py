"""Requests with instruction blocks, and the answers built from them."""

import json
from typing import Any

from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer, Json
from scenarios_app.engine.instructions import END, START, InstructedAnswer, build_instructed_answer
from scenarios_app.engine.instructions.kinds import MESSAGE_KINDS
from scenarios_app.engine.instructions.probes import Received
from scenarios_app.engine.parts import AnswerPart, ReasoningPart, TextPart, ToolCallPart
from tests.engine.match_builders import chat_request, text_message

RECEIVED = Received(
    url="/v1/chat/completions?beta=true",
    headers={"x-team": "qa", "authorization": "Bearer ***1234"},
    body={"model": "gpt-4o", "temperature": 0.5, "tools": [{"type": "function"}]},
)


def text_with_block(block: Json) -> str:
    """Return a user text with a block; a string is used as JSON without encoding."""
    text = block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)
    return f"Do it. {START}{text}{END} Thank you."


def request_with_block(block: Json, assistant_turns: int = 0, **fields: Any) -> CanonicalRequest:
    """Return a request with a block, followed by the given number of assistant messages."""
    turns = [text_message("assistant", "done") for _ in range(assistant_turns)]
    return chat_request(text_with_block(block), *turns, **fields)


def build_block_answer(
    request: CanonicalRequest, limit: int = 2_000_000
) -> InstructedAnswer | ErrorAnswer | None:
    return build_instructed_answer(request, lambda: RECEIVED, max_text_bytes=limit)


def instructed_answer(block: Json, assistant_turns: int = 0, **fields: Any) -> InstructedAnswer:
    answer = build_block_answer(request_with_block(block, assistant_turns, **fields))
    assert isinstance(answer, InstructedAnswer), answer
    return answer


def choice_parts(
    block: Json, assistant_turns: int = 0, **fields: Any
) -> list[tuple[AnswerPart, ...]]:
    """Return the parts of each choice of the answer."""
    return [
        choice.parts
        for choice in instructed_answer(block, assistant_turns, **fields).answer.choices
    ]


def block_of_message(**kinds: Json) -> dict[str, Json]:
    """Return a block of one message."""
    return {"messages": [kinds]}


def only_part(block: Json, **fields: Any) -> AnswerPart:
    """Return the only part of the only choice."""
    ((answer_part,),) = choice_parts(block, **fields)
    return answer_part


def only_text(block: Json, **fields: Any) -> str:
    answer_part = only_part(block, **fields)
    assert isinstance(answer_part, TextPart)
    return answer_part.text


def part_texts(parts: tuple[AnswerPart, ...]) -> list[tuple[type[AnswerPart], str]]:
    return [
        (type(p), p.arguments if isinstance(p, ToolCallPart) else p.text)
        for p in parts
        if isinstance(p, TextPart | ReasoningPart | ToolCallPart)
    ]


def block_error(block: Json, limit: int = 2_000_000) -> str:
    answer = build_block_answer(request_with_block(block), limit)
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
MESSAGE_FIELDS = st.dictionaries(
    st.sampled_from(["length", "name", "args", "text", "citations", "fields", "input", "result"]),
    JSON | st.integers(0, 50) | st.text(max_size=5),
)
MESSAGES = st.lists(
    st.dictionaries(
        KIND_NAMES, MESSAGE_FIELDS | st.lists(MESSAGE_FIELDS, max_size=3) | JSON, max_size=2
    ),
    max_size=3,
)
BLOCKS = st.fixed_dictionaries(
    {},
    optional={"messages": MESSAGES, "reasoning": MESSAGE_FIELDS, "id_message": st.text(max_size=5)},
)


CHAINS = st.lists(BLOCKS).map(lambda chain: {"instruction_chain": chain})
ANY_BLOCKS = st.dictionaries(KEYS, JSON) | BLOCKS | CHAINS
"""Random blocks, most of them invalid."""

_TEXT = st.text(st.sampled_from('ab \n"\\é🙂\u2028') | st.characters(codec="utf-8"), max_size=12)
_NAME = st.text(st.sampled_from("ab_é"), min_size=1, max_size=5)
_LENGTH = st.fixed_dictionaries({"length": st.integers(0, 40)})
_CITATION = st.fixed_dictionaries({}, optional={"url": _TEXT, "title": _TEXT, "cited_text": _TEXT})
_OBJECTS = st.dictionaries(_NAME, JSON, max_size=3)
VALID_KINDS: dict[str, st.SearchStrategy[Any]] = {
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
VALID_BLOCKS = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.sampled_from(sorted(VALID_KINDS)).flatmap(
                lambda kind: VALID_KINDS[kind].map(lambda value: {kind: value})
            ),
            min_size=1,
            max_size=5,
        )
    },
    optional={"id": _TEXT, "id_message": _TEXT, "reasoning": _LENGTH},
)
"""Valid blocks that give the same answer with and without streaming."""
