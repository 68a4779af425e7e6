"""Requirement 002: the chat service as a library, with a tool of an MCP server.

    python examples/requirements/chat_service.py

The service does all the work on the stream. What comes out can be shown as it is.
"""

# Django is set up before its models are imported.
# ruff: noqa: E402

import asyncio
import os

# Test mode: a database in memory, and no model but the mock.
os.environ["MOCKLLM_ENV"] = "test"
os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings"

import django

django.setup()

from chat_app.models import ModelProfile
from chat_app.service import send_message
from chat_app.values.events import Complete, TextDelta, ThinkingDelta, ToolCallStart, ToolResult
from mockllm_site.serve import database, lifespan
from scenarios_app.builder import scenario
from scenarios_app.engine.document import load_documents
from scenarios_app.store.documents import load

SUM = (
    scenario("sum")
    .with_tool_result("add", contains="42")
    .respond_with_text("17 + 25 is 42.")
    .always()
    .then()
    .with_messages(contains="17 + 25")
    .respond_with_reasoning("Better not in my head.")
    .respond_with_tool_call("add", a=17, b=25)
    .always()
    .build()
)


def prepare() -> ModelProfile:
    load(load_documents(SUM))
    return ModelProfile.objects.create(
        name="calculator",
        provider_id="openai",
        model_id="gpt-4o",
        base_url="mock:",
        mcp_servers=["demo"],
    )


async def main() -> None:
    await lifespan.start()
    profile = await asyncio.to_thread(prepare)
    run = await send_message(None, "What is 17 + 25?", profile, client_id="me")
    async for event in run.events():
        match event:
            case ThinkingDelta(content=content):
                print("thinking:", content)
            case ToolCallStart(name=name):
                print("calls:", name)
            case ToolResult(result=result):
                print("result:", result)
            case TextDelta(content=content):
                print("text:", content.strip())
            case Complete(tool_calls=calls):
                print("complete, tool calls:", len(calls))


if __name__ == "__main__":
    database.prepare()
    try:
        asyncio.run(main())
    finally:
        lifespan.stop(0.0)
