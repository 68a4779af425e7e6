"""Stores rows with hostile texts in every displayed field, and lists their pages."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import quote

from chat_app.conversations import append_message, create
from chat_app.models import ABComparison, Conversation, Message, ModelProfile, Sender
from mockllm_site.pages.home import MAX_UNUSED_SHOWN
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.state import AttemptRef, StepRef, put_scenario
from scenarios_app.serving.services import services
from scenarios_app.store.documents import load
from scenarios_app.store.drafts import get_or_create_draft
from tests.admin.chat.talks import LISTS, create_conversation
from tests.admin.pages import JOURNAL, LIST, SESSION, SESSIONS, create_scenario, page_of
from tests.admin.traffic import create_journal_row, create_unmatched_row
from tests.browser.payloads import ALL, PAYLOADS
from tests.support.live_server import run_apart
from traces_app.models import ModelCall, Trace, TraceEvent

# The client whose conversations the playground lists.
CLIENT = "hostile"
DRAFT = "/admin/scenarios_app/draft/"
# Up to this many steps, a page has all fields at once.
STEPS = 10
NAME = ALL[:200].strip()
# Payloads that are valid names, and those that fit into the chat's columns.
NAMES = tuple(text for text in PAYLOADS if text.isprintable() and len(text) <= 200)
SHORT = tuple(text for text in PAYLOADS if len(text) < 100)
QUESTION = json.dumps({"model": ALL, "messages": [{"role": "user", "content": ALL}]})


@dataclass(frozen=True)
class HostilePage:
    """The path of a page, and the texts that it shows completely."""

    path: str
    texts: tuple[str, ...] = PAYLOADS


def write_scenarios() -> list[HostilePage]:
    """Store hostile scenarios; most are invalid, and the valid ones are used by *Test*."""
    for text in PAYLOADS:
        create_scenario(text[:255], description=text, tags=[text.replace(",", "")])
    payload_groups = [PAYLOADS[start : start + STEPS] for start in range(0, len(PAYLOADS), STEPS)]
    rows = [
        create_scenario(
            f"{number}",
            *map(_step, texts),
            description=ALL,
            variables={ALL: ALL},
            system_prompt_must_include=[ALL],
        )
        for number, texts in enumerate(payload_groups)
    ]
    load(load_documents({"scenarios": list(_playable())}))
    pages = [
        HostilePage(page_of(row), texts) for row, texts in zip(rows, payload_groups, strict=True)
    ]
    draft, _ = get_or_create_draft(rows[0])
    pages += [
        HostilePage(f"{DRAFT}{draft.pk}/{page}/", payload_groups[0])
        for page in ("change", "publish")
    ]
    pages += [HostilePage(f"{LIST}{rows[0].pk}/history/", ()), HostilePage(DRAFT, ())]
    return [*pages, HostilePage(LIST), HostilePage("/", NAMES)]


def _playable() -> Iterator[dict[str, Any]]:
    """Store as many valid scenarios and steps as the overview names."""
    size = ceil(len(NAMES) / MAX_UNUSED_SHOWN)
    for start in range(0, len(NAMES), size):
        steps = [
            {
                "name": text,
                "match": {"messages": [{"role": "user", "contains": text}]},
                "produce": {"text": "{{ said }}"},
            }
            for text in NAMES[start : start + size]
        ]
        yield {"name": f"{NAMES[start]} plays", "variables": {"said": ALL}, "steps": steps}


def write_journal() -> list[HostilePage]:
    rows = []
    for text in PAYLOADS:
        mismatch = {"field": text, "expected": text, "actual": text}
        columns: dict[str, Any] = {
            "session": text[:255],
            "provider": text[:32],
            "method": text[:16],
            "path": text,
            "model": text,
            "scenario": text[:255],
            "step": text[:255],
            "fault": text[:32],
            "violations": [text],
            "near_misses": [{"scenario": text, "step": text, "mismatches": [mismatch]}],
            "request_headers": {text: text},
            "query": {text: text},
            "request_body": text,
            "response_headers": {text: text},
            "response_body": text,
            "timings": {text: 1.0},
        }
        rows.append(create_unmatched_row(**columns))
    columns |= dict.fromkeys(("path", "model", "request_body", "response_body"), ALL)
    columns |= {"violations": [ALL], "request_headers": {ALL: ALL}, "session": NAME}
    row, question = create_journal_row(**columns), create_journal_row(request_body=QUESTION)
    run_apart(_write_session(NAME))
    return [
        HostilePage("/admin/", ()),
        HostilePage(JOURNAL),
        HostilePage(f"{JOURNAL}{row.pk}/change/"),
        HostilePage(f"{JOURNAL}{rows[0].pk}/change/", PAYLOADS[:1]),
        HostilePage(SESSIONS, SHORT),
        HostilePage(f"{SESSION}?name={quote(NAME)}"),
        HostilePage(f"{LIST}test/?request={question.pk}"),
    ]


async def _write_session(session: str) -> None:
    state = services().state
    step = StepRef(ALL, ALL, ALL)
    await state.consume(session, step)
    await state.count_failure(session, AttemptRef(step, ALL), times=1)
    await state.increment(session, ALL)
    await state.add_violation(session, ALL)
    await put_scenario(state, session, ALL, {})


def write_chat() -> list[HostilePage]:
    for text in PAYLOADS:
        conversation = create(CLIENT, text[:200])
        question = append_message(conversation, Sender.USER, content=text)
        ABComparison.objects.create(
            conversation=conversation,
            user_message=question,
            seed=1,
            profile_a_name=text[:100],
            profile_b_name="b",
            preference="a",
        )
        ModelProfile.objects.create(
            name=text[:100],
            provider_id=text[:50],
            model_id=text[:200],
            base_url=text[:500],
            system_prompt=ALL,
            mcp_servers=[text],
        )
    conversation = create_conversation(ALL, preference="a")
    Conversation.objects.filter(pk=conversation.pk).update(client_id=CLIENT)
    Trace.objects.update(profile_name=ALL[:100], provider_id=ALL[:50], model_id=ALL[:200])
    Message.objects.update(model_id=ALL[:200])
    (trace, _) = Trace.objects.order_by("branch")
    call = {"tool_call_id": ALL, "tool_name": ALL}
    events = {
        "thinking": {"content": ALL},
        "tool_start": {**call, "tool_args": {ALL: ALL}},
        "tool_output": {**call, "output": ALL},
        "tool_end": {**call, "status": ALL, "duration_ms": 1},
        "error": {"code": ALL, "message": ALL},
    }
    for seq, (type, payload) in enumerate(events.items(), start=2):
        TraceEvent.objects.create(trace=trace, seq=seq, type=type, payload=payload)
    parts = [{"thinking": ALL}, {"tool_call": {"id": ALL, "name": ALL, "arguments": {ALL: ALL}}}]
    ModelCall.objects.create(trace=trace, number=2, purpose=ALL[:16], parts=parts, code=ALL[:32])
    texts_by_model = dict.fromkeys(LISTS, SHORT) | {
        "chat_app.contextstate": (),
        "traces_app.trace": (),
    }
    return [
        *(HostilePage(LISTS[name], texts) for name, texts in texts_by_model.items()),
        *(HostilePage(path, texts) for path, texts in _chat_rows(conversation, trace)),
        HostilePage(f"/traces/{trace.pk}/"),
        HostilePage(f"/chat/?c={conversation.pk}"),
        HostilePage("/chat/leaderboard/", SHORT),
    ]


def _chat_rows(conversation: Conversation, trace: Trace) -> Iterator[tuple[str, tuple[str, ...]]]:
    rows: list[tuple[Any, tuple[str, ...]]] = [
        (conversation, ()),
        (conversation.messages.last(), PAYLOADS),
        (conversation.context_state, PAYLOADS),
        (conversation.comparisons.get(), ()),
        (trace, PAYLOADS),
        (ModelProfile.objects.get(name=PAYLOADS[0]), PAYLOADS),
    ]
    for row, texts in rows:
        yield f"{LISTS[row._meta.label_lower]}{row.pk}/change/", texts


def _step(text: str) -> dict[str, Any]:
    return {
        **{f"match_{name}": text for name in ("user", "system", "tool_result")},
        **{f"answer_{name}": text for name in ("text", "reasoning", "refusal")},
        **dict.fromkeys(("name", "match.model", "match.tool_results(name)"), text[:255]),
        "match.tools": [text],
        "produce.final_report.report_content": text,
        "produce.tool_calls": [{"id": text, "name": text, "arguments": {text: text}}],
        "match.*": {text: text},
        "side_effects.headers": {text: text},
    }


def write_hostile_pages() -> list[HostilePage]:
    """Store all hostile rows and return the pages that show them."""
    return [*write_scenarios(), *write_journal(), *write_chat()]
