"""The README's scenario, created in the admin, answers the official SDKs."""

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI
from playwright.sync_api import Locator, expect

from scenarios_app.engine.document import ScenarioDocument, dump, load_documents
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from tests.browser.conftest import Admin
from tests.browser.editing import add_step, open_fold
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

README = Path(__file__).resolve().parents[2] / "README.md"
QUESTION = "Do I need an umbrella in Oslo?"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
RESULT = "Oslo: 8 degrees, rain"
ANSWER = "Yes, it rains in Oslo."


def test_readme_scenario_is_clicked_together_and_answers_both_sdks(admin: Admin) -> None:
    page = admin.page
    assert not Scenario.objects.exists()
    page.get_by_role("link", name="Add scenario").first.click()
    page.get_by_label("Name", exact=True).fill("umbrella")
    write_the_answer(add_step(page))
    write_the_call(add_step(page))
    admin.save()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert dump(document_of(Scenario.objects.get())) == dump(readme_scenario())
    for live, ask in ((admin.live, ask_openai), (Live(admin.live.server), ask_anthropic)):
        # Twice in one session: no step is consumed.
        ask(live)
        ask(live)
        assert [request.step for request in live.requests()] == ["2", "1", "2", "1"]


def write_the_call(step: Locator) -> None:
    step.get_by_label("Last user message").last.fill("umbrella")
    step.get_by_label("Ignore case").uncheck()
    step.get_by_role("button", name="Add a tool call").click()
    step.get_by_label("Tool", exact=True).fill("get_weather")
    step.get_by_role("button", name="Add an argument").click()
    step.get_by_label("Argument name").fill("city")
    step.get_by_label("Argument value").fill("Oslo")


def write_the_answer(step: Locator) -> None:
    step.get_by_label("Last user message").last.fill("umbrella")
    step.get_by_label("Ignore case").uncheck()
    open_fold(step, "More conditions")
    step.get_by_label("Last tool result").last.fill("rain")
    step.get_by_label("Answer text").fill(ANSWER)


def readme_scenario() -> ScenarioDocument:
    """Return the first scenario document of the README."""
    blocks = README.read_text().split("```json\n")[1:]
    (document,) = load_documents(json.loads(blocks[0].partition("```")[0]))
    return document


def ask_openai(live: Live) -> None:
    """Request a complete answer, then a streamed one."""
    tools: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with OpenAI(base_url=live.openai_base_url, api_key=live.key, max_retries=0) as client:
        request = {"model": "gpt-4o", "messages": messages, "tools": tools}
        (choice,) = client.chat.completions.create(**request).choices
        (call,) = choice.message.tool_calls or ()
        assert choice.finish_reason == "tool_calls" and call.type == "function"
        assert call.function.name == "get_weather"
        assert json.loads(call.function.arguments) == {"city": "Oslo"}
        messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
        texts = [
            chunk.choices[0].delta.content or ""
            for chunk in client.chat.completions.create(**request, stream=True)
            if chunk.choices
        ]
    assert len(texts) > 1 and "".join(texts) == ANSWER


def ask_anthropic(live: Live) -> None:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    request: dict[str, Any] = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1024,
        "messages": messages,
        "tools": [{"name": "get_weather", "input_schema": SCHEMA}],
    }
    with Anthropic(base_url=live.base_url, api_key=live.key, max_retries=0) as client:
        first = client.messages.create(**request)
        (use,) = first.content
        assert first.stop_reason == "tool_use" and use.type == "tool_use"
        assert (use.name, use.input) == ("get_weather", {"city": "Oslo"})
        result = {"type": "tool_result", "tool_use_id": use.id, "content": RESULT}
        messages += [
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        ]
        (text,) = client.messages.create(**request).content
    assert text.type == "text" and text.text == ANSWER
