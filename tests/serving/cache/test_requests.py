"""Requests that come again, byte for byte: answered as if each were the first of its kind."""

import gc
import json
from typing import Any
from unittest.mock import Mock
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.matching.index import build_index
from scenarios_app.engine.scenario import Scenario
from scenarios_app.serving import pipeline as of_pipeline
from scenarios_app.serving.cache.requests import CachedRequest, RequestCache, RequestHead
from scenarios_app.serving.exchange import head_of
from scenarios_app.serving.executor import MEDIUM_BYTES
from scenarios_app.wire.base import Call
from tests.engine.drawn_asking import requests, scenarios
from tests.serving.pipelines import Documents, Playing, chat, says, scenario

KEYS = [f"{number}.{place}" for number in range(5) for place in range(6)]


def responses(text: str, **fields: Any) -> Call:
    body = {"model": "gpt-4o", "input": text, **fields}
    return Call("POST", "/v1/responses", {}, chat().headers, json.dumps(body).encode())


def kept(call: Call) -> RequestHead:
    """The head of a call, as a door keeps it."""
    head = head_of(call)
    head.is_cached = True
    return head


async def asked(playing: Playing, call: Call, head: RequestHead | None) -> tuple[int, bytes]:
    answer = await playing.pipeline.answer(call, head)
    body = b"".join([piece async for piece in answer.pieces()])
    return answer.reply.status, body


@settings(max_examples=300)
@given(scenarios(), requests(), st.sets(st.sampled_from(KEYS)))
def test_cached_first_match_is_first_for_sessions_that_did_not_consume_it(
    every: list[Scenario], request: CanonicalRequest, consumed: set[str]
) -> None:
    index = build_index(every)
    gone = {(one.name, key) for one in every for key in consumed}
    first = CachedRequest(request, context_free=True).first_match(index)
    if first is not None and not (
        first.step.consume and (first.scenario.name, first.step.key) in gone
    ):
        assert first == next(index.candidates(request, consumed=gone))


ONCE = {"consume": True, "produce": {"text": "Once."}, "match": {"model": "gpt-4o"}}
STEPS: list[list[dict[str, Any]]] = [
    [ONCE, ONCE, says("Ever.")],
    [says("Default.", consume=True, match={"provider": "openai"}), ONCE, says("Ever.")],
    [{**ONCE, "failures": {"times": 2, "fault": {"kind": "http", "status": 503}}}],
    [{**ONCE, "expect": {"tools": ["no_such_tool"]}}],
    [says("Another's.", match={"model": "other"})],
]


@pytest.mark.parametrize("steps", STEPS, ids=range(len(STEPS)))
@pytest.mark.parametrize("stream", [False, True])
async def test_answers_are_those_of_requests_that_were_never_seen(
    steps: list[dict[str, Any]], stream: bool
) -> None:
    document = scenario("s", *steps)
    known, fresh = Playing(document), Playing(document)
    sessions = ("a", "b", "a")
    calls = [chat(stream=stream, headers={"x-mockllm-session": name}) for name in sessions]
    heads = [kept(call) for call in calls]
    for _ in range(4):
        for call, head in zip(calls, heads, strict=True):
            assert await asked(known, call, head) == await asked(fresh, call, None)
    told = [
        [(e.status, e.scenario, e.step_key, e.violations) for e in p.journal]
        for p in (known, fresh)
    ]
    assert told[0] == told[1]


async def test_a_request_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(side_effect=of_pipeline.read)
    monkeypatch.setattr(of_pipeline, "read", read)
    playing, call = Playing(scenario("s", says("Hi!"))), chat()
    head = kept(call)
    for _ in range(5):
        assert (await asked(playing, call, head))[0] == 200
    assert read.call_count == 1
    await asked(playing, chat("Other"), head)
    assert read.call_count == 2


async def test_a_request_that_is_refused_is_refused_again() -> None:
    playing, call = Playing(scenario("s", says("Hi!"))), chat(n=0)
    unread, keyless = kept(call), chat(headers={"authorization": ""})
    for _ in range(3):
        assert (await asked(playing, call, unread))[0] == 400
        assert (await asked(playing, keyless, kept(keyless)))[0] == 401


async def test_an_edit_is_seen_by_the_next_request() -> None:
    playing, call = Playing(scenario("s", says("Before."))), chat()
    head = kept(call)
    for _ in range(3):
        assert b"Before." in (await asked(playing, call, head))[1]
    playing.catalog.index = Documents(scenario("s", says("After."))).index
    for _ in range(3):
        assert b"After." in (await asked(playing, call, head))[1]


async def test_scenarios_that_are_gone_are_not_kept_alive_by_their_index() -> None:
    playing, call = Playing(scenario("s", says("Before."))), chat()
    head = kept(call)
    for _ in range(3):
        await asked(playing, call, head)
    before = ref(playing.catalog.index)
    playing.catalog.index = Documents().index
    gc.collect()
    assert before() is None


async def test_a_name_in_the_request_goes_before_what_was_found() -> None:
    by_id = scenario(
        "by-id", {"turn": 1, "produce": {"text": "Named."}}, select="first_user_message"
    )
    playing = Playing(by_id, scenario("s", says("Hi!")))
    named = chat("by-id")
    header = chat(headers={"x-mockllm-scenario": "s"})
    for call, text in ((named, b"Named."), (header, b"Hi!")):
        head = kept(call)
        for _ in range(3):
            assert text in (await asked(playing, call, head))[1]


async def test_a_script_in_the_message_goes_before_what_was_found() -> None:
    block = '<|instruction_start|>{"messages": [{"text": "Scripted."}]}<|instruction_end|>'
    playing = Playing(scenario("s", says("Hi!")))
    scripted, plain = chat(block), chat()
    for call in (scripted, plain):
        head, fresh = kept(call), await asked(playing, call, None)
        for _ in range(3):
            assert (await asked(playing, call, head))[0] == fresh[0]
    assert [entry.way for entry in playing.journal] == ["in_band"] * 4 + ["match"] * 4


async def test_named_stored_response_is_looked_up_for_each_request() -> None:
    playing = Playing(scenario("s", says("Again.", turn=2), says("First.", turn=1)))
    first = responses("What?")
    _, body = await asked(playing, first, None)
    name = body.partition(b'"id":"')[2].partition(b'"')[0].decode()
    again = responses("And then?", previous_response_id=name)
    head = kept(again)
    for _ in range(3):
        assert b"Again." in (await asked(playing, again, head))[1]
    await playing.state.forget_response(head.session, name)
    assert (await asked(playing, again, head))[0] == 400


def test_only_so_many_are_kept_and_none_that_is_long() -> None:
    known, head = RequestCache(max_requests=3), kept(chat())
    request = CanonicalRequest("openai", "/", "/", "m")
    for number in range(5):
        known.add(head, b"%d" % number, request, context_free=True)
    found = [number for number in range(5) if known.get(head, b"%d" % number)]
    assert found == [2, 3, 4]
    known.add(head, b"a" * (MEDIUM_BYTES + 1), request, context_free=True)
    assert known.get(head, b"a" * (MEDIUM_BYTES + 1)) is None


def test_a_head_that_nobody_keeps_knows_nothing() -> None:
    known, head = RequestCache(), head_of(chat())
    known.add(head, b"{}", CanonicalRequest("openai", "/", "/", "m"), context_free=True)
    assert known.get(head, b"{}") is None
