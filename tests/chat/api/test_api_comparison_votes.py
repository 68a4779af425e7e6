"""Votes on comparisons: blind, once, by their client only, and their effects."""

from typing import Any

import httpx2
import pytest
from django.test import Client

from chat_app.models import ABComparison, Conversation, Message, ModelProfile
from tests.chat.api.comparison_helpers import (
    ONE,
    TWO,
    compare,
    model_scenario,
    prompt_of,
    seed_for,
    vote,
)
from tests.chat.api_client import TIMEOUT_SECONDS, Api, error_of
from tests.chat.scripts import ENDLESS
from tests.support.live_server import Live
from tests.traces.rows import dead_owner
from traces_app.models import Status, Trace


@pytest.mark.parametrize("preference", ["a", "b", "tie"])
def test_record_preference_vote(two_profiles: None, api: Api, preference: str) -> None:
    comparison_id = compare(api).last["comparison_id"]
    answer = vote(api, comparison_id, preference)
    assert answer.status_code == 200
    row = ABComparison.objects.get()
    assert answer.json() == {
        "status": "recorded",
        "preference": preference,
        "profiles": {"a": row.profile_a_name, "b": row.profile_b_name},
    }
    assert row.preference == preference and row.preference_at is not None


def test_profiles_and_models_are_hidden_until_the_vote(two_profiles: None, api: Api) -> None:
    stream = compare(api)
    comparison_id = stream.last["comparison_id"]
    names = (ONE, TWO, f"model-{ONE}", f"model-{TWO}")
    texts = [stream.raw.decode()]
    record = api.get(f"ab/{comparison_id}")
    texts.append(record.text)
    texts.append(api.get("ab/pending").text)
    for trace_id in (record.json()["trace_id_a"], record.json()["trace_id_b"]):
        trace = api.get(f"trace/{trace_id}").json()
        assert (trace["profile"], trace["provider"], trace["model"]) == (None, None, None)
        assert [call["model"] for call in trace["model_calls"]] == [None]
    for text in texts:
        assert not any(f'"{name}"' in text for name in names)
    vote(api, comparison_id, "a")
    comparison = api.get(f"ab/{comparison_id}").json()
    assert sorted(comparison["profiles"].values()) == [ONE, TWO]
    assert (
        api.get(f"trace/{comparison['trace_id_a']}").json()["profile"]
        == comparison["profiles"]["a"]
    )


@pytest.mark.parametrize(
    ("sent_preference", "stored_preference"),
    [("A", "a"), ("B", "b"), ("TIE", "tie"), ("Tie", "tie")],
)
def test_a_vote_may_be_in_upper_case(
    two_profiles: None, api: Api, sent_preference: str, stored_preference: str
) -> None:
    comparison_id = compare(api).last["comparison_id"]
    answer = vote(api, comparison_id, sent_preference)
    assert (answer.status_code, answer.json()["preference"]) == (200, stored_preference)
    assert ABComparison.objects.get().preference == stored_preference
    assert vote(api, comparison_id, stored_preference).status_code == 200


def test_repeated_vote_is_accepted_and_a_changed_one_is_a_conflict(
    two_profiles: None, api: Api
) -> None:
    comparison_id = compare(api).last["comparison_id"]
    assert vote(api, comparison_id, "tie").status_code == 200
    assert vote(api, comparison_id, "tie").status_code == 200
    assert error_of(vote(api, comparison_id, "a")) == (409, "CONFLICT", "preference")
    assert ABComparison.objects.get().preference == "tie"


def test_comparison_is_hidden_from_other_clients(two_profiles: None, live: Live, api: Api) -> None:
    comparison_id = compare(api).last["comparison_id"]
    other = Api(live.base_url, client_id="somebody else")
    assert error_of(vote(other, comparison_id, "a"))[0] == 404
    assert error_of(other.get(f"ab/{comparison_id}"))[0] == 404
    assert other.get("ab/pending").json() == {"comparisons": []}
    conversation = Conversation.objects.get()
    response = other.post("ab/stream", message="x", conversation_id=str(conversation.pk))
    assert error_of(response)[0] == 404


def test_empty_comparison_id_is_not_found(live: Live, api: Api) -> None:
    assert error_of(vote(api, "", "a")) == (404, "NOT_FOUND", "comparison_id")


@pytest.mark.parametrize("comparison_id", ["7", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_comparison_is_not_found(live: Live, api: Api, comparison_id: str) -> None:
    assert error_of(vote(api, comparison_id, "a")) == (404, "NOT_FOUND", "comparison_id")
    assert error_of(api.get(f"ab/{comparison_id}"))[0] == 404


@pytest.mark.parametrize("preference", ["c", "", None, 1, "AB", " a"])
def test_invalid_preference_is_refused(live: Live, api: Api, preference: Any) -> None:
    answer = api.post("ab/vote", comparison_id="7", preference=preference)
    assert error_of(answer) == (400, "VALIDATION_ERROR", "preference")


def test_running_comparison_gets_no_vote(two_profiles: None, live: Live, api: Api) -> None:
    live.load(model_scenario("model-two", ENDLESS, name=TWO))
    body = {"client_id": api.client_id, "message": "x", "profile_a": ONE, "profile_b": TWO}
    with httpx2.stream(
        "POST", f"{live.base_url}/api/ab/stream", json=body, timeout=TIMEOUT_SECONDS
    ) as answer:
        next(answer.iter_bytes())
        comparison = ABComparison.objects.get()
        assert error_of(vote(api, str(comparison.pk), "a")) == (409, "CONFLICT", "comparison_id")
        busy = api.post("ab/stream", message="y", conversation_id=str(comparison.conversation_id))
        assert error_of(busy)[0] == 409
        cancelled = api.post("cancel_stream", conversation_id=str(comparison.conversation_id))
        assert cancelled.status_code == 200
    assert not Trace.objects.filter(status=Status.RUNNING).exists()


def test_comparison_with_a_dead_run_has_the_status_failed(two_profiles: None, api: Api) -> None:
    stream = compare(api, seed=seed_for(ONE))
    Trace.objects.filter(branch="b").update(status=Status.RUNNING, owner=dead_owner())
    comparison_id = stream.last["comparison_id"]
    assert api.get(f"ab/{comparison_id}").json()["status_b"] == "failed"
    Trace.objects.filter(branch="b").update(status=Status.RUNNING)
    assert vote(api, comparison_id, "a").status_code == 200


@pytest.mark.parametrize(
    ("preference", "expected_answer"),
    [("a", "I am one."), ("b", "I am two."), ("tie", "I am one."), ("", "I am one.")],
)
def test_later_prompts_hold_the_preferred_answer(
    two_profiles: None, live: Live, api: Api, preference: str, expected_answer: str
) -> None:
    stream = compare(api, seed=seed_for(ONE))
    if preference:
        vote(api, stream.last["comparison_id"], preference)
    live.load({"name": "next", "priority": 5, "steps": [{"produce": {"text": "Next."}}]})
    api.send("And now?", profile=ONE, conversation_id=stream.conversation_id)
    assert [message["content"] for message in prompt_of(stream.conversation_id)] == [
        "Who are you?",
        expected_answer,
        "And now?",
    ]


def test_pending_comparisons_come_latest_first_until_they_are_voted_on(
    two_profiles: None, api: Api
) -> None:
    ids = [compare(api).last["comparison_id"] for _ in range(3)]
    pending = api.get("ab/pending").json()["comparisons"]
    assert [comparison["comparison_id"] for comparison in pending] == ids[::-1]
    assert {comparison["preference"] for comparison in pending} == {None}
    vote(api, ids[1], "a")
    pending = api.get("ab/pending", limit=1).json()["comparisons"]
    assert [comparison["comparison_id"] for comparison in pending] == [ids[2]]


def test_leaderboard_counts_votes_of_all_clients(two_profiles: None, live: Live, api: Api) -> None:
    clients = [api, Api(live.base_url, client_id="other")]
    for number in range(4):
        client = clients[number % 2]
        stream = compare(client, seed=seed_for(ONE))
        vote(client, stream.last["comparison_id"], "tie" if number == 3 else "a")
    first, second = api.get("ab/leaderboard").json()["profiles"]
    assert (first["profile"], first["wins"], first["ties"], first["losses"]) == (ONE, 3, 1, 0)
    assert (second["profile"], second["wins"], second["ties"], second["losses"]) == (TWO, 0, 1, 3)
    assert first["low"] <= first["score"] <= first["high"]
    assert first["score"] > 1000 > second["score"]
    assert [(row["votes"], row["too_few_votes"]) for row in (first, second)] == [(4, True)] * 2
    html = Client().get("/chat/leaderboard/").content.decode()
    assert html.count("too few votes: 4 of 10") == 2 and "<svg" not in html
    rows = ABComparison.objects.all()
    rows.bulk_create(
        ABComparison(
            conversation=row.conversation,
            user_message=Message.objects.create(conversation=row.conversation, number=number),
            seed=1,
            profile_a_name=row.profile_a_name,
            profile_b_name="third",
            preference="a",
        )
        for row in rows[:1]
        for number in range(10, 16)
    )
    ranks = api.get("ab/leaderboard").json()["profiles"]
    assert [row["too_few_votes"] for row in ranks] == [False, True, True]
    html = Client().get("/chat/leaderboard/").content.decode()
    assert html.count("too few votes") == 2 and html.count("<svg") == 1


def test_a_profile_that_is_deleted_keeps_its_name_in_the_records(
    two_profiles: None, api: Api
) -> None:
    comparison_id = compare(api, seed=seed_for(ONE)).last["comparison_id"]
    vote(api, comparison_id, "a")
    ModelProfile.objects.all().delete()
    assert api.get(f"ab/{comparison_id}").json()["profiles"] == {"a": ONE, "b": TWO}
