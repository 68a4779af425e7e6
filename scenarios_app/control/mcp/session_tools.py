"""Tools for requests, verdicts and recordings. Their docstrings are the descriptions that agents
read."""

from typing import Any

from rest_framework import serializers

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.coverage import CoverageBody, CoverageQuery, coverage_body
from scenarios_app.control.explain import (
    ExplainBody,
    ExplanationBody,
    explain_request,
    explain_row,
)
from scenarios_app.control.kit import ControlError, ScenarioField
from scenarios_app.control.mcp.registry import (
    ADDS,
    MAX_TEXT_CHARS,
    READS,
    RECORDS,
    REPLACES,
    Fields,
    ToolResult,
    cut,
    cut_lists,
    limit,
    tool,
)
from scenarios_app.control.recording import (
    DEFAULT_NAME,
    MODES,
    AllDriftBody,
    EndedBody,
    RecordingBody,
    begin_recording,
    drift_reports,
    ended_body,
)
from scenarios_app.control.requests import (
    RequestBody,
    RequestsBody,
    RequestsQuery,
    find_request,
    list_requests,
    request_body,
)
from scenarios_app.control.scenarios import scenario_store
from scenarios_app.control.sessions import reset as reset_fields
from scenarios_app.control.steps import add_step_for
from scenarios_app.control.stores import read_document
from scenarios_app.control.verdict import VerdictBody, VerdictQuery, judge_query
from scenarios_app.engine.document import dump
from scenarios_app.models.journal import UNANSWERED

LEFT_OUT = Whole(help_text="Entries of lists beyond `limit`.")
OFFSET = Whole(required=False, min_value=0, default=0, help_text="Of bodies: first character.")
CHARS = Whole(
    required=False,
    min_value=1,
    max_value=20_000,
    default=MAX_TEXT_CHARS,
    help_text="Of bodies: characters at most.",
)
REQUEST = serializers.UUIDField(help_text="The request's id.")
NEAREST = 5


def _part(body: str | None, fields: Fields) -> str | None:
    return body and body[fields["offset"] : fields["offset"] + fields["limit"]]


@tool(READS, RequestsBody, after=RequestsQuery().fields["after"], limit=limit(20))
def unmatched(fields: Fields) -> ToolResult:
    """List the requests that no step answered, the oldest first, with the nearest steps and the
    conditions that failed; read_request has their messages. Next: make_step with an id; or
    change_scenario, if a near step should have matched."""
    body = cut(list_requests(fields, UNANSWERED))
    count = len(body["requests"])
    hint = "Next: make_step with its id." if count else "Each request was answered. Next: verdict."
    return ToolResult(body, f"{count} unmatched requests on this page. {hint}")


@tool(READS, RequestsBody, RequestsQuery, limit=limit(20))
def requests(fields: Fields) -> ToolResult:
    """List served requests, the oldest first. read_request has their bodies."""
    body = cut(list_requests(fields))
    return ToolResult(body, f"{len(body['requests'])} requests on this page.")


@tool(READS, RequestBody, Shape, request=REQUEST, offset=OFFSET, limit=CHARS)
def read_request(fields: Fields) -> ToolResult:
    """Read a served request and its response with headers and bodies. Secrets are masked."""
    body = request_body(find_request(fields["request"]))
    ends = []
    for name in ("request", "response"):
        text = body[name]["body"]
        body[name]["body"] = _part(text, fields)
        end = min(fields["offset"] + fields["limit"], len(text))
        ends.append(f"{name} body to character {end:,} of {len(text):,}")
    return ToolResult(body, f"{', '.join(ends)}; offset reads on.")


@tool(
    READS,
    ExplanationBody,
    ExplainBody,
    path=Text(required=False, help_text="With its query; or send `request`."),
    request=serializers.UUIDField(required=False, help_text="The id of a served request."),
    offset=OFFSET,
    limit=CHARS,
)
def explain(fields: Fields) -> ToolResult:
    """Explain which step would answer a request now, and which conditions fail in the five nearest
    others. The header x-mockllm-session names a session. Nothing is consumed."""
    if ("request" in fields) == ("path" in fields):
        raise ControlError(400, "Send the id of a request or a path, one of the two.")
    by_id = "request" in fields
    body = explain_row(find_request(fields["request"])) if by_id else explain_request(fields)
    body["steps"].sort(key=lambda step: sum(not one["ok"] for one in step["conditions"]))
    for sent in filter(None, (body["sent"], body["whole"], body["streamed"])):
        sent |= {"body": _part(sent["body"], fields), "base64": _part(sent["base64"], fields)}
    winner = body["winner"]
    answers = f"{winner['scenario']}, step {winner['step']} answers." if winner else "No step."
    body["steps"] = cut(body["steps"][:NEAREST])
    return ToolResult(body, f"{answers} offset reads bodies on.")


@tool(
    ADDS,
    {
        "scenario": Text(help_text="The scenario of the new step."),
        "step": Whole(help_text="The step's number from 1."),
        "match": serializers.JSONField(help_text="Its conditions, from the request."),
        "answers": Flag(help_text="Whether it answers the same request from now on."),
        "winner": serializers.JSONField(help_text="What answers it; null: nothing."),
    },
    request=REQUEST,
    text=Text(required=False, help_text="The answer, if it is text."),
    produce=ScenarioField(
        required=False,
        help_text='Another answer, such as {"tool_calls": [{"name": "f", "arguments": {}}]}.',
    ),
    scenario=Text(required=False, help_text="The scenario to add to; without it, a new one."),
)
def make_step(fields: Fields) -> ToolResult:
    """Make a step that answers an unmatched request, with conditions from its last message. Send
    text or produce. Next: check; then reset, run the test again, verdict."""
    if ("text" in fields) == ("produce" in fields):
        raise ControlError(400, "Send text or produce, one of the two.")
    served = find_request(fields["request"])
    produce = fields["produce"] if "produce" in fields else {"text": fields["text"]}
    store = scenario_store(fields.get("session"))
    document = add_step_for(served, produce, store=store, scenario=fields.get("scenario"))
    number, steps = len(document.steps), dump(document)["steps"]
    assert isinstance(steps, list)
    winner = explain_row(served)["winner"]
    answers = winner == {"scenario": document.name, "step": str(number)}
    last: Any = steps[-1]
    body = {"scenario": document.name, "step": number, "match": last.get("match", {})}
    text = "Made. Next: check." if answers else "Made, but it does not answer: see explain."
    return ToolResult(body | {"answers": answers, "winner": winner}, text)


class VerdictPage(VerdictBody):
    """A verdict with the first entries of its lists."""

    left_out = LEFT_OUT


@tool(READS, VerdictPage, VerdictQuery, limit=limit(20))
def verdict(fields: Fields) -> ToolResult:
    """Judge a session, or all: unmatched requests, violations, unused steps, mistakes of clients.
    Next: unmatched, if there are some. After a correction: reset, then run the test again."""
    lists = ("unmatched", "violations", "unserved", "findings")
    body = cut_lists(judge_query(fields), fields["limit"], *lists)
    return ToolResult(body, body["text"])


class CoveragePage(CoverageBody):
    """Coverage with the first scenarios."""

    left_out = LEFT_OUT


@tool(READS, CoveragePage, CoverageQuery, limit=limit(20))
def coverage(fields: Fields) -> ToolResult:
    """Report steps that never answered, conditions that were never true, and faults that never
    struck, in all sessions since the server started."""
    body = cut_lists(coverage_body(fields["scenarios"]), fields["limit"], "scenarios")
    return ToolResult(body, body["text"])


@tool(
    RECORDS,
    RecordingBody,
    mode=serializers.ChoiceField(
        choices=MODES,
        default="new",
        help_text="new: forward unmatched requests and keep the answers; all: the same without "
        "recordings; none: recordings alone answer.",
    ),
    name=Text(default=DEFAULT_NAME, max_length=200, help_text="Of the scenario that it makes."),
)
def start_recording(fields: Fields) -> ToolResult:
    """Record a session, or all: unmatched requests go to the real provider with the client's own
    key, and cost money. Next: run the program, then stop_recording."""
    body = begin_recording({"session": None, "keys": {}, "cassettes": [], **fields})
    return ToolResult(cut(body), "Recording. Next: run the program, then stop_recording.")


class StopBody(EndedBody):
    """An ended recording, whose scenario is stored."""

    document = serializers.JSONField(help_text="The scenario without its steps; null: none.")


@tool({"destructive_hint": True, "open_world_hint": False}, StopBody)
def stop_recording(fields: Fields) -> ToolResult:
    """Stop a recording and store its scenario, in place of one of the same name."""
    body = ended_body(fields.get("session"))
    document, text = body["document"], "It only replayed. Next: drift."
    if document is not None:
        stored = read_document(document, name=body["name"])
        scenario_store(fields.get("session")).put(stored)
        body["document"] = {key: value for key, value in document.items() if key != "steps"}
        text = f"“{stored.name}” has {len(stored.steps)} steps. Next: read_scenario."
    return ToolResult(cut(body), text)


@tool(READS, AllDriftBody, Shape)
def drift(fields: Fields) -> ToolResult:
    """List how requests differ from their recordings, for each replay that has ended."""
    body = cut(drift_reports())
    count = sum(recording["drifted"] for recording in body["recordings"])
    return ToolResult(body, f"{count} of {len(body['recordings'])} recordings differ.")


@tool(
    REPLACES,
    {"session": Text(allow_null=True, help_text="Its name; null: all sessions.")},
    scenarios=Flag(required=False, default=False, help_text="Drop its own scenarios as well."),
)
def reset(fields: Fields) -> ToolResult:
    """Forget a session's journal, consumed steps and counters, or those of all, before a test runs
    again. Scenarios stay."""
    body = reset_fields({"session": fields.get("session"), "scenarios": fields["scenarios"]})
    return ToolResult({"session": body["session"]}, "Reset. Next: run the test, then verdict.")
