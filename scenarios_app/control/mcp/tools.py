"""The tools of the control MCP server. Their docstrings are the descriptions that agents read."""

import asyncio
import json
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from asgiref.sync import async_to_sync
from rest_framework import serializers

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import stored_suspicions, suspicions_once_loaded
from scenarios_app.control import coverage, explain, recording, requests, sessions, verdict
from scenarios_app.control.kit import ControlError, ScenarioField
from scenarios_app.control.mcp.registry import (
    MAX_TEXT_CHARS,
    Fields,
    Hints,
    ToolResult,
    ToolSpec,
    cut,
    cut_lists,
    tool_of,
)
from scenarios_app.control.scenarios import ProblemBody, scenario_store
from scenarios_app.control.steps import add_step_for
from scenarios_app.control.stores import not_found_error, read_document, read_documents
from scenarios_app.engine.document import DocumentError, dump
from scenarios_app.engine.matching.index import Index
from scenarios_app.models.journal import UNMATCHED_ROWS
from scenarios_app.play.conversation import load_conversation
from scenarios_app.play.player import FixedCatalog, play
from scenarios_app.play.proposal import propose_conversation
from scenarios_app.play.report import to_json, to_text
from scenarios_app.serving.services import services
from scenarios_app.store.documents import conversation_for

TOOLS: Final[dict[str, ToolSpec]] = {}
tool = partial(tool_of, TOOLS)

# MCP's annotations of tools; all but recording work on this server's data only.
_LOCAL: Final = {"open_world_hint": False}
READS: Final[Hints] = {"read_only_hint": True} | _LOCAL
ADDS: Final[Hints] = {"destructive_hint": False} | _LOCAL
REPLACES: Final[Hints] = {"destructive_hint": True, "idempotent_hint": True} | _LOCAL
RECORDS: Final[Hints] = {"destructive_hint": True, "open_world_hint": True}
# A scenario is returned with as many steps as this holds.
MAX_DOCUMENT_CHARS: Final = 40_000
MAX_WARNINGS: Final = 50
MAX_NEAREST_STEPS: Final = 5
_EXAMPLE: Final = (
    'Such as {"name": "greeting", "steps": [{"match": {"messages": [{"role": "user", "contains": '
    '"hello"}]}, "consume": false, "produce": {"text": "Hi!"}}]}.'
)
_LINE = ("name", "description", "enabled", "select", "priority")
_WARNING = ("kind", "scenario", "step", "place", "message")
_JSON = serializers.JSONField()
_LIST = serializers.ListField(child=_JSON)
_LEFT_OUT = {"left_out": Whole()}
_NAME = Text(help_text="The scenario's name.")
_NAMES = {"scenarios": _LIST}
_REQUEST = serializers.UUIDField(help_text="The id of the served request.")
_OFFSET = Whole(required=False, min_value=0, default=0, help_text="The first character of bodies.")


def _limit_field(default: int, maximum: int = 200, text: str = "Entries at most.") -> Whole:
    return Whole(required=False, min_value=1, max_value=maximum, default=default, help_text=text)


_CHARS = _limit_field(MAX_TEXT_CHARS, 20_000, "Of bodies: characters at most.")


@tool(
    "list_scenarios",
    READS,
    {"scenarios": _LIST, "problems": ProblemBody(many=True), "next": Text(allow_null=True)},
    after=Text(required=False, default="", help_text="The `next` of the previous page."),
    limit=_limit_field(50),
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
    "read_scenario",
    READS,
    {"scenario": ScenarioField(), "steps": Whole(), "next_step": Whole(allow_null=True)},
    name=_NAME,
    first_step=Whole(required=False, min_value=1, default=1, help_text="The first step."),
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


@tool("add_scenario", ADDS, _NAMES, document=ScenarioField(help_text=f"One or more. {_EXAMPLE}"))
def add_scenario(fields: Fields) -> ToolResult:
    """Add a scenario of a new name. Next: check, then play."""
    documents = read_documents(fields["document"])
    scenario_store(fields.get("session")).add(documents)
    return ToolResult(
        {"scenarios": [document.name for document in documents]}, "Added. Next: check."
    )


@tool(
    "change_scenario",
    REPLACES,
    _NAMES,
    name=_NAME,
    document=ScenarioField(help_text="The scenario with all steps."),
)
def change_scenario(fields: Fields) -> ToolResult:
    """Replace a scenario as a whole, or create it. Call read_scenario first. Consumed steps are
    free again. Next: check."""
    document = read_document(fields["document"], name=fields["name"])
    new = scenario_store(fields.get("session")).put(document)
    text = f"{'Added' if new else 'Replaced'}. Next: check."
    return ToolResult({"scenarios": [document.name]}, text)


@tool("delete_scenario", REPLACES, _NAMES, name=_NAME)
def delete_scenario(fields: Fields) -> ToolResult:
    """Delete a scenario."""
    scenario_store(fields.get("session")).remove(fields["name"])
    return ToolResult({"scenarios": [fields["name"]]}, "Deleted.")


@tool(
    "check",
    READS,
    {"valid": Flag(), "problems": _LIST, "warnings": _LIST, **_LEFT_OUT},
    document=ScenarioField(required=False, help_text="Default: the stored scenarios."),
)
def check_scenarios(fields: Fields) -> ToolResult:
    """Find mistakes, and steps that never answer, loop or answer too much: in a document before it
    is stored, or in all stored scenarios. Next: reset, run the test again, verdict."""
    problems: list[str] = []
    suspicions: Any = ()
    try:
        if "document" in fields:
            suspicions = suspicions_once_loaded(read_documents(fields["document"]))
        else:
            stored = scenario_store(fields.get("session")).list_all()
            problems = [str(problem) for problem in stored.problems]
            own = "session" in fields
            suspicions = suspicions_once_loaded(stored.documents) if own else stored_suspicions()
    except DocumentError as error:
        problems = [str(problem) for problem in error.problems]
    warnings = [{key: getattr(suspicion, key) for key in _WARNING} for suspicion in suspicions]
    body = {"valid": not problems, "problems": problems, "warnings": warnings}
    text = f"{len(problems)} problems, {len(warnings)} warnings."
    return ToolResult(cut_lists(body, MAX_WARNINGS, "problems", "warnings"), text)


@tool(
    "play",
    READS,
    {"passed": Flag(), "conversations": _LIST},
    scenario=Text(required=False, help_text="The scenario that must answer."),
    conversation=serializers.DictField(
        required=False,
        help_text='Such as {"turns": [{"user": "hello", "expect": {"text": "Hi!"}}]}. Default: '
        "the scenario's stored conversation, or one that fits its steps.",
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
    runs = [asyncio.run(play(turns, catalog=FixedCatalog(index), options=options, scenario=name))]
    return ToolResult(cut(to_json(runs)), cut(to_text(runs)))


def _visible_index(session: str | None) -> Index:
    """Return the enabled scenarios as requests of a session see them."""
    if session is None:
        return catalog.index()
    read = async_to_sync(services().state.scenarios_of)
    version, documents = read(sessions.resolve_scenario_session(session))
    return catalog.index_for(documents, version)


@tool(
    "unmatched",
    READS,
    requests.RequestsBody,
    after=requests.RequestsQuery().fields["after"],
    limit=_limit_field(20),
)
def list_unmatched(fields: Fields) -> ToolResult:
    """List the requests that no step answered, the oldest first, with the nearest steps and the
    conditions that failed; read_request has their messages. Next: make_step with an id; or
    change_scenario, if a near step should have matched."""
    body = cut(requests.list_requests(fields, UNMATCHED_ROWS))
    count = len(body["requests"])
    hint = "Next: make_step with its id." if count else "Each request was answered. Next: verdict."
    return ToolResult(body, f"{count} unmatched requests on this page. {hint}")


@tool("requests", READS, requests.RequestsBody, requests.RequestsQuery, limit=_limit_field(20))
def list_requests(fields: Fields) -> ToolResult:
    """List served requests, the oldest first. read_request has their bodies."""
    body = cut(requests.list_requests(fields))
    return ToolResult(body, f"{len(body['requests'])} requests on this page.")


def _body_part(body: str | None, fields: Fields) -> str | None:
    """Return the part of a body that the arguments `offset` and `limit` choose. None stays None."""
    return body and body[fields["offset"] : fields["offset"] + fields["limit"]]


@tool(
    "read_request",
    READS,
    requests.RequestBody,
    Shape,
    request=_REQUEST,
    offset=_OFFSET,
    limit=_CHARS,
)
def read_request(fields: Fields) -> ToolResult:
    """Read a served request and its response with headers and bodies. Secrets are masked."""
    body = requests.request_body(requests.find_request(fields["request"]))
    ends = []
    for name in ("request", "response"):
        text = body[name]["body"]
        body[name]["body"] = _body_part(text, fields)
        end = min(fields["offset"] + fields["limit"], len(text))
        ends.append(f"{name} body to character {end:,} of {len(text):,}")
    return ToolResult(body, f"{', '.join(ends)}; offset reads on.")


@tool(
    "explain",
    READS,
    explain.ExplanationBody,
    explain.ExplainBody,
    path=Text(required=False, help_text="The path with its query, without `request`."),
    request=serializers.UUIDField(required=False, help_text="The id of a served request."),
    offset=_OFFSET,
    limit=_CHARS,
)
def explain_request(fields: Fields) -> ToolResult:
    """Explain which step would answer a request now, and which conditions fail in the five nearest
    others. The header x-mockllm-session names a session. Nothing is consumed."""
    if ("request" in fields) == ("path" in fields):
        raise ControlError(400, "Send the id of a request or a path, one of the two.")
    if "request" in fields:
        body = explain.explain_row(requests.find_request(fields["request"]))
    else:
        body = explain.explain_request(fields)
    body["steps"].sort(
        key=lambda step: sum(not condition["ok"] for condition in step["conditions"])
    )
    body["steps"] = cut(body["steps"][:MAX_NEAREST_STEPS])
    for sent in filter(None, (body["sent"], body["whole"], body["streamed"])):
        sent |= {
            "body": _body_part(sent["body"], fields),
            "base64": _body_part(sent["base64"], fields),
        }
    winner = body["winner"]
    answers = f"{winner['scenario']}, step {winner['step']} answers." if winner else "No step."
    return ToolResult(body, f"{answers} offset reads bodies on.")


@tool(
    "make_step",
    ADDS,
    {"scenario": Text(), "step": Whole(), "match": _JSON, "answers": Flag(), "winner": _JSON},
    request=_REQUEST,
    text=Text(required=False, help_text="The text of the answer."),
    produce=ScenarioField(
        required=False,
        help_text='Another answer, such as {"tool_calls": [{"name": "f", "arguments": {}}]}.',
    ),
    scenario=Text(required=False, help_text="The scenario to extend; default: a new one."),
)
def make_step(fields: Fields) -> ToolResult:
    """Make a step that answers an unmatched request, with conditions from its last message. Send
    text or produce. Next: check; then reset, run the test again, verdict."""
    if ("text" in fields) == ("produce" in fields):
        raise ControlError(400, "Send text or produce, one of the two.")
    served = requests.find_request(fields["request"])
    produce = fields["produce"] if "produce" in fields else {"text": fields["text"]}
    store = scenario_store(fields.get("session"))
    document = add_step_for(served, produce, store=store, scenario=fields.get("scenario"))
    number, steps = len(document.steps), dump(document)["steps"]
    assert isinstance(steps, list)
    last: Any = steps[-1]
    winner = explain.explain_row(served)["winner"]
    answers = winner == {"scenario": document.name, "step": str(number)}
    body = {"scenario": document.name, "step": number, "match": last.get("match", {})}
    text = "Made. Next: check." if answers else "Made, but another step answers: see explain."
    return ToolResult(body | {"answers": answers, "winner": winner}, text)


@tool(
    "verdict",
    READS,
    verdict.VerdictBody._declared_fields | _LEFT_OUT,
    verdict.VerdictQuery,
    limit=_limit_field(20),
)
def read_verdict(fields: Fields) -> ToolResult:
    """Judge a session, or all: unmatched requests, violations, unused steps, mistakes of clients.
    Next: unmatched, if there are some. After a correction: reset, then run the test again."""
    body = cut_lists(verdict.judge_query(fields), fields["limit"], *verdict.VERDICT_PARTS)
    return ToolResult(body, body["text"])


@tool(
    "coverage",
    READS,
    coverage.CoverageBody._declared_fields | _LEFT_OUT,
    coverage.CoverageQuery,
    limit=_limit_field(20),
)
def read_coverage(fields: Fields) -> ToolResult:
    """Report steps that never answered, conditions that were never true, and faults that never
    struck, in all sessions since the server started."""
    body = cut_lists(coverage.coverage_body(fields["scenarios"]), fields["limit"], "scenarios")
    return ToolResult(body, body["text"])


@tool(
    "start_recording",
    RECORDS,
    recording.RecordingBody,
    mode=serializers.ChoiceField(
        choices=recording.MODES,
        default="new",
        help_text="new: replay, and record unmatched requests; all: the same without earlier "
        "recordings; none: only replay.",
    ),
    name=Text(default=recording.DEFAULT_NAME, max_length=200, help_text="The new scenario's name."),
)
def start_recording(fields: Fields) -> ToolResult:
    """Record a session, or all: unmatched requests go to the real provider with the client's own
    key, and cost money. Next: run the program, then stop_recording."""
    body = recording.begin_recording({"session": None, "keys": {}, "cassettes": [], **fields})
    return ToolResult(cut(body), "Recording. Next: run the program, then stop_recording.")


@tool("stop_recording", {"destructive_hint": True, **_LOCAL}, recording.EndedBody)
def stop_recording(fields: Fields) -> ToolResult:
    """Stop a recording and store its scenario, in place of one of the same name."""
    _, body = recording.end_recording(fields.get("session"))
    document, text = body["document"], "It only replayed. Next: drift."
    if document is not None:
        stored = read_document(document, name=body["name"])
        scenario_store(fields.get("session")).put(stored)
        body["document"] = {key: value for key, value in document.items() if key != "steps"}
        text = f"“{stored.name}” has {len(stored.steps)} steps. Next: read_scenario."
    return ToolResult(cut(body), text)


@tool("drift", READS, recording.AllDriftBody, Shape)
def list_drift(fields: Fields) -> ToolResult:
    """List how requests differ from their recordings, for each replay that has ended."""
    reports = cut(list(services().drifts))
    count = sum(report["drifted"] for report in reports)
    return ToolResult({"recordings": reports}, f"{count} of {len(reports)} recordings differ.")


@tool(
    "reset",
    REPLACES,
    {"session": Text(allow_null=True)},
    scenarios=Flag(required=False, default=False, help_text="Also remove private scenarios."),
)
def reset_session(fields: Fields) -> ToolResult:
    """Forget a session's journal, consumed steps and counters, or those of all, before a test runs
    again. Scenarios stay."""
    body = sessions.reset({"session": fields.get("session"), "scenarios": fields["scenarios"]})
    return ToolResult({"session": body["session"]}, "Reset. Next: run the test, then verdict.")
