"""Every call gets an id, the same for the same request, and results find the call they are of."""

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


def ids(*choices: tuple[AnswerPart, ...]) -> list[str]:
    """The ids of an answer's parts in order, `text` for those that have none."""
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


def seeded(prefix: str, number: int) -> str:
    return prefix + SEED.tool_call_id(number)


def call(id: str = "") -> ToolCallPart:
    return ToolCallPart(id, "f", "{}")


def use(id: str = "", name: str = "web_search") -> ServerToolUsePart:
    return ServerToolUsePart(id, name, "{}")


def gave(id: str = "", name: str = "web_search") -> ServerToolResultPart:
    return ServerToolResultPart(id, name, "null")


def test_calls_are_numbered_through_all_choices_under_the_wires_prefix() -> None:
    found = ids((call(), TextPart("x"), call()), (call(),))
    assert found == [seeded("call_", 1), "text", seeded("call_", 2), seeded("call_", 3)]


def test_scripted_ids_stay() -> None:
    assert ids((call("mine"), use("theirs"), gave("other"))) == ["mine", "theirs", "other"]


def test_a_result_is_of_the_last_use_of_its_tool_in_whatever_choice() -> None:
    found = ids((use(), use(name="web_fetch")), (use("mine"),), (gave(), gave(name="web_fetch")))
    server = [seeded("srvtoolu_", number) for number in (1, 2)]
    assert found == [*server, "mine", "mine", server[1]]


def test_a_result_of_nothing_has_an_id_of_its_own() -> None:
    assert ids((gave(), gave())) == [seeded("srvtoolu_", 1), seeded("srvtoolu_", 2)]


def test_a_choice_that_lacks_nothing_is_the_same_choice() -> None:
    choice = Choice((call("mine"), TextPart("x")), "stop")
    (made,) = assign_ids([choice], SEED, tool_call_prefix="call_")
    assert made is choice
