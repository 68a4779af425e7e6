"""Tools for scenarios. Their docstrings are the descriptions that agents read."""

import asyncio
import json
from dataclasses import asdict
from typing import Any, Final

from asgiref.sync import async_to_sync
from rest_framework import serializers

from mockllm_site.kit.api.shapes import Flag, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions, suspicions_once_loaded
from scenarios_app.control.kit import ControlError, ScenarioField
from scenarios_app.control.mcp.registry import (
    ADDS,
    READS,
    REPLACES,
    Fields,
    ToolResult,
    cut,
    cut_lists,
    limit,
    tool,
)
from scenarios_app.control.scenarios import ProblemBody, scenario_store
from scenarios_app.control.sessions import resolve_scenario_session
from scenarios_app.control.stores import not_found_error, read_document, read_documents
from scenarios_app.engine.document import DocumentError, dump
from scenarios_app.engine.matching.index import Index
from scenarios_app.play.conversation import load_conversation
from scenarios_app.play.player import FixedCatalog, play
from scenarios_app.play.proposal import propose_conversation
from scenarios_app.play.report import to_json, to_text
from scenarios_app.serving.services import services
from scenarios_app.store.documents import conversation_for

# A scenario is returned with as many steps as this holds.
MAX_DOCUMENT_CHARS: Final = 40_000
MAX_WARNINGS: Final = 50
_EXAMPLE: Final = (
    'Such as {"name": "greeting", "steps": [{"match": {"messages": [{"role": "user", "contains": '
    '"hello"}]}, "consume": false, "produce": {"text": "Hi!"}}]}.'
)
_LINE = ("name", "description", "enabled", "select", "priority")
_WARNING = ("kind", "scenario", "step", "place", "message")
_JSON = serializers.JSONField
NAME = Text(help_text="The scenario's name.")
NAMES = {"scenarios": serializers.ListField(child=Text(), help_text="The names.")}


@tool(
    READS,
    {
        "scenarios": serializers.ListField(
            child=_JSON(), help_text="By name, without their steps."
        ),
        "problems": ProblemBody(
            many=True, help_text="Stored scenarios that are left out, and why."
        ),
        "next": Text(allow_null=True, help_text="`after` of the next page; null: the last."),
    },
    after=Text(required=False, default="", help_text="The name after which to go on."),
    limit=limit(50),
)
def list_scenarios(fields: Fields) -> ToolResult:
    """List scenarios. read_scenario has their steps."""
    stored = scenario_store(fields.get("session")).list_all()
    documents = [document for document in stored.documents if document.name > fields["after"]]
    page = documents[: fields["limit"]]
    lines = [
        {key: getattr(document, key) for key in _LINE} | {"steps": len(document.steps)}
        for document in page
    ]
    problems = [asdict(problem) for problem in stored.problems]
    after = page[-1].name if len(documents) > len(page) else None
    body = {"scenarios": lines, "problems": problems, "next": after}
    return ToolResult(cut(body), f"{len(stored.documents)} scenarios.")


@tool(
    READS,
    {
        "scenario": ScenarioField(help_text="The document, for change_scenario."),
        "steps": Whole(help_text="Number of all steps."),
        "next_step": Whole(allow_null=True, help_text="`first_step` of the rest; null: no rest."),
    },
    name=NAME,
    first_step=Whole(required=False, min_value=1, default=1, help_text="Number from 1."),
)
def read_scenario(fields: Fields) -> ToolResult:
    """Read a scenario as a document, to change it with change_scenario."""
    document = dump(scenario_store(fields.get("session")).get(fields["name"]))
    steps: Any = document.get("steps", [])
    first, chars = fields["first_step"] - 1, 0
    last = first
    for step in steps[first:]:
        chars += len(json.dumps(step))
        if last > first and chars > MAX_DOCUMENT_CHARS:
            break
        last += 1
    text = f"Steps {first + 1} to {last} of {len(steps)}."
    if last - first < len(steps):
        text += " change_scenario needs all of them."
    body = {
        "scenario": {**document, "steps": steps[first:last]},
        "steps": len(steps),
        "next_step": last + 1 if last < len(steps) else None,
    }
    return ToolResult(body, text)


@tool(ADDS, NAMES, document=ScenarioField(help_text=f"A scenario or several. {_EXAMPLE}"))
def add_scenario(fields: Fields) -> ToolResult:
    """Add a scenario of a new name. Next: check, then play_scenario."""
    documents = read_documents(fields["document"])
    scenario_store(fields.get("session")).add(documents)
    return ToolResult({"scenarios": [one.name for one in documents]}, "Added. Next: check.")


@tool(REPLACES, NAMES, name=NAME, document=ScenarioField(help_text="With all steps."))
def change_scenario(fields: Fields) -> ToolResult:
    """Replace a scenario as a whole, or create it. Call read_scenario first. Consumed steps are
    free again. Next: check."""
    document = read_document(fields["document"], name=fields["name"])
    new = scenario_store(fields.get("session")).put(document)
    text = f"{'Added' if new else 'Replaced'}. Next: check."
    return ToolResult({"scenarios": [document.name]}, text)


@tool(REPLACES, NAMES, name=NAME)
def delete_scenario(fields: Fields) -> ToolResult:
    """Delete a scenario."""
    scenario_store(fields.get("session")).remove(fields["name"])
    return ToolResult({"scenarios": [fields["name"]]}, "Deleted.")


@tool(
    READS,
    {
        "valid": Flag(help_text="Whether there are no problems."),
        "problems": serializers.ListField(child=Text(), help_text="Mistakes, with their places."),
        "warnings": serializers.ListField(
            child=_JSON(), help_text="Steps that never answer, loop or answer too much."
        ),
        "left_out": Whole(help_text=f"Entries of lists beyond {MAX_WARNINGS}."),
    },
    document=ScenarioField(required=False, help_text="Without it, the stored scenarios."),
)
def check(fields: Fields) -> ToolResult:
    """Find mistakes, and steps that can never answer: in a document before it is stored, or in all
    stored scenarios. Next: reset, run the test again, verdict."""
    problems: list[str] = []
    suspicions: Any = ()
    try:
        stored = scenario_store(fields.get("session")).list_all()
        if "document" in fields:
            suspicions = suspicions_once_loaded(read_documents(fields["document"]))
        else:
            problems = [str(problem) for problem in stored.problems]
            own = "session" in fields
            suspicions = suspicions_once_loaded(stored.documents) if own else stored_suspicions()
    except DocumentError as error:
        problems = [str(problem) for problem in error.problems]
    warnings = [{key: getattr(one, key) for key in _WARNING} for one in suspicions]
    body = {"valid": not problems, "problems": problems, "warnings": warnings}
    text = f"{len(problems)} problems, {len(warnings)} warnings."
    return ToolResult(cut_lists(body, MAX_WARNINGS, "problems", "warnings"), text)


@tool(
    READS,
    {
        "passed": Flag(help_text="Whether each turn is as expected."),
        "conversations": serializers.ListField(
            child=_JSON(), help_text="Each turn with its checks and its answer."
        ),
    },
    scenario=Text(required=False, help_text="The scenario that has to answer."),
    conversation=ScenarioField(
        required=False,
        help_text='Such as {"turns": [{"user": "hello", "expect": {"text": "Hi!"}}]}. Without it, '
        "the scenario's stored conversation, or one that its steps suggest.",
    ),
)
def play_scenario(fields: Fields) -> ToolResult:
    """Play a conversation against scenarios, as a client would. Nothing is consumed."""
    name, index = fields.get("scenario", ""), _visible_index(fields.get("session"))
    if name and name not in index.by_name:
        raise not_found_error(name)
    options = services().pipeline.options
    conversation = fields.get("conversation") or conversation_for(name)
    if not conversation:
        if not name:
            raise ControlError(400, "Send a scenario, a conversation, or both.")
        proposal = propose_conversation(index.by_name[name], index=index, options=options)
        conversation, _ = asyncio.run(proposal)
    turns = load_conversation({"name": name or "conversation", **conversation})
    played = play(turns, catalog=FixedCatalog(index), options=options, scenario=name)
    runs = [asyncio.run(played)]
    return ToolResult(cut(to_json(runs)), cut(to_text(runs)))


def _visible_index(session: str | None) -> Index:
    """Return the enabled scenarios as requests of a session see them."""
    if session is None:
        return catalog.index()
    read = async_to_sync(services().state.scenarios_of)
    version, documents = read(resolve_scenario_session(session))
    return catalog.index_for(documents, version)
