"""The tab *Conversation*: plays a conversation turn by turn, compares each answer with the expected
one, and shows which steps answered."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse

from scenarios_app.admin.dry_run.inputs import DryRunScenario, document_from_fields
from scenarios_app.admin.pages import json_download
from scenarios_app.admin.site import may_see_journal
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.journal import journal
from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.play.conversation import dump_play, journaled_conversation, load_conversation
from scenarios_app.play.player import FixedCatalog, PlayedConversation, TurnResponse, play
from scenarios_app.play.proposal import propose_conversation
from scenarios_app.serving.services import services
from scenarios_app.store.documents import conversation_for, save_conversation
from scenarios_app.wire.registry import wires_by_name

# How many of a session's requests are loaded, the latest ones.
MAX_SESSION_REQUESTS = 50


def conversation_context(
    request: HttpRequest, owner: Any, fields: Mapping[str, str], tried: DryRunScenario
) -> dict[str, Any] | HttpResponse:
    """Return the conversation of the field `conversation`, played; else the requests of the session
    `?session=`, or the saved or proposed conversation, which a post plays. With `keep` it is also
    saved, with `download` a file is returned."""
    name, compiled = tried.name, tried.compiled
    context: dict[str, Any] = {
        "providers": [(name, wire.title) for name, wire in wires_by_name().items()],
        "may_keep": _is_stored(name) and owner.has_change_permission(request),
        "steps": [step.label for step in compiled.steps] if compiled else [],
        "left_out": 0,
    }
    if "conversation" not in fields:
        context |= _first_conversation(request, tried)
        if request.method != "POST" or not name or context.get("unplayable"):
            return context
        conversation = load_conversation(context["conversation"])
    else:
        context["conversation"] = {"turns": []}
        try:
            # Shown even if it cannot be played, so that it is not lost.
            context["conversation"] = decode(fields["conversation"].encode("utf-8", "replace"))
            conversation = load_conversation(context["conversation"])
        except DocumentError as error:
            return context | {"problems": error.problems}
    context["conversation"] = dump_play(conversation)
    if "download" in fields:
        document = document_from_fields(fields)
        return _download_response(name, document, dump_play(conversation))
    if "keep" in fields and context["may_keep"]:
        save_conversation(name, dump_play(conversation))
        context["kept"] = True
    catalog, options = FixedCatalog(tried.index), services().pipeline.options
    run = asyncio.run(play(conversation, catalog=catalog, options=options, scenario=name))
    came = [_expectation(turn.response) for turn in run.turns]
    return context | {"run": run, "lines": _step_lines(run, compiled), "came": came}


def _first_conversation(request: HttpRequest, tried: DryRunScenario) -> dict[str, Any]:
    """Return the context of a conversation that is not played yet: that of the session `?session=`,
    else the saved one, else a proposed one, with the reason if there is none."""
    if (session := request.GET.get("session", "")) and may_see_journal(request):
        journal.flush()
        latest = ServedRequest.objects.filter(session=session)[:MAX_SESSION_REQUESTS]
        conversation, left_out = journaled_conversation(session, reversed(latest))
        return {"session": session, "conversation": conversation, "left_out": left_out}
    if stored := conversation_for(tried.name):
        return {"conversation": stored}
    conversation, unplayable = _propose(tried)
    return {"conversation": conversation, "unplayable": unplayable}


def _is_stored(name: str) -> bool:
    """Return True if a published scenario or a draft has this name."""
    return any(model.objects.filter(name=name).exists() for model in (Scenario, Draft))


def _step_lines(
    run: PlayedConversation, compiled: Compiled | None
) -> Sequence[tuple[str, Sequence[int]]]:
    """Return the labels of the scenario's steps, each with the numbers of the turns that it
    answered; () without a scenario."""
    if compiled is None:
        return ()
    turns: defaultdict[str | None, list[int]] = defaultdict(list)
    for turn in run.turns:
        if turn.response.scenario == compiled.name:
            turns[turn.response.step].append(turn.number)
    return [(step.label, turns[step.label]) for step in compiled.steps]


def _propose(tried: DryRunScenario) -> tuple[dict[str, Json], str]:
    """Return `propose_conversation` for the scenario, or an empty user message if it is not
    served."""
    compiled, options = tried.compiled, services().pipeline.options
    if compiled is None:
        return {"name": "conversation", "turns": [{"user": ""}]}, ""
    return asyncio.run(propose_conversation(compiled, index=tried.index, options=options))


def _expectation(response: TurnResponse) -> dict[str, Any]:
    """Return the `expect` of a turn for which this response passes."""
    expect: dict[str, Any] = {}
    if response.by_step:
        expect = {"scenario": response.scenario, "step": response.step}
    if response.status is not None and response.status >= 400:
        expect["status"] = response.status
    elif response.tool_calls:
        expect["tool_calls"] = [{"name": call.name} for call in response.tool_calls]
    elif response.text:
        expect["text"] = response.text
    if response.cut:
        expect["cut"] = True
    return expect


def _download_response(
    name: str, document: ScenarioDocument | None, conversation: dict[str, Json]
) -> HttpResponse:
    """Return a file for `mockllm play`: the conversation, with the scenario if there is one."""
    scenarios = {} if document is None else {"scenarios": [dump(document)]}
    file = {**scenarios, "conversations": [conversation]}
    return json_download(file, f"{name or 'conversation'}.play.json")
