"""What conditions read off a request."""

import pytest

from scenarios_app.engine.canonical import Message, Role
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.request import (
    HeaderCondition,
    MetadataCondition,
    ModelCondition,
    PathCondition,
    ProviderCondition,
    SelectCondition,
    StreamCondition,
    TurnCondition,
)
from scenarios_app.engine.conditions.subjects import (
    RequestReader,
    Subject,
    Which,
    letter_pairs,
    sanitise_tool_name,
)
from scenarios_app.engine.conditions.tools import (
    OfferedToolCondition,
    ToolCallCondition,
    ToolResultCondition,
)
from scenarios_app.engine.parts import OpaquePart, TextPart, ToolResultPart
from tests.engine.asking import CHAT, ask, called, result, say


def texts(subject: Subject, *messages: Message | str, **fields: object) -> list[str]:
    return [text.plain for text in RequestReader(ask(*messages, **fields)).texts(subject)]  # type: ignore[arg-type]


TALK = (
    say("system", "be kind"),
    "first",
    called("get_weather"),
    result("sunny"),
    say("assistant", "it is"),
    say("user", "two", "lines"),
)


@pytest.mark.parametrize(
    ("role", "which", "expected"),
    [
        ("user", "last", ["two\nlines"]),
        ("user", "first", ["first"]),
        ("user", "any", ["first", "two\nlines"]),
        ("user", 0, ["first"]),
        ("user", 1, ["two\nlines"]),
        ("user", 2, []),
        ("user", -1, []),
        ("tool", "last", ["sunny"]),
        ("assistant", "first", [""]),
        ("user", "new", ["two\nlines"]),
        ("tool", "new", []),
        ("", "new", ["two\nlines"]),
        ("", "last", ["two\nlines"]),
        ("", "first", ["be kind"]),
        ("", 3, ["sunny"]),
        ("", "any", ["be kind", "first", "", "sunny", "it is", "two\nlines"]),
    ],
)
def test_messages_by_role_and_place(role: Role, which: Which, expected: list[str]) -> None:
    assert texts(Subject(MessageCondition.read_texts, role, which), *TALK) == expected


@pytest.mark.parametrize("which", ["last", "first", "any", "new", 0])
def test_there_is_no_message_of_a_role_that_did_not_speak(which: Which) -> None:
    assert texts(Subject(MessageCondition.read_texts, "tool", which), "hello") == []


def test_new_messages_are_those_after_the_last_answer() -> None:
    asked = (say("user", "weather?"), called("get_weather"))
    results = (result("sunny"), result("rain"))
    tool, user = (Subject(MessageCondition.read_texts, role, "new") for role in ("tool", "user"))
    assert texts(user, *asked[:1]) == ["weather?"]
    assert texts(tool, *asked, *results) == ["sunny", "rain"]
    assert texts(user, *asked, *results) == []
    # An answer that the model is asked to continue is not its last one.
    assert texts(tool, *asked, *results, say("assistant", "It is")) == ["sunny", "rain"]
    assert texts(user, say("assistant", "It is")) == []


def test_a_message_without_text_is_an_empty_text() -> None:
    image = Message("user", (OpaquePart("image"),))
    assert texts(Subject(MessageCondition.read_texts, "user"), "hello", image) == [""]


def test_the_path_is_read_raw_and_canonical() -> None:
    azure = "/openai/deployments/d/chat/completions"
    assert texts(Subject(PathCondition.read_texts), path=azure) == [azure, CHAT]
    assert texts(Subject(PathCondition.read_texts)) == [CHAT]


def test_single_facts() -> None:
    assert texts(Subject(ProviderCondition.read_texts)) == ["openai"]
    assert texts(Subject(ModelCondition.read_texts), model="m") == ["m"]
    assert texts(Subject(StreamCondition.read_texts), stream=True) == ["true"]
    assert texts(Subject(StreamCondition.read_texts)) == ["false"]
    assert texts(Subject(TurnCondition.read_texts), *TALK) == ["3"]
    assert texts(Subject(SelectCondition.read_texts), "  id \n") == ["id"]
    assert texts(Subject(HeaderCondition.read_texts, "x-a"), headers={"x-a": "1"}) == ["1"]
    assert texts(Subject(HeaderCondition.read_texts, "x-b"), headers={"x-a": "1"}) == []
    assert texts(Subject(MetadataCondition.read_texts, "a"), metadata={"a": ""}) == [""]


def test_tools_calls_and_results() -> None:
    assert texts(Subject(OfferedToolCondition.read_texts), tools=["a.b", "a_b", "c"]) == [
        "a_b",
        "c",
    ]
    assert texts(Subject(ToolCallCondition.read_texts), *TALK) == ["get_weather"]
    both = Message("tool", (ToolResultPart("1", "a", "x"), ToolResultPart("2", "b", "y")))
    assert texts(Subject(ToolResultCondition.read_texts, "content"), both) == ["x", "y"]
    assert texts(Subject(ToolResultCondition.read_texts, "tool_call_id"), both) == ["1", "2"]
    assert texts(Subject(ToolResultCondition.read_texts, "name"), both) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_weather-2", "get_weather-2"),
        ("mcp.get weather", "mcp_get_weather"),
        ("get<|channel|>_weather<|end|>", "get_weather"),
        ("a<|b", "a__b"),
        ("a<|\n|>b", "ab"),
        ("größe", "gr__e"),
        ("", ""),
    ],
)
def test_sanitised_names(name: str, expected: str) -> None:
    assert sanitise_tool_name(name) == expected


def test_a_name_full_of_open_marks_is_read_once() -> None:
    assert sanitise_tool_name("<|" * 200_000) == "__" * 200_000


def test_arguments_are_decoded_where_they_can_be() -> None:
    deep = "[" * 100_000
    talk = (called("a", '{"x": [1]}'), called("b", "{broken"), called("c", deep), called("d", ""))
    decoded = [got for _, got in RequestReader(ask(*talk)).calls]
    assert decoded == [{"x": [1]}, "{broken", deep, ""]


def test_texts_are_found_and_folded_once() -> None:
    reader = RequestReader(ask("Hello"))
    subject = Subject(MessageCondition.read_texts, "user")
    (text,) = reader.texts(subject)
    assert reader.texts(subject)[0] is text
    assert text.folded is text.folded == "hello"
    assert reader.calls is reader.calls


def test_pairs_count_the_ends() -> None:
    assert letter_pairs("ab") == {" a", "ab", "b "}
    assert letter_pairs("") == {"  "}


def test_only_the_beginning_of_a_text_has_pairs() -> None:
    (text,) = RequestReader(ask("a" * 5_000 + "b")).texts(
        Subject(MessageCondition.read_texts, "user")
    )
    assert text.pairs == {" a", "aa", "a "}


def test_text_parts_alone_make_a_text() -> None:
    mixed = Message("user", (TextPart("a"), OpaquePart("image"), TextPart("b")))
    assert texts(Subject(MessageCondition.read_texts, "user"), mixed) == ["a\nb"]
