"""Votes on comparisons: blind, once, by who may, and what comes of them."""

from typing import Any

import httpx2
import pytest

from chat_app.models import ABComparison, Conversation, ModelProfile
from tests.chat.api.compared import ONE, TWO, answering, compare, prompt_of, seed_for, voted
from tests.chat.asking import SECONDS, Api, error_of
from tests.chat.scripts import ENDLESS
from tests.support.live_server import Live
from tests.traces.rows import dead_owner
from traces_app.models import Status, Trace


@pytest.mark.parametrize("preference", ["a", "b", "tie"])
def test_record_preference_vote(pair: None, api: Api, preference: str) -> None:
    comparison_id = compare(api).last["comparison_id"]
    answer = voted(api, comparison_id, preference)
    assert answer.status_code == 200
    row = ABComparison.objects.get()
    assert answer.json() == {
        "status": "recorded",
        "preference": preference,
        "profiles": {"a": row.profile_a_name, "b": row.profile_b_name},
    }
    assert row.preference == preference and row.preference_at is not None


def test_until_the_vote_nothing_names_a_profile_or_a_model(pair: None, api: Api) -> None:
    stream = compare(api)
    comparison_id = stream.last["comparison_id"]
    names = (ONE, TWO, f"model-{ONE}", f"model-{TWO}")
    hidden = [stream.raw.decode()]
    record = api.get(f"ab/{comparison_id}")
    hidden.append(record.text)
    hidden.append(api.get("ab/pending").text)
    for trace_id in (record.json()["trace_id_a"], record.json()["trace_id_b"]):
        trace = api.get(f"trace/{trace_id}").json()
        assert (trace["profile"], trace["provider"], trace["model"]) == (None, None, None)
        assert [call["model"] for call in trace["model_calls"]] == [None]
    for text in hidden:
        assert not any(f'"{name}"' in text for name in names)
    voted(api, comparison_id, "a")
    told = api.get(f"ab/{comparison_id}").json()
    assert sorted(told["profiles"].values()) == [ONE, TWO]
    assert api.get(f"trace/{told['trace_id_a']}").json()["profile"] == told["profiles"]["a"]


@pytest.mark.parametrize(("vote", "kept"), [("A", "a"), ("B", "b"), ("TIE", "tie"), ("Tie", "tie")])
def test_a_vote_may_be_in_upper_case(pair: None, api: Api, vote: str, kept: str) -> None:
    comparison_id = compare(api).last["comparison_id"]
    answer = voted(api, comparison_id, vote)
    assert (answer.status_code, answer.json()["preference"]) == (200, kept)
    assert ABComparison.objects.get().preference == kept
    assert voted(api, comparison_id, kept).status_code == 200


def test_the_same_vote_again_is_fine_and_another_is_not(pair: None, api: Api) -> None:
    comparison_id = compare(api).last["comparison_id"]
    assert voted(api, comparison_id, "tie").status_code == 200
    assert voted(api, comparison_id, "tie").status_code == 200
    assert error_of(voted(api, comparison_id, "a")) == (409, "CONFLICT", "preference")
    assert ABComparison.objects.get().preference == "tie"


def test_comparison_is_hidden_from_other_clients(pair: None, live: Live, api: Api) -> None:
    comparison_id = compare(api).last["comparison_id"]
    other = Api(live.base_url, client_id="somebody else")
    assert error_of(voted(other, comparison_id, "a"))[0] == 404
    assert error_of(other.get(f"ab/{comparison_id}"))[0] == 404
    assert other.get("ab/pending").json() == {"comparisons": []}
    conversation = Conversation.objects.get()
    refused = other.post("ab/stream", message="x", conversation_id=str(conversation.pk))
    assert error_of(refused)[0] == 404


def test_empty_comparison_id_is_not_found(live: Live, api: Api) -> None:
    assert error_of(voted(api, "", "a")) == (404, "NOT_FOUND", "comparison_id")


@pytest.mark.parametrize("comparison_id", ["7", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_comparison_is_not_found(live: Live, api: Api, comparison_id: str) -> None:
    assert error_of(voted(api, comparison_id, "a")) == (404, "NOT_FOUND", "comparison_id")
    assert error_of(api.get(f"ab/{comparison_id}"))[0] == 404


@pytest.mark.parametrize("preference", ["c", "", None, 1, "AB", " a"])
def test_a_preference_is_a_b_or_tie(live: Live, api: Api, preference: Any) -> None:
    answer = api.post("ab/vote", comparison_id="7", preference=preference)
    assert error_of(answer) == (400, "VALIDATION_ERROR", "preference")


def test_an_answer_that_still_comes_gets_no_vote(pair: None, live: Live, api: Api) -> None:
    live.load(answering("model-two", ENDLESS, name=TWO))
    body = {"client_id": api.client_id, "message": "x", "profile_a": ONE, "profile_b": TWO}
    with httpx2.stream(
        "POST", f"{live.base_url}/api/ab/stream", json=body, timeout=SECONDS
    ) as answer:
        next(answer.iter_bytes())
        comparison = ABComparison.objects.get()
        assert error_of(voted(api, str(comparison.pk), "a")) == (409, "CONFLICT", "comparison_id")
        busy = api.post("ab/stream", message="y", conversation_id=str(comparison.conversation_id))
        assert error_of(busy)[0] == 409
        cancelled = api.post("cancel_stream", conversation_id=str(comparison.conversation_id))
        assert cancelled.status_code == 200
    assert not Trace.objects.filter(status=Status.RUNNING).exists()


def test_comparison_with_a_dead_run_has_the_status_failed(pair: None, api: Api) -> None:
    stream = compare(api, seed=seed_for(ONE))
    Trace.objects.filter(branch="b").update(status=Status.RUNNING, owner=dead_owner())
    comparison_id = stream.last["comparison_id"]
    assert api.get(f"ab/{comparison_id}").json()["status_b"] == "failed"
    Trace.objects.filter(branch="b").update(status=Status.RUNNING)
    assert voted(api, comparison_id, "a").status_code == 200


@pytest.mark.parametrize(
    ("preference", "kept"),
    [("a", "I am one."), ("b", "I am two."), ("tie", "I am one."), ("", "I am one.")],
)
def test_later_prompts_hold_the_preferred_answer(
    pair: None, live: Live, api: Api, preference: str, kept: str
) -> None:
    stream = compare(api, seed=seed_for(ONE))
    if preference:
        voted(api, stream.last["comparison_id"], preference)
    live.load({"name": "next", "priority": 5, "steps": [{"produce": {"text": "Next."}}]})
    api.send("And now?", profile=ONE, conversation_id=stream.conversation_id)
    assert [message["content"] for message in prompt_of(stream.conversation_id)] == [
        "Who are you?",
        kept,
        "And now?",
    ]


def test_pending_comparisons_come_latest_first_until_they_are_voted_on(
    pair: None, api: Api
) -> None:
    ids = [compare(api).last["comparison_id"] for _ in range(3)]
    found = api.get("ab/pending").json()["comparisons"]
    assert [one["comparison_id"] for one in found] == ids[::-1]
    assert {one["preference"] for one in found} == {None}
    voted(api, ids[1], "a")
    found = api.get("ab/pending", limit=1).json()["comparisons"]
    assert [one["comparison_id"] for one in found] == [ids[2]]


def test_the_leaderboard_counts_votes_of_everybody(pair: None, live: Live, api: Api) -> None:
    others = [api, Api(live.base_url, client_id="other")]
    for number in range(4):
        who = others[number % 2]
        stream = compare(who, seed=seed_for(ONE))
        voted(who, stream.last["comparison_id"], "tie" if number == 3 else "a")
    first, second = api.get("ab/leaderboard").json()["profiles"]
    assert (first["profile"], first["wins"], first["ties"], first["losses"]) == (ONE, 3, 1, 0)
    assert (second["profile"], second["wins"], second["ties"], second["losses"]) == (TWO, 0, 1, 3)
    assert first["low"] <= first["score"] <= first["high"]
    assert first["score"] > 1000 > second["score"]


def test_a_profile_that_is_deleted_keeps_its_name_in_the_records(pair: None, api: Api) -> None:
    comparison_id = compare(api, seed=seed_for(ONE)).last["comparison_id"]
    voted(api, comparison_id, "a")
    ModelProfile.objects.all().delete()
    assert api.get(f"ab/{comparison_id}").json()["profiles"] == {"a": ONE, "b": TWO}
