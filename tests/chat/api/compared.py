"""Comparisons that a client asks for, and votes on."""

import json
from typing import Any

from chat_app.comparisons import assign_branches
from chat_app.models import ModelProfile
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.asking import Api, Stream, read

ONE, TWO = "one", "two"


def answering(model: str, produce: dict[str, Any], *, name: str) -> dict[str, Any]:
    step = {"match": {"model": model}, "consume": False, "produce": produce}
    return {"name": name, "steps": [step]}


def compare(api: Api, message: str = "Who are you?", **fields: Any) -> Stream:
    given = {"profile_a": ONE, "profile_b": TWO, "message": message, **fields}
    return read(api.post("ab/stream", **given))


def voted(api: Api, comparison_id: str, preference: str) -> Any:
    return api.post("ab/vote", comparison_id=comparison_id, preference=preference)


def seed_for(first: str) -> int:
    """A seed that calls this profile `a`."""
    profiles = {name: ModelProfile(name=name) for name in (ONE, TWO)}
    for seed in range(100):
        drawn = assign_branches(profiles[ONE], profiles[TWO], seed=seed)["a"]
        if drawn is not None and drawn.name == first:
            return seed
    raise AssertionError(first)


def prompt_of(conversation_id: str) -> list[dict[str, Any]]:
    """The messages of the last prompt in a conversation's own session."""
    assert journal.flush()
    row = ServedRequest.objects.filter(session=f"chat-{conversation_id}").latest("pk")
    messages: list[dict[str, Any]] = json.loads(row.request_body)["messages"]
    return messages
