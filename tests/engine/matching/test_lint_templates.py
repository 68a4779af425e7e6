"""Lint of texts with braces: broken templates are reported, other braces are not."""

from typing import Any

import pytest

from scenarios_app.engine.document.recorded import digest_of_answer
from tests.engine.matching.lint_helpers import hi_step, lint_steps, user_match

VARIABLES = {"city": "Paris", "hotel": {"rooms": 3}}


def quoted_templates(text: str, **step: Any) -> list[str]:
    match = user_match(contains="weather")
    suspicions = lint_steps(hi_step(match, produce={"text": text}, **step), variables=VARIABLES)
    return [suspicion.message.split("”")[0].removeprefix("“") for suspicion in suspicions]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Go to {{ city", "{{ city"),
        ("Go to {{ city. It rains.", "{{ city"),
        ("Go to {{city, then home", "{{city"),
        ("Go to {{ city and {{ hotel.rooms }}", "{{ city"),
        ("Go to {{ city\nand home", "{{ city"),
        ("Go to {{ town", "{{ town"),
        ("Go to {{ city }.", "{{ city }"),
        ("Go to {{}}.", "{{}}"),
        ("Go to {{  }}.", "{{  }}"),
        ("Go to {{ city name }}", "{{ city name }}"),
        ("Go to {{ city-name }}", "{{ city-name }}"),
        ("{{ hotel.rooms.first }}", "{{ hotel.rooms.first }}"),
        ("You said {{ request.last_user_text", "{{ request.last_user_text"),
    ],
)
def test_broken_template_is_found_and_quoted(text: str, quoted: str) -> None:
    assert quoted_templates(text) == [quoted]


@pytest.mark.parametrize(
    "text",
    [
        "Go to {{ city }} with {{ hotel.rooms }} rooms, {{{ city }}}, {{\ncity\n}}",
        '{"a": {"b": {}}}',
        "{{ user | upper }} and {{ items[0] }} and {{ 'text' }}",
        "{{#if ready}} yes {{/if}}",
        r"\frac{{a}{b}} and \mathbf{{x}_i}",
        '[]T{{Name: "x"}, {Name: "y"}}',
        'style={{ color: "red",\n fontSize: 3 }}',
        "int a[2][2] = {{1, 2}, {3, 4}};",
        "Open it with {{ and close it with }}.",
        "{{",
    ],
)
def test_other_text_in_braces_is_not_suspicious(text: str) -> None:
    assert quoted_templates(text) == []


def test_broken_template_is_placed_in_the_field_that_holds_it() -> None:
    call = {"name": "book", "arguments": {"city": "{{ city"}}
    produce = {"text": "Fine.", "reasoning": "To {{ city", "tool_calls": [call]}
    suspicions = lint_steps(hi_step(user_match(contains="weather"), produce=produce, consume=True))
    assert [(suspicion.kind, suspicion.place) for suspicion in suspicions] == [
        ("unfilled", "produce.reasoning"),
        ("unfilled", "produce.tool_calls"),
    ]


def test_long_broken_template_is_cut_in_the_message() -> None:
    [quoted] = quoted_templates("{{ city " + "long " * 20 + "}}")
    assert len(quoted) == 41 and quoted.endswith("…")


def test_named_group_of_the_step_counts_as_a_name() -> None:
    suspicions = lint_steps(
        hi_step(
            user_match(regex="to (?P<place>[a-z]+)"), produce={"text": "{{ match.place name }}"}
        )
    )
    assert [suspicion.kind for suspicion in suspicions] == ["unfilled"]


def test_recorded_answer_is_not_reported() -> None:
    answer = {"chunks": ["{}"], "of": digest_of_answer({"text": "Go to {{ city"})}
    produce = {"text": "Go to {{ city", "recorded": answer}
    match = {"path": "/v1/chat/completions", "recorded": {"body": {}}}
    assert lint_steps(hi_step(match, produce=produce), variables=VARIABLES) == []
