"""Comparisons over a running server: two answers in one stream, a blind vote, and who wins."""

import json
from typing import Any

import httpx2
import pytest

from chat_app.comparisons import draw
from chat_app.models import ABComparison, Conversation, Message, ModelProfile, Sender
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.asking import SECONDS, Api, Stream, error_of, read
from tests.chat.scripts import ENDLESS
from tests.live import Live
from traces_app.models import Status, Trace

ONE, TWO = "one", "two"


@pytest.fixture
def pair(live: Live) -> None:
    """Two profiles that the mock tells apart by their models."""
    for name in (ONE, TWO):
        ModelProfile.objects.create(
            name=name, provider_id="openai", model_id=f"model-{name}", base_url="mock:"
        )
    live.load(
        *(answering(f"model-{name}", {"text": f"I am {name}."}, name=name) for name in (ONE, TWO))
    )


def answering(model: str, produce: dict[str, Any], *, name: str) -> dict[str, Any]:
    step = {"match": {"model": model}, "consume": False, "produce": produce}
    return {"name": name, "steps": [step]}


def compare(api: Api, message: str = "Who are you?", **fields: Any) -> Stream:
    given = {"profile_a": ONE, "profile_b": TWO, "message": message, **fields}
    return read(api.post("ab/stream", **given))


def said(stream: Stream) -> dict[str, str]:
    """What each branch said."""
    return {
        branch: "".join(e["content"] for e in stream.of("chunk") if e["branch"] == branch)
        for branch in "ab"
    }


def voted(api: Api, comparison_id: str, preference: str) -> Any:
    return api.post("ab/vote", comparison_id=comparison_id, preference=preference)


def seed_for(first: str) -> int:
    """A seed that calls this profile `a`."""
    profiles = {name: ModelProfile(name=name) for name in (ONE, TWO)}
    for seed in range(100):
        drawn = draw(profiles[ONE], profiles[TWO], seed)["a"]
        if drawn is not None and drawn.name == first:
            return seed
    raise AssertionError(first)


def test_create_a_b_comparison(pair: None, api: Api) -> None:
    stream = compare(api)
    comparison = ABComparison.objects.get()
    assert stream.last == {
        "type": "done",
        "conversation_id": stream.conversation_id,
        "comparison_id": str(comparison.pk),
        "message_id_a": str(comparison.trace_a.message_id),
        "message_id_b": str(comparison.trace_b.message_id),
    }
    assert sorted(said(stream).values()) == ["I am one.", "I am two."]
    assert Message.objects.filter(sender=Sender.USER).count() == 1


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


def test_each_branch_is_a_run_with_its_own_start_and_end(pair: None, api: Api) -> None:
    stream = compare(api)
    for branch in "ab":
        own = [event.data for event in stream.events if event.data.get("branch") == branch]
        assert [own[0]["type"], own[-1]["type"]] == ["started", "done"]
        trace = Trace.objects.get(pk=own[0]["trace_id"])
        assert (trace.branch, trace.status) == (branch, Status.COMPLETED)
        assert own[-1]["message_id"] == str(trace.message_id)
    assert len({event["message_id"] for event in stream.of("started")}) == 1
    assert [event.id for event in stream.events] == list(range(1, len(stream.events) + 1))


def test_the_seed_decides_who_is_called_a(pair: None, api: Api) -> None:
    for first in (ONE, TWO):
        stream = compare(api, seed=seed_for(first))
        assert said(stream)["a"] == f"I am {first}."


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


def test_nobody_else_sees_or_votes(pair: None, live: Live, api: Api) -> None:
    comparison_id = compare(api).last["comparison_id"]
    other = Api(live.base_url, client_id="somebody else")
    assert error_of(voted(other, comparison_id, "a"))[0] == 404
    assert error_of(other.get(f"ab/{comparison_id}"))[0] == 404
    assert other.get("ab/pending").json() == {"comparisons": []}
    conversation = Conversation.objects.get()
    refused = other.post("ab/stream", message="x", conversation_id=str(conversation.pk))
    assert error_of(refused)[0] == 404


@pytest.mark.parametrize("comparison_id", ["7", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_comparison_is_not_found(live: Live, api: Api, comparison_id: str) -> None:
    assert error_of(voted(api, comparison_id, "a")) == (404, "NOT_FOUND", "comparison_id")
    assert error_of(api.get(f"ab/{comparison_id}"))[0] == 404


@pytest.mark.parametrize("preference", ["c", "", None, 1, "AB", " a"])
def test_a_preference_is_a_b_or_tie(live: Live, api: Api, preference: Any) -> None:
    answer = api.post("ab/vote", comparison_id="7", preference=preference)
    assert error_of(answer) == (400, "VALIDATION_ERROR", "preference")


def test_a_failing_branch_leaves_the_other_alone_and_gets_no_vote(
    pair: None, live: Live, api: Api
) -> None:
    broken = {"fault": {"kind": "http", "status": 401}}
    live.load(answering("model-two", broken, name=TWO))
    stream = compare(api, seed=seed_for(ONE))
    (error,) = stream.of("error")
    assert (error["branch"], error["code"]) == ("b", "UNAUTHORIZED")
    assert said(stream)["a"] == "I am one."
    assert stream.last["message_id_b"] is None
    comparison_id = stream.last["comparison_id"]
    assert error_of(voted(api, comparison_id, "b")) == (409, "CONFLICT", "preference")
    assert error_of(voted(api, comparison_id, "tie"))[0] == 409
    assert api.get("ab/pending").json() == {"comparisons": []}
    assert voted(api, comparison_id, "a").status_code == 200


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


def test_after_a_failed_branch_prompts_hold_the_one_that_succeeded(
    pair: None, live: Live, api: Api
) -> None:
    live.load(answering("model-one", {"fault": {"kind": "rate_limit"}}, name=ONE))
    stream = compare(api, seed=seed_for(ONE))
    live.load({"name": "next", "priority": 5, "steps": [{"produce": {"text": "Next."}}]})
    api.send("And now?", profile=TWO, conversation_id=stream.conversation_id)
    assert prompt_of(stream.conversation_id)[1]["content"] == "I am two."


def prompt_of(conversation_id: str) -> list[dict[str, Any]]:
    """The messages of the last prompt in a conversation's own session."""
    assert journal.flush()
    row = ServedRequest.objects.filter(session=f"chat-{conversation_id}").latest("pk")
    messages: list[dict[str, Any]] = json.loads(row.request_body)["messages"]
    return messages


def test_each_branch_has_a_session_of_its_own(pair: None, api: Api) -> None:
    stream = compare(api)
    assert journal.flush()
    sessions = set(ServedRequest.objects.values_list("session", flat=True))
    assert sessions == {f"chat-{stream.conversation_id}-{branch}" for branch in "ab"}


def test_switched_off_they_are_forbidden(pair: None, api: Api, settings: Any) -> None:
    settings.AB_TESTING_ENABLED = False
    assert error_of(api.post("ab/stream", message="x")) == (403, "FORBIDDEN", None)
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("fields", "status", "place"),
    [
        ({"message": "  "}, 400, "message"),
        ({"profile_a": "nobody"}, 404, "profile"),
        ({"seed": "1"}, 400, "seed"),
        ({"conversation_id": "7"}, 404, "conversation_id"),
        ({"surprise": 1}, 400, "surprise"),
    ],
)
def test_whatever_is_wrong_before_is_an_http_error_and_stores_nothing(
    pair: None, api: Api, fields: dict[str, Any], status: int, place: str
) -> None:
    given = {"message": "x", "profile_a": ONE, "profile_b": TWO, **fields}
    answer = api.post("ab/stream", **given)
    assert (error_of(answer)[0], error_of(answer)[2]) == (status, place)
    assert not Message.objects.exists() and not ABComparison.objects.exists()


def test_sent_again_with_its_id_a_message_is_not_sent_again(pair: None, api: Api) -> None:
    first = compare(api, client_message_id="m-1")
    again = compare(api, client_message_id="m-1")
    assert again.last == first.last
    assert said(again) == said(first)
    assert Message.objects.filter(sender=Sender.USER).count() == 1
    assert error_of(api.post("ab/stream", message="other", client_message_id="m-1"))[0] == 409


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


def test_a_loaded_conversation_says_which_answer_is_which(pair: None, api: Api) -> None:
    stream = compare(api)
    messages = api.loaded(stream.conversation_id)
    assert [message["sender"] for message in messages] == ["user", "assistant", "assistant"]
    assert sorted(message["branch"] or "" for message in messages) == ["", "a", "b"]
