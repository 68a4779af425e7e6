"""Scripted answers in Ollama's client, streamed and not, in chat and in generate."""

import json
import math
from datetime import UTC, datetime

import ollama
import pytest

from tests.sdk.ollama.ollama_client import HELLO, PROMPT, OllamaClient, calls_of
from tests.sdk.scripted import PARIS, PARIS_TEXT, City, load
from tests.serving.pipelines import FROZEN, scenario, text_step
from tests.support.live_server import Live

WEATHER = {"name": "get_weather", "arguments": {"city": "Zürich", "days": [1, 2]}}
TIME = {"name": "get_time", "arguments": {"zone": "Europe/Paris"}}
TEXT = "Grüße, one two three four five six 🙂\u2028."


def test_text(live: Live, llama: OllamaClient) -> None:
    load(live, text=TEXT, pacing={"words_per_chunk": 2})
    response = llama.create(**HELLO)
    assert (response.message.role, response.message.content) == ("assistant", TEXT)
    assert (response.model, response.done, response.done_reason) == ("llama3.2", True, "stop")
    assert datetime.fromisoformat(response.created_at) == datetime.fromtimestamp(FROZEN, UTC)
    streamed = llama.stream(**HELLO)
    assert streamed.text == TEXT
    assert streamed.done_reasons == ["stop"] and streamed.lines[-1].done
    assert len(streamed.lines) > 4
    assert len({(line.created_at, line.model) for line in streamed.lines}) == 1


def test_generated_text(live: Live, llama: OllamaClient) -> None:
    load(live, text=TEXT, reasoning="Hm, hm.", pacing={"words_per_chunk": 2})
    response = llama.create("generate", **PROMPT)
    assert (response.response, response.thinking) == (TEXT, "Hm, hm.")
    lines = llama.stream("generate", **PROMPT).lines
    assert "".join(line.response for line in lines) == TEXT
    assert "".join(line.thinking or "" for line in lines) == "Hm, hm."
    assert lines[-1].context == response.context
    assert lines[-1].done_reason == "stop"


def test_context_of_a_prompt_continues_the_conversation(live: Live, llama: OllamaClient) -> None:
    live.load(
        scenario(
            "talk",
            {"turn": 1, "produce": {"text": "First."}},
            {"turn": 2, "match": {"messages": ["More"]}, "produce": {"text": "Second."}},
        )
    )
    first = llama.create("generate", **PROMPT)
    second = llama.create("generate", model="llama3.2", prompt="More", context=first.context)
    assert (first.response, second.response) == ("First.", "Second.")


@pytest.mark.parametrize("mode", ["whole", "streamed"])
def test_tool_calls(live: Live, llama: OllamaClient, mode: str) -> None:
    load(live, text="Looking.", tool_calls=[WEATHER, TIME])
    if mode == "whole":
        message = llama.create(**HELLO).message
        text, calls = message.content, calls_of(message)
    else:
        stream = llama.stream(**HELLO)
        text, calls = stream.text, stream.calls
        assert stream.done_reasons == ["stop"]
        assert [bool(m.tool_calls) for m in stream.messages[-3:]] == [True, True, False]
    assert text == "Looking."
    assert calls == [(c["name"], c["arguments"]) for c in (WEATHER, TIME)]


def test_broken_arguments_arrive_empty(live: Live, llama: OllamaClient) -> None:
    load(live, tool_calls=[{"name": "f", "arguments": '{"city": '}])
    assert calls_of(llama.create(**HELLO).message) == [("f", {})]
    assert llama.stream(**HELLO).calls == [("f", {})]


def test_thinking_comes_before_the_text(live: Live, llama: OllamaClient) -> None:
    load(live, reasoning=[{"text": "First I think.", "signature": "s"}], text="Then I speak.")
    message = llama.create(**HELLO, think=True).message
    assert (message.thinking, message.content) == ("First I think.", "Then I speak.")
    streamed = llama.stream(**HELLO, think="high")
    assert (streamed.thinking, streamed.text) == ("First I think.", "Then I speak.")
    has_thinking = [bool(m.thinking) for m in streamed.messages if m.thinking or m.content]
    assert has_thinking == sorted(has_thinking, reverse=True)


def test_think_satisfies_expected_reasoning(live: Live, llama: OllamaClient) -> None:
    live.load(scenario("one", text_step("Hi.", expect={"reasoning": "enabled"})))
    assert llama.create(**HELLO, think="low").message.content == "Hi."
    assert live.state().violations == ()
    with pytest.raises(ollama.ResponseError, match="reasoning to remain enabled") as error:
        llama.create(**HELLO, think=False)
    assert error.value.status_code == 400
    assert live.state().violations == ("Expected reasoning to remain enabled",)


def test_options_satisfy_expected_settings(live: Live, llama: OllamaClient) -> None:
    live.load(scenario("one", text_step("Hi.", expect={"temperature": 0.2, "top_p": 0.9})))
    llama.create(**HELLO, options={"temperature": 0.2, "top_p": 0.9})
    llama.create(**HELLO, options=ollama.Options(temperature=0.2, top_p=0.9, stop=["a"], seed=1))
    assert live.state().violations == ()


def test_a_refusal_and_choices_are_text(live: Live, llama: OllamaClient) -> None:
    load(live, choices=[{"text": "Heads. "}, {"refusal": "No."}, {"tool_calls": [TIME]}])
    message = llama.create(**HELLO).message
    assert message.content == "Heads. No."
    assert calls_of(message) == [("get_time", TIME["arguments"])]
    streamed = llama.stream(**HELLO)
    assert (streamed.text, streamed.calls) == (message.content, calls_of(message))
    assert streamed.done_reasons == ["stop"]


def test_a_length_finish(live: Live, llama: OllamaClient) -> None:
    load(live, text="Too lo", finish_reason="length")
    assert llama.create(**HELLO).done_reason == "length"
    assert llama.stream(**HELLO).done_reasons == ["length"]


def test_usage(live: Live, llama: OllamaClient) -> None:
    load(live, text="Hi!", usage={"input_tokens": 64, "output_tokens": 32})
    for response in (llama.create(**HELLO), llama.stream(**HELLO).lines[-1]):
        assert (response.prompt_eval_count, response.eval_count) == (64, 32)
        parts = response.load_duration, response.prompt_eval_duration, response.eval_duration
        assert min(parts) > 0 and response.total_duration == sum(parts)
    assert llama.stream(**HELLO).lines[0].eval_count is None


def test_structured_output(live: Live, llama: OllamaClient) -> None:
    load(live, text=PARIS_TEXT)
    content = llama.create(**HELLO, format=City.model_json_schema()).message.content
    assert City.model_validate_json(content) == PARIS
    assert json.loads(llama.create(**HELLO, format="json").message.content)["name"] == "Paris"


def test_chunks_arrive_as_they_were_scripted(live: Live, llama: OllamaClient) -> None:
    load(live, chunks=["One ", {"reasoning": "hm"}, "two"])
    lines = llama.stream(**HELLO).messages[:-1]
    assert [(m.content, m.thinking) for m in lines] == [("One ", None), ("", "hm"), ("two", None)]
    assert llama.create(**HELLO).message.content == "One two"


@pytest.mark.parametrize("method", ["chat", "generate"])
def test_request_without_a_prompt_loads_or_unloads_the_model(
    live: Live, llama: OllamaClient, method: str
) -> None:
    live.load(scenario("one", text_step("Never.")))
    for keep_alive, reason in ((None, "load"), ("5m", "load"), (0, "unload")):
        response = llama.ask(method, model="llama3.2", keep_alive=keep_alive)
        assert (response.done, response.done_reason) == (True, reason)
        (line,) = llama.stream(method, model="llama3.2", keep_alive=keep_alive).lines
        assert (line.done, line.done_reason) == (True, reason)
    rows = live.requests()
    assert {(row.status, row.matched, row.scenario) for row in rows} == {(200, True, "")}


def test_embeddings(live: Live, llama: OllamaClient) -> None:
    response = llama.ask("embed", model="nomic-embed-text", input=["one two", "one two", "three"])
    same, again, other = response.embeddings
    assert same == again != other
    assert len(same) == 768 and math.isclose(math.hypot(*same), 1)
    assert response.prompt_eval_count > 0
    (short,) = llama.ask("embed", model="mxbai-embed-large", input="x", dimensions=64).embeddings
    assert len(short) == 64
    old = llama.ask("embeddings", model="nomic-embed-text", prompt="one two")
    assert old.embedding == same


def test_models(live: Live, llama: OllamaClient) -> None:
    live.load(scenario("named", {**text_step("Hi!"), "match": {"model": "my-own"}}))
    models = {model.model: model for model in llama.ask("list").models}
    assert {"llama3.2", "my-own"} <= set(models)
    assert models["llama3.2"].details.family == "llama"
    assert models["my-own"].modified_at.timestamp() == FROZEN
    assert {model.model for model in llama.ask("ps").models} == set(models)
    details = llama.ask("show", model="my-own:latest")
    assert "tools" in details.capabilities and details.modelinfo


def test_a_step_may_answer_for_an_embedding(live: Live, llama: OllamaClient) -> None:
    vector = {"model": "m", "embeddings": [[0.5, 0.5]]}
    step = {"match": {"path": "/api/embed"}, "produce": {"raw": {"body": vector}}}
    live.load(scenario("fixed", {"consume": False, **step}))
    assert llama.ask("embed", model="nomic-embed-text", input="x").embeddings == [[0.5, 0.5]]
    assert len(llama.ask("embeddings", model="nomic-embed-text", prompt="x").embedding) == 768
