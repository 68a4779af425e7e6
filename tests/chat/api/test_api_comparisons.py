"""Comparisons over a running server: two answers in one stream, and their records."""

import json
from typing import Any

import httpx2
import pytest

from chat_app.models import ABComparison, Message, ModelProfile, Sender
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.api.comparison_helpers import (
    ONE,
    TWO,
    compare,
    model_scenario,
    prompt_of,
    seed_for,
    vote,
)
from tests.chat.api_client import Api, Stream, error_of
from tests.support.live_server import Live
from traces_app.models import Status, Trace


def texts_by_branch(stream: Stream) -> dict[str, str]:
    """Return the text of each branch."""
    return {
        branch: "".join(e["content"] for e in stream.of("chunk") if e["branch"] == branch)
        for branch in "ab"
    }


def test_create_a_b_comparison(two_profiles: None, api: Api) -> None:
    stream = compare(api)
    comparison = ABComparison.objects.get()
    assert stream.last == {
        "type": "done",
        "conversation_id": stream.conversation_id,
        "comparison_id": str(comparison.pk),
        "message_id_a": str(comparison.trace_a.message_id),
        "message_id_b": str(comparison.trace_b.message_id),
    }
    assert sorted(texts_by_branch(stream).values()) == ["I am one.", "I am two."]
    assert Message.objects.filter(sender=Sender.USER).count() == 1


def test_each_branch_is_a_run_with_its_own_start_and_end(two_profiles: None, api: Api) -> None:
    stream = compare(api)
    for branch in "ab":
        branch_events = [
            event.data for event in stream.events if event.data.get("branch") == branch
        ]
        assert [branch_events[0]["type"], branch_events[-1]["type"]] == ["started", "done"]
        trace = Trace.objects.get(pk=branch_events[0]["trace_id"])
        assert (trace.branch, trace.status) == (branch, Status.COMPLETED)
        assert branch_events[-1]["message_id"] == str(trace.message_id)
    assert len({event["message_id"] for event in stream.of("started")}) == 1
    assert [event.id for event in stream.events] == list(range(1, len(stream.events) + 1))


def test_seed_decides_the_profile_of_branch_a(two_profiles: None, api: Api) -> None:
    for first in (ONE, TWO):
        stream = compare(api, seed=seed_for(first))
        assert texts_by_branch(stream)["a"] == f"I am {first}."


def test_a_failing_branch_leaves_the_other_alone_and_gets_no_vote(
    two_profiles: None, live: Live, api: Api
) -> None:
    fault_answer = {"fault": {"kind": "http", "status": 401}}
    live.load(model_scenario("model-two", fault_answer, name=TWO))
    stream = compare(api, seed=seed_for(ONE))
    (error,) = stream.of("error")
    assert (error["branch"], error["code"]) == ("b", "UNAUTHORIZED")
    assert texts_by_branch(stream)["a"] == "I am one."
    assert stream.last["message_id_b"] is None
    comparison_id = stream.last["comparison_id"]
    assert error_of(vote(api, comparison_id, "b")) == (409, "CONFLICT", "preference")
    assert error_of(vote(api, comparison_id, "tie"))[0] == 409
    assert api.get("ab/pending").json() == {"comparisons": []}
    assert vote(api, comparison_id, "a").status_code == 200


def test_after_a_failed_branch_prompts_hold_the_one_that_succeeded(
    two_profiles: None, live: Live, api: Api
) -> None:
    live.load(model_scenario("model-one", {"fault": {"kind": "rate_limit"}}, name=ONE))
    stream = compare(api, seed=seed_for(ONE))
    live.load({"name": "next", "priority": 5, "steps": [{"produce": {"text": "Next."}}]})
    api.send("And now?", profile=TWO, conversation_id=stream.conversation_id)
    assert prompt_of(stream.conversation_id)[1]["content"] == "I am two."


def test_each_branch_has_its_own_mock_session(two_profiles: None, api: Api) -> None:
    stream = compare(api)
    assert journal.flush()
    sessions = set(ServedRequest.objects.values_list("session", flat=True))
    assert sessions == {f"chat-{stream.conversation_id}-{branch}" for branch in "ab"}


def test_comparisons_are_forbidden_when_disabled(
    two_profiles: None, api: Api, settings: Any
) -> None:
    settings.AB_TESTING_ENABLED = False
    assert error_of(api.post("ab/stream", message="x")) == (403, "FORBIDDEN", None)
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"message": "  "}, 400, "message"),
        ({"profile_a": "nobody"}, 404, "profile_a"),
        ({"profile_b": ""}, 404, "profile_b"),
        ({"seed": "1"}, 400, "seed"),
        ({"conversation_id": "7"}, 404, "conversation_id"),
        ({"conversation_id": ""}, 404, "conversation_id"),
        ({"surprise": 1}, 400, "surprise"),
    ],
)
def test_invalid_comparison_is_an_http_error_and_stores_nothing(
    two_profiles: None, api: Api, fields: dict[str, Any], status: int, field: str
) -> None:
    body = {"message": "x", "profile_a": ONE, "profile_b": TWO, **fields}
    answer = api.post("ab/stream", **body)
    assert (error_of(answer)[0], error_of(answer)[2]) == (status, field)
    assert not Message.objects.exists() and not ABComparison.objects.exists()


@pytest.mark.parametrize("first", [ONE, TWO])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"profile_a": "nobody"}, "profile_a “nobody”: Profile not found"),
        ({"profile_b": "nobody"}, "profile_b “nobody”: Profile not found"),
        ({"profile_a": "x", "profile_b": "y"}, "profile_a “x”: Profile not found"),
        ({"profile_b": "broken"}, "profile_b “broken”: Model is required"),
    ],
)
def test_wrong_profile_of_a_comparison_is_named_with_its_key(
    two_profiles: None, api: Api, first: str, fields: dict[str, Any], expected: str
) -> None:
    ModelProfile.objects.create(name="broken", provider_id="openai", model_id=" ")
    body = {"message": "x", "profile_a": ONE, "profile_b": TWO, "seed": seed_for(first), **fields}
    assert api.post("ab/stream", **body).json()["message"] == expected


def test_stream_of_a_deleted_comparison_ends_with_both_errors(
    two_profiles: None, live: Live, api: Api
) -> None:
    pacing = {"chunk_ms": 100, "words_per_chunk": 1}
    endless = {"text": "word " * 300, "pacing": pacing}
    live.load(
        model_scenario("model-one", endless, name=ONE),
        model_scenario("model-two", endless, name=TWO),
    )
    body = {"client_id": "reader", "message": "x", "profile_a": ONE, "profile_b": TWO}
    with httpx2.stream("POST", f"{live.base_url}/api/ab/stream", json=body) as response:
        conversation_id = response.headers["x-conversation-id"]
        lines = response.iter_lines()
        next(line for line in lines if "chunk" in line)
        api.post("delete_conversation", conversation_id=conversation_id)
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    errors = [event for event in events if event["type"] == "error"]
    assert {(event["branch"], event["code"]) for event in errors} == {
        ("a", "NOT_FOUND"),
        ("b", "NOT_FOUND"),
    }
    assert events[-1]["type"] == "done"
    assert (events[-1]["message_id_a"], events[-1]["message_id_b"]) == (None, None)


def test_repeated_client_message_id_gives_the_same_comparison(two_profiles: None, api: Api) -> None:
    first = compare(api, client_message_id="m-1")
    again = compare(api, client_message_id="m-1")
    assert again.last == first.last
    assert texts_by_branch(again) == texts_by_branch(first)
    assert Message.objects.filter(sender=Sender.USER).count() == 1
    assert error_of(api.post("ab/stream", message="other", client_message_id="m-1"))[0] == 409


def test_loaded_messages_have_their_branch(two_profiles: None, api: Api) -> None:
    stream = compare(api)
    messages = api.load_messages(stream.conversation_id)
    assert [message["sender"] for message in messages] == ["user", "assistant", "assistant"]
    assert sorted(message["branch"] or "" for message in messages) == ["", "a", "b"]
