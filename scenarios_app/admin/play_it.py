"""The page on which a conversation is written and played: what should come beside what came, turn
by turn, and which steps answered. Nothing is consumed, counted or journalled by it."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.http import content_disposition_header

from scenarios_app.admin.site import may_see_journal
from scenarios_app.admin.trial import Tried, tried
from scenarios_app.admin.try_it import first_step
from scenarios_app.catalog import catalog
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.tools import OfferedToolCondition
from scenarios_app.engine.document import DocumentError, dump
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.matching.index import overlay
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.journal import journal
from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.play.conversation import ConversationDocument, conversation_of, recorded, written
from scenarios_app.play.player import Alone, Run, play
from scenarios_app.play.report import reasons
from scenarios_app.serving.services import services
from scenarios_app.store import document_of
from scenarios_app.store.documents import conversation_for, keep
from scenarios_app.wire.registry import wires_by_name

# So many of a session's requests are taken, the latest.
LATEST = 50


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step of the scenario, and the turns that it answered."""

    label: str
    turns: tuple[int, ...]


def play_page(request: HttpRequest, admin: Any) -> HttpResponse:
    """The page for what is served, or for a draft that the address names."""
    given = request.POST if request.method == "POST" else request.GET
    instead = tried(given.dict())
    only = instead.name if instead else given.get("scenario", "")
    return _page(request, admin, given, only=only, instead=instead)


def play_edits(request: HttpRequest, admin: Any, hidden: Mapping[str, str]) -> HttpResponse:
    """The page for edits that nobody has saved, whose conversation is played at once."""
    instead = tried(hidden)
    only = instead.name if instead else ""
    begun = conversation_for(only) or _begun(_compiled(only, instead), only)
    given = {"conversation": json.dumps(begun)}
    return _page(request, admin, given, only=only, instead=instead)


def _page(
    request: HttpRequest,
    admin: Any,
    given: Mapping[str, str],
    *,
    only: str,
    instead: Tried | None,
) -> HttpResponse:
    context: dict[str, Any] = {
        **admin.admin_site.each_context(request),
        "title": f"Play {only}" if only else "Play it",
        "scenario": only,
        "instead": instead,
        "providers": [(name, wire.title) for name, wire in wires_by_name().items()],
        "may_keep": _is_stored(only) and admin.has_change_permission(request),
        "left_out": 0,
    }
    compiled = _compiled(only, instead)
    context["steps"] = [step.label for step in compiled.steps] if compiled else []
    if "conversation" in given:
        text = given["conversation"]
        context["conversation"] = _plain(text)
        try:
            conversation = conversation_of(decode(text.encode("utf-8", "replace")))
        except DocumentError as error:
            context["problems"] = error.problems
        else:
            context["conversation"] = written(conversation)
            if "download" in given:
                return _file(only, written(conversation))
            if "keep" in given and context["may_keep"]:
                keep(only, written(conversation))
                context["kept"] = True
            run = _run(conversation, instead, only)
            context |= {"run": run, "lines": _lines(run, compiled)}
            context["why"] = {turn.number: list(reasons(turn)) for turn in run.turns}
            context["came"] = [_came(turn.got) for turn in run.turns]
    else:
        session = given.get("session", "")
        if session and may_see_journal(request):
            context["session"] = session
            context["conversation"], context["left_out"] = _of_session(session)
        else:
            context["conversation"] = conversation_for(only) or _begun(compiled, only)
    return TemplateResponse(request, "scenarios_app/admin/play.html", context)


def _is_stored(name: str) -> bool:
    return any(model.objects.filter(name=name).exists() for model in (Scenario, Draft))


def _run(conversation: ConversationDocument, instead: Tried | None, only: str) -> Run:
    index = catalog.index()
    if instead:
        index = overlay(index, instead.scenarios)
    options = services().pipeline.options
    return asyncio.run(play(conversation, catalog=Alone(index), options=options, of=only))


def _compiled(only: str, instead: Tried | None) -> Compiled | None:
    if instead:
        return instead.scenarios[-1]
    return catalog.snapshot().index.by_name.get(only)


def _lines(run: Run, compiled: Compiled | None) -> Sequence[StepLine]:
    if compiled is None:
        return ()
    return [
        StepLine(
            step.label,
            tuple(
                turn.number
                for turn in run.turns
                if (turn.got.scenario, turn.got.step) == (compiled.name, step.label)
            ),
        )
        for step in compiled.steps
    ]


def _begun(compiled: Compiled | None, only: str) -> dict[str, Json]:
    """A conversation of one turn, which asks for what the first step wants."""
    asked = first_step(compiled)
    turn: Json = {"user": asked.get("user", "")}
    begun: dict[str, Json] = {"name": only or "conversation", "turns": [turn]}
    if asked.get("model"):
        begun["model"] = asked["model"]
    if asked.get("system"):
        begun["system"] = asked["system"]
    tools = _tools(compiled)
    return begun | ({"tools": tools} if tools else {})


def _tools(compiled: Compiled | None) -> list[Json]:
    names: dict[str, None] = {}
    for step in compiled.steps if compiled else ():
        names |= {condition.name: None for condition in step.match.of(OfferedToolCondition)}
    return list(names)


def _of_session(session: str) -> tuple[dict[str, Json], int]:
    journal.flush()
    latest = ServedRequest.objects.filter(session=session)[:LATEST]
    return recorded(session, reversed(latest))


def _plain(text: str) -> Json:
    """What was sent, so that it is not lost though it cannot be played."""
    try:
        return decode(text.encode("utf-8", "replace"))
    except DocumentError:
        return {"turns": []}


def _came(got: Any) -> dict[str, Any]:
    """What came, in the form of what should: for the button that takes it over."""
    expect: dict[str, Any] = {"scenario": got.scenario, "step": got.step} if got.by_step else {}
    if got.status is not None and got.status >= 400:
        expect["status"] = got.status
    elif got.tool_calls:
        expect["tool_calls"] = [{"name": call.name} for call in got.tool_calls]
    elif got.text:
        expect["text"] = got.text
    if got.cut:
        expect["cut"] = True
    return expect


def _file(only: str, conversation: dict[str, Json]) -> HttpResponse:
    """A file for `mockllm play`, with the scenario in it where it is stored."""
    row: Scenario | Draft | None = Scenario.objects.filter(name=only).first()
    row = row or Draft.objects.filter(name=only).first()
    document: dict[str, Json] = {"conversations": [conversation]}
    if row is not None:
        document = {"scenarios": [dump(document_of(row))], **document}
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    name = f"{(only or 'conversation').replace('/', '_')}.play.json"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response
