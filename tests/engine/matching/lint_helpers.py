"""Scenarios of one step, and their lint results."""

from typing import Any

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.lint import Suspicion, lint

ANSWER = {"text": "Hi."}
CALL = {"tool_calls": [{"name": "get_weather", "arguments": {}}]}


def user_match(**condition: Any) -> dict[str, Any]:
    """Return a match with one condition on a user message."""
    return {"messages": [{"role": "user", **condition}]}


def hi_step(match: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a step that answers "Hi." and is never consumed."""
    return {"match": match or {}, "produce": ANSWER, "consume": False, **fields}


def lint_steps(
    *steps: dict[str, Any], more: list[dict[str, Any]] | None = None, **fields: Any
) -> list[Suspicion]:
    """Return the suspicions of a scenario with these steps."""
    names = {key: fields.pop(key) for key in ("providers", "offered") if key in fields}
    documents = [{"name": "s", "steps": list(steps), **fields}, *(more or [])]
    loaded_documents = load_documents({"scenarios": documents})
    return lint([compile_scenario(document) for document in loaded_documents], **names)


def suspicion_kinds(*steps: dict[str, Any], **fields: Any) -> list[tuple[int, str]]:
    """Return step number and kind of each suspicion."""
    return [(suspicion.step, suspicion.kind) for suspicion in lint_steps(*steps, **fields)]
