"""Scenarios of one step, and what is suspicious in them."""

from typing import Any

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.lint import Suspicion, lint

ANSWER = {"text": "Hi."}
CALL = {"tool_calls": [{"name": "get_weather", "arguments": {}}]}


def user(**condition: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", **condition}]}


def one(match: dict[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    return {"match": match or {}, "produce": ANSWER, "consume": False, **others}


def found(
    *steps: dict[str, Any], more: list[dict[str, Any]] | None = None, **others: Any
) -> list[Suspicion]:
    names = {key: others.pop(key) for key in ("providers", "offered") if key in others}
    documents = [{"name": "s", "steps": list(steps), **others}, *(more or [])]
    loaded = load_documents({"scenarios": documents})
    return lint([compile_scenario(document) for document in loaded], **names)


def kinds(*steps: dict[str, Any], **others: Any) -> list[tuple[int, str]]:
    return [(suspicion.step, suspicion.kind) for suspicion in found(*steps, **others)]
