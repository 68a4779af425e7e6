"""Templates: which braces are templates, what goes in, and that it is looked at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.parts import Chunk, TextPart, ToolCallPart
from scenarios_app.engine.producing.placeholders import (
    BRACES,
    OPENING,
    escape_placeholders,
    fill_placeholders,
    has_placeholders,
    placeholder_names,
    placeholder_values,
    unknown_names,
)
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, ScriptedChoice
from tests.engine.asking import ask, say


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ city }}", "Paris"),
        ("{{city}} and {{\tcity\n}}", "Paris and Paris"),
        ("{{ user.name }}", "Ann"),
        ('{"q": "{{ city }}"}', '{"q": "Paris"}'),
        ("{{{ city }}}", "{Paris}"),
        ("{{ größe }}", "groß"),
    ],
)
def test_names_are_filled(text: str, expected: str) -> None:
    values = {"city": "Paris", "user.name": "Ann", "größe": "groß"}
    assert fill_placeholders(text, values) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("{{ 7*7 }}", "{{ city | upper }}", "{{ city.a.b }}", "{{ .city }}", "{{ city. }}"),
        *("{{ }}", "{{}}", "{ city }", "{{ city }", "{{ 'city' }}", "{{ 1city }}", "{{ ci ty }}"),
        *("{{ city() }}", "{% if city %}", "{{ city[0] }}", "{{ user .name }}", "${city}"),
    ],
)
def test_anything_else_in_braces_is_text(text: str) -> None:
    assert fill_placeholders(text, {"city": "Paris", "user.name": "Ann", "7": "x"}) == text
    assert placeholder_names(text) == ()


def test_values_are_not_looked_at_again() -> None:
    values = {"a": "{{ b }}", "b": "{{ a }}", "open": "{{", "close": "}}"}
    assert fill_placeholders("{{ a }}{{ b }}", values) == "{{ b }}{{ a }}"
    assert fill_placeholders("{{ open }} a {{ close }}", values) == "{{ a }}"


def test_values_go_in_as_they_are() -> None:
    value = '\\1 \\g<0> \\n $& " & < \x00'
    assert fill_placeholders("<{{ a }}>", {"a": value}) == f"<{value}>"


def test_a_name_without_a_value_stays() -> None:
    assert fill_placeholders("{{ a }} {{ b }}", {"a": "1"}) == "1 {{ b }}"


@pytest.mark.parametrize("unit", ["{{ ", "{{a", "{{ a.", "{{" + " " * 1_000, "{"])
def test_a_text_of_open_braces_is_read_once(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    assert fill_placeholders(text, {"a": "1"}) == text


def slowly(text: str, values: dict[str, str]) -> str:
    """The same by hand: at each place, what stands between two braces and the next two."""
    out, at = "", 0
    while at < len(text):
        end = text.find("}}", at + 2)
        name = text[at + 2 : end].strip() if text.startswith("{{", at) and end >= 0 else ""
        if name in values:
            out, at = out + values[name], end + 2
        else:
            out, at = out + text[at], at + 1
    return out


@given(
    st.lists(st.sampled_from(["{", "{{", "}", "}}", " ", "a", "b", ".", "a.b", "\n"])).map("".join),
    st.text("{} .ab", max_size=6),
)
def test_the_same_as_by_hand(text: str, value: str) -> None:
    values = {"a": value, "b": "{{ a }}", "a.b": "{{", "ab": "}}"}
    assert fill_placeholders(text, values) == slowly(text, values)
    assert fill_placeholders(text, {}) == text


def test_names_are_told_once_in_order() -> None:
    assert placeholder_names("{{ b }} {{a.x}} {{ b }} {{ c }}") == ("b", "a.x", "c")


VARIABLES = {
    "city": "Paris",
    "days": 3,
    "share": 0.5,
    "sure": True,
    "nothing": None,
    "list": [1, "é"],
    "user": {"name": "Ann", "age": 7, "tags": ["x"]},
}


def test_variables_are_strings_or_their_json() -> None:
    values = placeholder_values(Scenario("s", variables=VARIABLES), ask(), {})  # type: ignore[arg-type]
    assert {name: values[name] for name in values if not name.startswith("request.")} == {
        "city": "Paris",
        "days": "3",
        "share": "0.5",
        "sure": "true",
        "nothing": "null",
        "list": '[1,"é"]',
        "user": '{"name":"Ann","age":7,"tags":["x"]}',
        "user.name": "Ann",
        "user.age": "7",
        "user.tags": '["x"]',
    }


def test_the_request_and_its_groups_have_names() -> None:
    request = ask("one", say("assistant", "two"), "three")
    values = placeholder_values(Scenario("s"), request, {"city": "Rome"})
    assert values == {
        "request.model": "gpt-4o",
        "request.last_user_text": "three",
        "request.turn": "2",
        "match.city": "Rome",
    }


def test_captured_group_contains_no_secret_of_the_request() -> None:
    secret = "sk-abcdef-1234567890"
    request = ask("x", headers={"authorization": f"Bearer {secret}"})
    values = placeholder_values(Scenario("s"), request, {"key": f"it is {secret}"})
    assert secret not in values["match.key"] and values["match.key"].startswith("it is ")


def test_a_text_is_written_so_that_it_is_filled_to_itself() -> None:
    text = "{{ city }} and {{user.name}} {"
    assert fill_placeholders(escape_placeholders(text), {BRACES: OPENING}) == text
    assert escape_placeholders("city") == "city"


def test_a_variable_does_not_hide_the_request() -> None:
    shadow = Scenario("s", variables={"request": {"model": "mine", "other": "x"}})
    values = placeholder_values(shadow, ask(), {})
    assert (values["request.model"], values["request.other"]) == ("gpt-4o", "x")


def test_unknown_names() -> None:
    text = (
        "{{ city }} {{ user.name }} {{ user.nobody }} {{ town }} {{ match.place }} "
        "{{ match.other }} {{ request.model }} {{ request.last_user_text }} {{ request.turn }} "
        "{{ request.path }}"
    )
    assert unknown_names(text, VARIABLES, groups=("place",)) == (  # type: ignore[arg-type]
        "user.nobody",
        "town",
        "match.other",
        "request.path",
    )
    assert unknown_names("no names", {}) == ()


@pytest.mark.parametrize(
    ("choice", "templates"),
    [
        (ScriptedChoice((TextPart("plain { text }"),)), False),
        (ScriptedChoice((TextPart("{{ request.model }}"),)), True),
        (ScriptedChoice((ToolCallPart("", "f", '{"a": "{{ b }}"}'),)), True),
        (ScriptedChoice((TextPart("ab"),), chunks=(Chunk(0, "a"), Chunk(0, "{{ b }}"))), True),
    ],
)
def test_whether_an_answer_has_templates_is_seen_in_all_of_its_texts(
    choice: ScriptedChoice, templates: bool
) -> None:
    assert has_placeholders(ScriptedAnswer((ScriptedChoice(), choice))) is templates
