"""Texts and calls that conditions read from a request."""

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
from tests.engine.match_builders import (
    CHAT,
    chat_request,
    text_message,
    tool_call_message,
    tool_result_message,
)


def read_texts(subject: Subject, *messages: Message | str, **fields: object) -> list[str]:
    return [text.plain for text in RequestReader(chat_request(*messages, **fields)).texts(subject)]


CONVERSATION = (
    text_message("system", "be kind"),
    "first",
    tool_call_message("get_weather"),
    tool_result_message("sunny"),
    text_message("assistant", "it is"),
    text_message("user", "two", "lines"),
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
def test_messages_are_read_by_role_and_position(
    role: Role, which: Which, expected: list[str]
) -> None:
    assert read_texts(Subject(MessageCondition.read_texts, role, which), *CONVERSATION) == expected


@pytest.mark.parametrize("which", ["last", "first", "any", "new", 0])
def test_role_without_messages_has_no_texts(which: Which) -> None:
    assert read_texts(Subject(MessageCondition.read_texts, "tool", which), "hello") == []


def test_new_messages_are_those_after_the_last_answer() -> None:
    call_messages = (text_message("user", "weather?"), tool_call_message("get_weather"))
    result_messages = (tool_result_message("sunny"), tool_result_message("rain"))
    tool_subject, user_subject = (
        Subject(MessageCondition.read_texts, role, "new") for role in ("tool", "user")
    )
    assert read_texts(user_subject, *call_messages[:1]) == ["weather?"]
    assert read_texts(tool_subject, *call_messages, *result_messages) == ["sunny", "rain"]
    assert read_texts(user_subject, *call_messages, *result_messages) == []
    # An answer that the model is asked to continue is not its last one.
    assert read_texts(
        tool_subject, *call_messages, *result_messages, text_message("assistant", "It is")
    ) == ["sunny", "rain"]
    assert read_texts(user_subject, text_message("assistant", "It is")) == []


def test_a_message_without_text_is_an_empty_text() -> None:
    image = Message("user", (OpaquePart("image"),))
    assert read_texts(Subject(MessageCondition.read_texts, "user"), "hello", image) == [""]


def test_the_path_is_read_raw_and_canonical() -> None:
    azure = "/openai/deployments/d/chat/completions"
    assert read_texts(Subject(PathCondition.read_texts), path=azure) == [azure, CHAT]
    assert read_texts(Subject(PathCondition.read_texts)) == [CHAT]


def test_fields_of_the_request_are_read_as_texts() -> None:
    assert read_texts(Subject(ProviderCondition.read_texts)) == ["openai"]
    assert read_texts(Subject(ModelCondition.read_texts), model="m") == ["m"]
    assert read_texts(Subject(StreamCondition.read_texts), stream=True) == ["true"]
    assert read_texts(Subject(StreamCondition.read_texts)) == ["false"]
    assert read_texts(Subject(TurnCondition.read_texts), *CONVERSATION) == ["3"]
    assert read_texts(Subject(SelectCondition.read_texts), "  id \n") == ["id"]
    assert read_texts(Subject(HeaderCondition.read_texts, "x-a"), headers={"x-a": "1"}) == ["1"]
    assert read_texts(Subject(HeaderCondition.read_texts, "x-b"), headers={"x-a": "1"}) == []
    assert read_texts(Subject(MetadataCondition.read_texts, "a"), metadata={"a": ""}) == [""]


def test_names_of_tools_calls_and_results_are_read_as_texts() -> None:
    assert read_texts(Subject(OfferedToolCondition.read_texts), tools=["a.b", "a_b", "c"]) == [
        "a_b",
        "c",
    ]
    assert read_texts(Subject(ToolCallCondition.read_texts), *CONVERSATION) == ["get_weather"]
    two_results = Message("tool", (ToolResultPart("1", "a", "x"), ToolResultPart("2", "b", "y")))
    assert read_texts(Subject(ToolResultCondition.read_texts, "content"), two_results) == ["x", "y"]
    assert read_texts(Subject(ToolResultCondition.read_texts, "tool_call_id"), two_results) == [
        "1",
        "2",
    ]
    assert read_texts(Subject(ToolResultCondition.read_texts, "name"), two_results) == ["a", "b"]


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
def test_tool_names_are_sanitised(name: str, expected: str) -> None:
    assert sanitise_tool_name(name) == expected


def test_name_full_of_open_marks_is_sanitised_in_linear_time() -> None:
    assert sanitise_tool_name("<|" * 200_000) == "__" * 200_000


def test_arguments_are_decoded_if_they_are_valid_json() -> None:
    deep = "[" * 100_000
    messages = (
        tool_call_message("a", '{"x": [1]}'),
        tool_call_message("b", "{broken"),
        tool_call_message("c", deep),
        tool_call_message("d", ""),
    )
    decoded = [arguments for _, arguments in RequestReader(chat_request(*messages)).calls]
    assert decoded == [{"x": [1]}, "{broken", deep, ""]


def test_texts_and_calls_are_read_once() -> None:
    reader = RequestReader(chat_request("Hello"))
    subject = Subject(MessageCondition.read_texts, "user")
    (text,) = reader.texts(subject)
    assert reader.texts(subject)[0] is text
    assert text.folded is text.folded == "hello"
    assert reader.calls is reader.calls


def test_letter_pairs_include_both_ends() -> None:
    assert letter_pairs("ab") == {" a", "ab", "b "}
    assert letter_pairs("") == {"  "}


def test_letter_pairs_cover_only_the_beginning_of_a_text() -> None:
    (text,) = RequestReader(chat_request("a" * 5_000 + "b")).texts(
        Subject(MessageCondition.read_texts, "user")
    )
    assert text.pairs == {" a", "aa", "a "}


def test_text_of_a_message_joins_its_text_parts_only() -> None:
    mixed = Message("user", (TextPart("a"), OpaquePart("image"), TextPart("b")))
    assert read_texts(Subject(MessageCondition.read_texts, "user"), mixed) == ["a\nb"]
