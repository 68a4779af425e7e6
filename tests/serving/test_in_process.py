"""The public transports answer in a plain process, which may have set up Django in test mode."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SYNC = """
import httpx2, openai
from mockllm import SyncMockTransport

http = httpx2.Client(transport=SyncMockTransport(SCENARIO))
client = openai.OpenAI(api_key="k", http_client=http)
messages = [{"role": "user", "content": TEXT}]
print(client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content)
"""
ASYNC = """
import asyncio, anthropic, httpx2
from mockllm import MockTransport

async def main():
    # Created while the loop runs, where Django refuses database access.
    http = httpx2.AsyncClient(transport=MockTransport(SCENARIO))
    client = anthropic.AsyncAnthropic(api_key="k", http_client=http)
    messages = [{"role": "user", "content": TEXT}]
    answer = await client.messages.create(model="m", max_tokens=50, messages=messages)
    print(answer.content[0].text)

asyncio.run(main())
"""
SET_UP = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings_test"
import django
django.setup()
"""
REQUEST = """
from django.test import Client
response = Client(headers={{"host": "localhost"}}).get("{}")
print(response.status_code, response.content.decode())
"""
SCENARIO = {
    "name": "hello",
    "steps": [
        {
            "consume": False,
            "match": {"messages": [{"contains": "hello"}]},
            "produce": {"text": "Good morning!"},
        }
    ],
}


def run_program(program: str, folder: Path, *, scenario: object = (), text: str = "hello") -> str:
    """Run a program in an empty folder and environment; return its output."""
    names = f"SCENARIO, TEXT = {scenario!r}, {text!r}\n"
    process = subprocess.run(
        [sys.executable, "-c", names + program],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_sync_client_is_answered_from_its_scenario(tmp_path: Path) -> None:
    assert run_program(SYNC, tmp_path, scenario=SCENARIO) == "Good morning!"


def test_async_client_is_answered_from_its_scenario(tmp_path: Path) -> None:
    assert run_program(ASYNC, tmp_path, scenario=SCENARIO) == "Good morning!"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/control/scenarios", "test-mode"),
        ("/api/list_conversations?client_id=me", '"conversations"'),
    ],
)
def test_api_is_answered_before_any_provider(path: str, content: str, tmp_path: Path) -> None:
    response = run_program(f"{SET_UP}{REQUEST.format(path)}", tmp_path)
    assert response.startswith("200 ") and content in response


def test_client_without_a_scenario_is_answered_by_test_mode(tmp_path: Path) -> None:
    text = run_program(SYNC, tmp_path, text="Hello")
    # Lorem of 29 words, then the message itself (requirement 000).
    assert len(text.split()) == 29 + 1 and text.endswith("Hello")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["mockllm", "scenarios_app.serving.sync_transport"])
def test_client_after_djangos_setup_is_answered_by_test_mode(tmp_path: Path, module: str) -> None:
    program = SET_UP + SYNC.replace("SCENARIO", "").replace("from mockllm", f"from {module}")
    assert run_program(program, tmp_path, text="Hello").endswith("Hello")
    assert list(tmp_path.iterdir()) == []


def test_scenario_is_stored_after_djangos_setup(tmp_path: Path) -> None:
    assert run_program(SET_UP + SYNC, tmp_path, scenario=SCENARIO) == "Good morning!"
