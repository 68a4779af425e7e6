"""Generated ids of calls, and the ids of the calls that results refer to."""

from scenarios_app.engine.canonical import Choice
from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.producing.produce import Seed, assign_ids

SEED = Seed("5eed")


def assigned_ids(*choices: tuple[AnswerPart, ...]) -> list[str]:
    """Return the ids of an answer's parts in order, `text` for parts without an id."""
    choices_with_ids = assign_ids(
        [Choice(parts, "stop") for parts in choices], SEED, tool_call_prefix="call_"
    )
    return [_id(part) for choice in choices_with_ids for part in choice.parts]


def _id(part: AnswerPart) -> str:
    match part:
        case ToolCallPart() | ServerToolUsePart():
            return part.id
        case ServerToolResultPart():
            return part.tool_use_id
        case _:
            return "text"


def expected_id(prefix: str, number: int) -> str:
    return prefix + SEED.tool_call_id(number)


def call(id: str = "") -> ToolCallPart:
    return ToolCallPart(id, "f", "{}")


def server_tool_use(id: str = "", name: str = "web_search") -> ServerToolUsePart:
    return ServerToolUsePart(id, name, "{}")


def server_tool_result(id: str = "", name: str = "web_search") -> ServerToolResultPart:
    return ServerToolResultPart(id, name, "null")


def test_calls_are_numbered_across_choices_with_the_prefix() -> None:
    part_ids = assigned_ids((call(), TextPart("x"), call()), (call(),))
    assert part_ids == [
        expected_id("call_", 1),
        "text",
        expected_id("call_", 2),
        expected_id("call_", 3),
    ]


def test_scripted_ids_stay() -> None:
    assert assigned_ids((call("mine"), server_tool_use("theirs"), server_tool_result("other"))) == [
        "mine",
        "theirs",
        "other",
    ]


def test_result_has_the_id_of_the_last_use_of_its_tool() -> None:
    part_ids = assigned_ids(
        (server_tool_use(), server_tool_use(name="web_fetch")),
        (server_tool_use("mine"),),
        (server_tool_result(), server_tool_result(name="web_fetch")),
    )
    use_ids = [expected_id("srvtoolu_", number) for number in (1, 2)]
    assert part_ids == [*use_ids, "mine", "mine", use_ids[1]]


def test_result_without_a_use_gets_a_new_id() -> None:
    assert assigned_ids((server_tool_result(), server_tool_result())) == [
        expected_id("srvtoolu_", 1),
        expected_id("srvtoolu_", 2),
    ]


def test_choice_with_all_ids_is_returned_unchanged() -> None:
    choice = Choice((call("mine"), TextPart("x")), "stop")
    (choice_with_ids,) = assign_ids([choice], SEED, tool_call_prefix="call_")
    assert choice_with_ids is choice
