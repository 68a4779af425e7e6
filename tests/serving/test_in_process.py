"""The public transports answer in a plain process that knows nothing of Django."""

import os
import subprocess
import sys
from pathlib import Path

SYNC = """
import httpx2, openai
from mockllm import SyncMockTransport

http = httpx2.Client(transport=SyncMockTransport(SCENARIO))
client = openai.OpenAI(api_key="k", http_client=http)
asked = [{"role": "user", "content": ASKED}]
print(client.chat.completions.create(model="gpt-4o", messages=asked).choices[0].message.content)
"""
ASYNC = """
import asyncio, anthropic, httpx2
from mockllm import MockTransport

async def main():
    # Made while the loop runs, where Django uses no database.
    http = httpx2.AsyncClient(transport=MockTransport(SCENARIO))
    client = anthropic.AsyncAnthropic(api_key="k", http_client=http)
    asked = [{"role": "user", "content": ASKED}]
    answer = await client.messages.create(model="m", max_tokens=50, messages=asked)
    print(answer.content[0].text)

asyncio.run(main())
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


def printed(program: str, folder: Path, *, scenario: object = (), asked: str = "hello") -> str:
    """What a program prints that runs in an empty folder with an empty environment."""
    names = f"SCENARIO, ASKED = {scenario!r}, {asked!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", names + program],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_sync_client_is_answered_from_its_scenario(tmp_path: Path) -> None:
    assert printed(SYNC, tmp_path, scenario=SCENARIO) == "Good morning!"


def test_async_client_is_answered_from_its_scenario(tmp_path: Path) -> None:
    assert printed(ASYNC, tmp_path, scenario=SCENARIO) == "Good morning!"


def test_client_without_a_scenario_is_answered_by_test_mode(tmp_path: Path) -> None:
    text = printed(SYNC, tmp_path, asked="Hello")
    # Lorem of 29 words, then the message itself (requirement 000).
    assert len(text.split()) == 29 + 1 and text.endswith("Hello")
    assert list(tmp_path.iterdir()) == []
