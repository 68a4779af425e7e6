"""`mockllm.simulate` in tests: the agent is a function."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulate.scripts import REFUND, TALK

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("forked_processes"),
]
TESTS = '''
import json

import openai
import pytest

SCENARIO = json.load(open("refund.json"))


def agent_with(refunds):
    """An agent with one tool, whose calls are listed."""
    messages = []

    def answer(text):
        client = openai.OpenAI(max_retries=0)
        messages.append({"role": "user", "content": text})
        while True:
            message = client.chat.completions.create(model="gpt-4o", messages=messages)
            message = message.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                refunds.append(call.function.name)
                result = {"role": "tool", "tool_call_id": call.id, "content": "order 12"}
                messages.append(result)

    return answer


def test_document(mockllm):
    refunds = []
    report = mockllm.simulate(SCENARIO, agent=agent_with(refunds))
    assert refunds == ["refund"]
    assert report["passed"]
    assert report["conversations"][0]["turns"][1]["calls"][0]["arguments"] == {"order": 12}


def test_file(mockllm):
    mockllm.on("before").tool_call("refund", order=12)
    mockllm.on(tool_result="order 12", once=True).reply("It is done.")
    agent_with([])("before")
    assert mockllm.simulate("refund.json", agent=agent_with([]))["passed"]


@pytest.mark.mockllm(allow_unserved=True)
def test_fails(mockllm):
    mockllm.simulate("refund.json", agent=lambda text: "Sorry, I am only a test.")


@pytest.mark.mockllm(allow_unserved=True)
def test_wrong_type(mockllm):
    mockllm.simulate(SCENARIO, agent=lambda text: None)


def test_no_user(mockllm):
    mockllm.simulate({"name": "a", "steps": []}, agent=print)


def test_unknown_name(mockllm):
    mockllm.simulate("no such scenario", agent=print)
'''
SHARED = """
import pytest


@pytest.fixture(scope="session")
def mockllm_config():
    return {"scenarios": ["talk.json"]}
"""
SHARED_TESTS = """
def test_scenario_of_the_server(mockllm):
    answers = {"Hello.": "Hello, Ann?", "I am Bob.": "Welcome, Bob."}
    assert mockllm.simulate("talk", agent=answers.get)["passed"]
"""


def pytest_run(folder: Path) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA"],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    return result.stdout


def test_function_of_a_test_is_an_agent(tmp_path: Path) -> None:
    (tmp_path / "test_agent.py").write_text(TESTS)
    (tmp_path / "refund.json").write_text(json.dumps(REFUND))
    output = pytest_run(tmp_path)
    assert "2 passed, 4 failed" in output.replace("4 failed, 2 passed", "2 passed, 4 failed")
    for name in ("test_document", "test_file"):
        assert f"PASSED test_agent.py::{name}" in output, output
    assert "E       AssertionError: FAILED  refund" in output
    assert "agent  Sorry, I am only a test." in output
    assert "expected its answer as a str" in output
    assert "no scenario has a scripted user; add the key user" in output
    assert "no such scenario" in output


def test_scenario_of_the_server_is_simulated_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "test_shared.py").write_text(SHARED_TESTS)
    (tmp_path / "conftest.py").write_text(SHARED)
    (tmp_path / "talk.json").write_text(json.dumps(TALK))
    assert "1 passed" in pytest_run(tmp_path)
