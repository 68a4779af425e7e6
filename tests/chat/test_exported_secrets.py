"""API keys and message contents must not leak into trace exports, the API, pages and logs."""

import json
import logging
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from chat_app.service import StreamHandle
from chat_app.tools import ToolOutcome, failed_outcome
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, scenario
from tests.chat.mock_provider import FAMILIES, KEY_VARIABLE
from tests.chat.raw_provider import HEAD, raw_provider
from tests.chat.service.toolboxes import patch_toolbox

KEY = "sk-live-cAnArY0123456789abcdef"
CONTENT_NAMES = ("PROMPT", "SYSTEM", "THOUGHT", "ANSWER", "ARGUMENT", "RESULT", "FAILURE", "REPORT")


def canary(name: str) -> str:
    return f"canary-{name}-0123456789"


def error_response(status: int, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    return (
        b"HTTP/1.1 %d Odd\r\ncontent-type: application/json\r\nx-seen: %s\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n%s"
        % (status, KEY.encode(), len(data), data)
    )


def error_in_stream(body: dict[str, Any]) -> bytes:
    return HEAD + b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"


ERROR_TEXT = f"Bearer {KEY} of {KEY} may not use this"
BODY = {"type": "error", "error": {"type": KEY, "code": KEY, "message": ERROR_TEXT, "param": KEY}}
ECHOES = {
    "403": error_response(403, BODY),
    "500": error_response(500, BODY),
    "429": error_response(429, BODY),
    "no message": error_response(500, {"seen": KEY}),
    "in the stream": error_in_stream(BODY),
    "no HTTP": b"HTTP/1.1 500 " + KEY.encode() + b"\r\nbroken " + KEY.encode() + b"\r\n\r\n",
    "a wrong event": HEAD + b"data: {" + KEY.encode() + b"\n\n",
}


async def export_trace(handle: StreamHandle) -> str:
    """Return the output of `export_traces` for one run."""
    out = StringIO()
    await in_database(lambda: call_command("export_traces", str(handle.id), stdout=out))
    return out.getvalue()


async def fetch_pages(handle: StreamHandle) -> str:
    """Return a run's API record and page, with its events and messages."""
    paths = (f"/api/trace/{handle.id}", f"/traces/{handle.id}/")
    pages = [
        await in_database(lambda path=path: Client().get(path).content.decode()) for path in paths
    ]
    rows = [
        (message.content, message.thinking, message.rounds) for message in await messages_of(handle)
    ]
    return "\n".join([*pages, str(await log_of(handle.id)), str(rows)])


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("family", FAMILIES)
async def test_key_repeated_in_a_provider_error_is_not_leaked(
    chat: Chat,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    family: str,
    echo: str,
) -> None:
    caplog.set_level(logging.INFO)
    settings.MOCKLLM_ENV = "dev"
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    async with raw_provider(ECHOES[echo]) as provider:
        settings.CHAT_ALLOWED_HOSTS = [provider.address]
        profile = await chat.profile(
            provider_id=family, base_url=f"http://{provider.address}", api_key_env=KEY_VARIABLE
        )
        handle = await chat.send(profile=profile)
        event_text = str(await events_of(handle))
        assert KEY in str(provider.headers())
    outputs = {
        "events": event_text,
        "export": await export_trace(handle),
        "page and API": await fetch_pages(handle),
        "log": caplog.text,
    }
    assert "Error(" in event_text
    assert [name for name, text in outputs.items() if KEY in text] == []


async def test_otlp_export_holds_no_content_of_the_conversation(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts, answers, reasoning, reports, tool arguments and tool results are left out."""
    patch_toolbox(
        monkeypatch,
        good=ToolOutcome(canary("RESULT")),
        bad=failed_outcome(canary("FAILURE")),
    ).finish_calls("good", "bad")
    secret = {"api_key": canary("ARGUMENT"), "headers": {"Authorization": canary("ARGUMENT")}}
    calls = [{"id": name, "name": name, "arguments": secret} for name in ("good", "bad")]
    answer = {"text": canary("ANSWER"), "reasoning": canary("THOUGHT")}
    report = {"status": "success", "report_content": canary("REPORT")}
    await chat.script(scenario({**answer, "tool_calls": calls}, {**answer, "final_report": report}))
    profile = await chat.profile(mcp_servers=["demo"], system_prompt=canary("SYSTEM"))
    handle = await chat.send(canary("PROMPT"), profile=profile)
    visible_text = str(await events_of(handle)) + await fetch_pages(handle)
    assert [name for name in CONTENT_NAMES if canary(name) not in visible_text] == ["SYSTEM"]
    export = await export_trace(handle)
    assert export.count('"name": "execute_tool') == 2
    assert [name for name in CONTENT_NAMES if canary(name) in export] == []
