"""Helpers that request comparisons and vote on them."""

import json
from typing import Any

from chat_app.comparisons import assign_branches
from chat_app.models import ModelProfile
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.api_client import Api, Stream, read_stream

ONE, TWO = "one", "two"


def model_scenario(model: str, produce: dict[str, Any], *, name: str) -> dict[str, Any]:
    step = {"match": {"model": model}, "consume": False, "produce": produce}
    return {"name": name, "steps": [step]}


def compare(api: Api, message: str = "Who are you?", **fields: Any) -> Stream:
    body = {"profile_a": ONE, "profile_b": TWO, "message": message, **fields}
    return read_stream(api.post("ab/stream", **body))


def vote(api: Api, comparison_id: str, preference: str) -> Any:
    return api.post("ab/vote", comparison_id=comparison_id, preference=preference)


def seed_for(first: str) -> int:
    """Return a seed that assigns this profile to branch `a`."""
    profiles = {name: ModelProfile(name=name) for name in (ONE, TWO)}
    for seed in range(100):
        profile_a = assign_branches(profiles[ONE], profiles[TWO], seed=seed)["a"]
        if profile_a is not None and profile_a.name == first:
            return seed
    raise AssertionError(first)


def prompt_of(conversation_id: str) -> list[dict[str, Any]]:
    """Return the messages of the last prompt in the conversation's session."""
    assert journal.flush()
    row = ServedRequest.objects.filter(session=f"chat-{conversation_id}").latest("pk")
    messages: list[dict[str, Any]] = json.loads(row.request_body)["messages"]
    return messages
