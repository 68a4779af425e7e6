"""Answers from a step and a request: selection, repetition, ids, usage and the text limit."""

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    ErrorAnswer,
    Message,
    ScriptedUsage,
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
    Step,
)

SEED = Seed("ab")
RAW_ANSWER = RawAnswer(status=418, body=b"{{ city }}")


def scripted_answer_of(*parts: AnswerPart | str, **options: object) -> ScriptedAnswer:
    choice = ScriptedChoice(tuple(TextPart(p) if isinstance(p, str) else p for p in parts))
    return ScriptedAnswer((choice,), **options)


def request_of(text: str = "", *, stream: bool = False, n: int = 1) -> CanonicalRequest:
    messages = (Message("user", (TextPart(text),)),)
    return CanonicalRequest("openai", "/p", "/p", "gpt-x", messages=messages, stream=stream, n=n)


def produce_any(
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


def produce_response(*args: Answer | None, **options: object) -> CanonicalResponse:
    response = produce_any(*args, **options)
    assert isinstance(response, CanonicalResponse)
    return response


def texts(response: CanonicalResponse) -> list[str]:
    return [p.text for c in response.choices for p in c.parts if isinstance(p, TextPart)]


def call_ids(response: CanonicalResponse) -> list[str]:
    return [p.id for c in response.choices for p in c.parts if isinstance(p, ToolCallPart)]


def test_response_has_its_id_time_and_model() -> None:
    response = produce_response(scripted_answer_of("hi"))
    assert (response.id, response.created, response.model) == (
        SEED.response_id,
        1735689600,
        "gpt-x",
    )
    assert response.metadata == {}


def test_streams_and_whole_answers_may_have_separate_scripts() -> None:
    scripts = scripted_answer_of("streamed"), scripted_answer_of("whole")
    assert texts(produce_response(*scripts, request=request_of(stream=True))) == ["streamed"]
    assert texts(produce_response(*scripts, request=request_of(stream=False))) == ["whole"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "scripts", [(scripted_answer_of("only"), None), (None, scripted_answer_of("only"))]
)
def test_single_script_answers_both_modes(
    scripts: tuple[ScriptedAnswer | None, ...], stream: bool
) -> None:
    step = Step("k", "1", produce=Produce(scripts[0], scripts[1]))
    response = produce(
        Scenario("s", (step,)),
        step,
        request_of(stream=stream),
        seed=SEED,
        created=0,
        tool_call_prefix="",
        groups={},
    )
    assert isinstance(response, CanonicalResponse)
    assert texts(response) == ["only"]


def test_step_without_an_answer_gives_an_empty_choice() -> None:
    response = produce_response(None)
    assert [(c.parts, c.finish_reason) for c in response.choices] == [((), "stop")]


def test_a_raw_answer_is_untouched() -> None:
    assert produce_any(RAW_ANSWER) is RAW_ANSWER


def test_templates_are_filled_from_variables_request_and_groups() -> None:
    script = scripted_answer_of(
        "{{ city }} {{ request.model }} {{ request.last_user_text }} {{ match.day }}"
    )
    response = produce_response(script, request=request_of("{{ city }}"))
    assert texts(response) == ["Paris gpt-x {{ city }} Monday"]


def test_scripted_call_ids_are_kept_and_missing_ones_come_from_the_seed() -> None:
    call, call_with_id = ToolCallPart("", "f", "{}"), ToolCallPart("mine", "f", "{}")
    response = produce_response(scripted_answer_of(call, call_with_id, call))
    assert call_ids(response) == [
        f"call_{SEED.tool_call_id(1)}",
        "mine",
        f"call_{SEED.tool_call_id(2)}",
    ]


def test_n_repeats_the_answer_with_new_call_ids() -> None:
    response = produce_response(
        scripted_answer_of("hi", ToolCallPart("", "f", "{}")), request=request_of(n=3)
    )
    assert texts(response) == ["hi"] * 3
    assert len(set(call_ids(response))) == 3


def test_scripted_choices_are_not_repeated() -> None:
    choices = (ScriptedChoice((TextPart("a"),)), ScriptedChoice((TextPart("b"),)))
    script = ScriptedAnswer(choices, per_choice=True)
    assert texts(produce_response(script, request=request_of(n=500))) == ["a", "b"]


@pytest.mark.parametrize("consecutive", [True, False])
def test_response_keeps_the_consecutive_flag(consecutive: bool) -> None:
    assert (
        produce_response(scripted_answer_of("a", consecutive=consecutive)).consecutive
        is consecutive
    )


@pytest.mark.parametrize("n", [-1, 0, 129])
def test_n_out_of_bounds_is_a_400(n: int) -> None:
    error = produce_any(scripted_answer_of("hi"), request=request_of(n=n))
    message = f"Invalid 'n': expected a number from 1 to 128, but got {n}."
    assert error == ErrorAnswer(400, message, param="n")


def test_n_may_be_128() -> None:
    assert len(produce_response(scripted_answer_of("hi"), request=request_of(n=128)).choices) == 128


def test_metadata_is_that_of_the_provider() -> None:
    script = scripted_answer_of(
        "hi", provider_metadata={"openai": {"tier": 1}, "anthropic": {"tier": 2}}
    )
    assert produce_response(script).metadata == {"tier": 1}


def test_metadata_of_another_provider_is_not_sent() -> None:
    script = scripted_answer_of("hi", provider_metadata={"anthropic": {"tier": 2}})
    assert produce_response(script).metadata == {}


def test_response_of_the_main_provider_has_no_dialect() -> None:
    assert produce_response(scripted_answer_of("hi")).spoken == ""


def test_metadata_of_the_provider_overrides_that_of_any() -> None:
    script = scripted_answer_of(
        "hi", provider_metadata={"any": {"a": 1, "b": 2}, "openai": {"b": 3}}
    )
    assert produce_response(script).metadata == {"a": 1, "b": 3}


def test_usage_is_scripted_or_counted() -> None:
    script = scripted_answer_of("a" * 8, usage=ScriptedUsage(input_tokens=7))
    response = produce_response(script, request=request_of("b" * 40))
    assert response.usage == Usage(7, 2, 0, 0)


def test_repeated_answers_are_all_counted() -> None:
    assert (
        produce_response(scripted_answer_of("a" * 8), request=request_of(n=3)).usage.output_tokens
        == 6
    )


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
    assert produce_any(script, request=request_of("1234567"), limit=12) == TOO_LONG


def test_text_up_to_the_limit_is_an_answer() -> None:
    assert texts(produce_response(scripted_answer_of("ä" * 6), limit=12)) == ["ä" * 6]


def test_limit_applies_to_all_choices_together() -> None:
    assert produce_any(scripted_answer_of("abcd"), request=request_of(n=4), limit=12) == TOO_LONG
    assert (
        len(produce_response(scripted_answer_of("abcd"), request=request_of(n=3), limit=12).choices)
        == 3
    )


def test_growing_template_is_stopped_at_the_limit() -> None:
    script = scripted_answer_of("{{ request.last_user_text }}" * 20_000)
    error = produce_any(script, request=request_of("x" * 1_000_000))
    assert isinstance(error, ErrorAnswer)
    assert error.message.endswith(f"{MAX_TEXT_BYTES} bytes.")


def test_an_unscripted_answer_is_no_template() -> None:
    response = build_response(
        error_turn("No turn 2 in scenario {{ city }}"),
        request_of(),
        seed=SEED,
        created=0,
        tool_call_prefix="call_",
    )
    assert isinstance(response, CanonicalResponse)
    assert call_ids(response) == ["agent-final-report"]
    assert "{{ city }}" in response.choices[0].parts[1].arguments
    assert response.choices[0].finish_reason == "tool_calls"
    assert response.usage == Usage(64, 32)
    assert response.spoken == ""


def test_step_selects_the_dialect_of_an_ambiguous_request() -> None:
    scripted = ScriptedAnswer(
        (ScriptedChoice((TextPart("Hi"),)),),
        provider_metadata={"openai": {"a": 1, "b": 1}, "groq": {"b": 2}, "xai": {"b": 3}},
    )

    step_document = {"produce": {"text": "Hi"}}

    def respond(*also: str, provider: str) -> CanonicalResponse:
        (scenario,) = map(
            compile_scenario,
            load_documents(
                {"name": "s", "steps": [step_document | {"match": {"provider": provider}}]}
            ),
        )
        step = replace(scenario.steps[0], produce=Produce(scripted, scripted))
        response = produce(
            scenario,
            step,
            replace(request_of(), also=also),
            seed=SEED,
            created=1735689600,
            tool_call_prefix="call_",
            groups={},
        )
        assert isinstance(response, CanonicalResponse)
        return response

    groq_response = respond("xai", "groq", provider="groq")
    assert (groq_response.spoken, groq_response.metadata) == ("groq", {"a": 1, "b": 2})
    for openai_response in (respond("xai", "groq", provider="openai"), respond(provider="openai")):
        assert (openai_response.spoken, openai_response.metadata) == ("", {"a": 1, "b": 1})
