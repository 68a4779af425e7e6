"""The same run on two servers in test mode has the same receipt."""

import pytest
from openai import OpenAI

from scenarios_app.testing.server import running_server
from tests.verdict.random_scenarios import step, tool_call

pytestmark = pytest.mark.usefixtures("forked_processes")

SCRIPT = {
    "name": "run",
    "steps": [
        step("run", produce=tool_call("Paris")),
        step("run", produce={"text": "Sunny, and warm."}, failures={"times": 1}),
    ],
}


def receipt(*, model: str = "gpt-4o") -> str:
    with running_server([SCRIPT]) as server:
        client = OpenAI(base_url=server.openai_base_url, api_key="sk-one-run")
        messages = [{"role": "user", "content": "[run] Weather?"}]
        client.chat.completions.create(model=model, messages=messages)
        client.chat.completions.create(model=model, messages=messages, stream=True).response.read()
        url = f"{server.base_url}/control/verdict"
        verdict = client._client.get(url, params={"session": "sk-one-run"}).json()
    assert (verdict["requests"], verdict["complete"]) == (3, True)
    return str(verdict["receipt"])


def test_same_run_on_another_server_has_the_same_receipt() -> None:
    first = receipt()
    assert receipt() == first
    assert receipt(model="o3") != first
