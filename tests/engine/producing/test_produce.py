"""A step and a request make one answer: picked, repeated, identified, counted, limited."""

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    ErrorAnswer,
    Message,
    Usage,
)
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.parts import AnswerPart, TextPart, ToolCallPart
from scenarios_app.engine.producing.produce import (
    MAX_TEXT_BYTES,
    Seed,
    build_response,
    error_turn,
    produce,
)
from scenarios_app.engine.scenario import (
    Answer,
    Produce,
    RawAnswer,
    Scenario,
    ScriptedAnswer,
    ScriptedChoice,
    ScriptedUsage,
    Step,
)

SEED = Seed("ab")
RAW = RawAnswer(status=418, body=b"{{ city }}")


def scripted_answer_of(*parts: AnswerPart | str, **options: object) -> ScriptedAnswer:
    choice = ScriptedChoice(tuple(TextPart(p) if isinstance(p, str) else p for p in parts))
    return ScriptedAnswer((choice,), **options)  # type: ignore[arg-type]


def request_of(text: str = "", *, stream: bool = False, n: int = 1) -> CanonicalRequest:
    messages = (Message("user", (TextPart(text),)),)
    return CanonicalRequest("openai", "/p", "/p", "gpt-x", messages=messages, stream=stream, n=n)


def produced(
    streaming: Answer | None,
    non_streaming: Answer | None = None,
    *,
    request: CanonicalRequest | None = None,
    limit: int = MAX_TEXT_BYTES,
) -> CanonicalResponse | RawAnswer | ErrorAnswer:
    step = Step("k", "1", produce=Produce(streaming, non_streaming or streaming))
    return produce(
        Scenario("s", (step,), variables={"city": "Paris"}),
        step,
        request or request_of(),
        seed=SEED,
        created=1735689600,
        tool_call_prefix="call_",
        groups={"day": "Monday"},
        max_text_bytes=limit,
    )


def response(*args: Answer | None, **options: object) -> CanonicalResponse:
    found = produced(*args, **options)  # type: ignore[arg-type]
    assert isinstance(found, CanonicalResponse)
    return found


def texts(found: CanonicalResponse) -> list[str]:
    return [p.text for c in found.choices for p in c.parts if isinstance(p, TextPart)]


def call_ids(found: CanonicalResponse) -> list[str]:
    return [p.id for c in found.choices for p in c.parts if isinstance(p, ToolCallPart)]


def test_the_answer_says_who_it_is() -> None:
    found = response(scripted_answer_of("hi"))
    assert (found.id, found.created, found.model) == (SEED.response_id, 1735689600, "gpt-x")
    assert found.metadata == {}


def test_streams_and_whole_answers_may_be_scripted_apart() -> None:
    scripts = scripted_answer_of("streamed"), scripted_answer_of("whole")
    assert texts(response(*scripts, request=request_of(stream=True))) == ["streamed"]
    assert texts(response(*scripts, request=request_of(stream=False))) == ["whole"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "scripts", [(scripted_answer_of("only"), None), (None, scripted_answer_of("only"))]
)
def test_the_only_script_answers_both(
    scripts: tuple[ScriptedAnswer | None, ...], stream: bool
) -> None:
    step = Step("k", "1", produce=Produce(scripts[0], scripts[1]))
    found = produce(
        Scenario("s", (step,)),
        step,
        request_of(stream=stream),
        seed=SEED,
        created=0,
        tool_call_prefix="",
        groups={},
    )
    assert isinstance(found, CanonicalResponse)
    assert texts(found) == ["only"]


def test_a_step_without_an_answer_says_nothing() -> None:
    found = response(None)
    assert [(c.parts, c.finish_reason) for c in found.choices] == [((), "stop")]


def test_a_raw_answer_is_untouched() -> None:
    assert produced(RAW) is RAW


def test_templates_see_variables_request_and_groups() -> None:
    script = scripted_answer_of(
        "{{ city }} {{ request.model }} {{ request.last_user_text }} {{ match.day }}"
    )
    found = response(script, request=request_of("{{ city }}"))
    assert texts(found) == ["Paris gpt-x {{ city }} Monday"]


def test_given_call_ids_stay_and_missing_ones_come_from_the_seed() -> None:
    call, mine = ToolCallPart("", "f", "{}"), ToolCallPart("mine", "f", "{}")
    found = response(scripted_answer_of(call, mine, call))
    assert call_ids(found) == [
        f"call_{SEED.tool_call_id(1)}",
        "mine",
        f"call_{SEED.tool_call_id(2)}",
    ]


def test_n_repeats_the_answer_with_call_ids_of_its_own() -> None:
    found = response(scripted_answer_of("hi", ToolCallPart("", "f", "{}")), request=request_of(n=3))
    assert texts(found) == ["hi"] * 3
    assert len(set(call_ids(found))) == 3


def test_scripted_choices_are_not_repeated() -> None:
    choices = (ScriptedChoice((TextPart("a"),)), ScriptedChoice((TextPart("b"),)))
    script = ScriptedAnswer(choices, per_choice=True)
    assert texts(response(script, request=request_of(n=500))) == ["a", "b"]


@pytest.mark.parametrize("consecutive", [True, False])
def test_an_answer_says_whether_its_choices_are_one_after_another(consecutive: bool) -> None:
    assert response(scripted_answer_of("a", consecutive=consecutive)).consecutive is consecutive


@pytest.mark.parametrize("n", [-1, 0, 129])
def test_an_n_out_of_bounds_is_the_clients_error(n: int) -> None:
    found = produced(scripted_answer_of("hi"), request=request_of(n=n))
    message = f"Invalid 'n': expected a number from 1 to 128, but got {n}."
    assert found == ErrorAnswer(400, message, param="n")


def test_n_may_be_128() -> None:
    assert len(response(scripted_answer_of("hi"), request=request_of(n=128)).choices) == 128


def test_metadata_is_that_of_the_provider() -> None:
    script = scripted_answer_of(
        "hi", provider_metadata={"openai": {"tier": 1}, "anthropic": {"tier": 2}}
    )
    assert response(script).metadata == {"tier": 1}


def test_metadata_of_another_provider_is_nobodys() -> None:
    script = scripted_answer_of("hi", provider_metadata={"anthropic": {"tier": 2}})
    assert response(script).metadata == {}


def test_an_answer_goes_by_no_other_name() -> None:
    assert response(scripted_answer_of("hi")).spoken == ""


def test_metadata_of_any_provider_yields_to_the_providers_own() -> None:
    script = scripted_answer_of(
        "hi", provider_metadata={"any": {"a": 1, "b": 2}, "openai": {"b": 3}}
    )
    assert response(script).metadata == {"a": 1, "b": 3}


def test_usage_is_scripted_or_counted() -> None:
    script = scripted_answer_of("a" * 8, usage=ScriptedUsage(input_tokens=7))
    found = response(script, request=request_of("b" * 40))
    assert found.usage == Usage(7, 2, 0, 0)


def test_repeated_answers_are_all_counted() -> None:
    assert response(scripted_answer_of("a" * 8), request=request_of(n=3)).usage.output_tokens == 6


TOO_LONG = ErrorAnswer(400, "The answer would hold more text than the limit of 12 bytes.")


@pytest.mark.parametrize(
    "script",
    [
        scripted_answer_of("a" * 13),
        scripted_answer_of("ä" * 7),
        scripted_answer_of("a" * 6, "b" * 7),
        scripted_answer_of(ToolCallPart("", "f" * 7, "{}" * 3)),
        scripted_answer_of("{{ request.last_user_text }}" * 2),
    ],
)
def test_more_text_than_the_limit_is_an_error_that_names_it(script: ScriptedAnswer) -> None:
    assert produced(script, request=request_of("1234567"), limit=12) == TOO_LONG


def test_text_up_to_the_limit_is_an_answer() -> None:
    assert texts(response(scripted_answer_of("ä" * 6), limit=12)) == ["ä" * 6]


def test_the_limit_is_for_all_choices_together() -> None:
    assert produced(scripted_answer_of("abcd"), request=request_of(n=4), limit=12) == TOO_LONG
    assert len(response(scripted_answer_of("abcd"), request=request_of(n=3), limit=12).choices) == 3


def test_a_template_that_would_grow_without_bound_is_stopped_early() -> None:
    script = scripted_answer_of("{{ request.last_user_text }}" * 20_000)
    found = produced(script, request=request_of("x" * 1_000_000))
    assert isinstance(found, ErrorAnswer)
    assert found.message.endswith(f"{MAX_TEXT_BYTES} bytes.")


def test_an_unscripted_answer_is_no_template() -> None:
    found = build_response(
        error_turn("No turn 2 in scenario {{ city }}"),
        request_of(),
        seed=SEED,
        created=0,
        tool_call_prefix="call_",
    )
    assert isinstance(found, CanonicalResponse)
    assert call_ids(found) == ["agent-final-report"]
    assert "{{ city }}" in found.choices[0].parts[1].arguments  # type: ignore[union-attr]
    assert found.choices[0].finish_reason == "tool_calls"
    assert found.usage == Usage(64, 32)
    assert found.spoken == ""


def test_a_step_may_name_the_dialect_of_a_request_that_leaves_it_open() -> None:
    scripted = ScriptedAnswer(
        (ScriptedChoice((TextPart("Hi"),)),),
        provider_metadata={"openai": {"a": 1, "b": 1}, "groq": {"b": 2}, "xai": {"b": 3}},
    )

    scripted_answer_of = {"produce": {"text": "Hi"}}

    def named(*also: str, provider: str) -> CanonicalResponse:
        (scenario,) = map(
            compile_scenario,
            load_documents(
                {"name": "s", "steps": [scripted_answer_of | {"match": {"provider": provider}}]}
            ),
        )
        step = replace(scenario.steps[0], produce=Produce(scripted, scripted))
        found = produce(
            scenario,
            step,
            replace(request_of(), also=also),
            seed=SEED,
            created=1735689600,
            tool_call_prefix="call_",
            groups={},
        )
        assert isinstance(found, CanonicalResponse)
        return found

    spoken = named("xai", "groq", provider="groq")
    assert (spoken.spoken, spoken.metadata) == ("groq", {"a": 1, "b": 2})
    for plain in (named("xai", "groq", provider="openai"), named(provider="openai")):
        assert (plain.spoken, plain.metadata) == ("", {"a": 1, "b": 1})
