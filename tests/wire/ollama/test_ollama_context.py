"""Conversations encoded in the numbers of `context`."""

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import OpaquePart, TextPart
from scenarios_app.wire.ollama.fields import MAX_CONTEXT_NUMBERS, decode_context, encode_context
from tests.wire.ollama.ollama_cases import answer, parse_body, parse_generate, render

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TURNS = st.tuples(st.sampled_from(["user", "assistant"]), TEXTS)


@given(st.lists(TURNS, max_size=6))
def test_context_decodes_to_the_same_conversation(turns: list[tuple[str, str]]) -> None:
    messages = tuple(Message(role, (TextPart(text),)) for role, text in turns)
    numbers = encode_context(messages)
    assert all(0 <= number < 65_536 for number in numbers)
    assert decode_context(numbers) == messages


def test_context_has_only_texts_of_user_and_assistant() -> None:
    messages = (
        Message("system", (TextPart("s"),)),
        Message("user", (TextPart("u"), OpaquePart("image"))),
    )
    assert decode_context(encode_context(messages)) == (Message("user", (TextPart("u"),)),)


def test_oldest_messages_are_dropped_from_a_long_context() -> None:
    messages = [Message("user", (TextPart(f"{i}" * 9_000),)) for i in range(9)]
    numbers = encode_context(messages)
    assert len(numbers) <= MAX_CONTEXT_NUMBERS
    assert decode_context(numbers) == tuple(messages[-3:])
    assert decode_context(encode_context([Message("user", (TextPart("x" * 40_000),))])) == ()


@given(st.lists(st.integers(-(2**70), 2**70) | st.integers(0, 65_535), max_size=20))
def test_any_numbers_are_decoded(numbers: list[int]) -> None:
    assert isinstance(decode_context(numbers), tuple)


def pack_text(text: str) -> list[int]:
    return [int.from_bytes(text.encode()[i : i + 2], "little") for i in range(0, len(text), 2)]


def test_json_of_another_shape_decodes_to_no_messages() -> None:
    for text in ('{"a":1} ', "[1] ", '[["system","x"]] ', '[["user",1]]', "null"):
        assert decode_context(pack_text(text)) == ()
    assert decode_context(pack_text("[" * 5_000)) == ()


def test_context_continues_a_conversation() -> None:
    first = parse_generate("Who are you?", system="Be brief.")
    body = render(first, answer([TextPart("A mock.")]))
    second = parse_body(
        {"model": "m", "prompt": "Really?", "system": "Be long.", "context": body["context"]},
        "generate",
    )
    assert [(m.role, m.text) for m in second.messages] == [
        ("system", "Be long."),
        ("user", "Who are you?"),
        ("assistant", "A mock."),
        ("user", "Really?"),
    ]
    assert (second.turn, second.first_user_text) == (2, "Who are you?")
