"""Requirement 003: an agent's retries, tested against a turn script that fails in four ways.

    python examples/requirements/agent_harness.py

The harness itself retries; the SDK does not, so that each failure is seen.
"""

import json
from typing import Any

import openai
from mockllm import running_server

FAILURES = ("rate_limit", "model_error", "invalid_response", "network_error")
SCRIPT: dict[str, Any] = {
    "id": "check-the-logs",
    "turns": [
        {
            "turn": number,
            "expectedTools": ["read_logs"],
            "failuresBeforeSuccess": 1,
            "failureStatus": failure,
            "response": {
                "kind": "tool-call",
                "toolCalls": [{"toolName": "read_logs", "arguments": {"page": number}}],
            },
        }
        for number, failure in enumerate(FAILURES, 1)
    ]
    + [
        {
            "turn": len(FAILURES) + 1,
            "response": {
                "kind": "final-report",
                "reportFormat": "text",
                "reportContent": "All is well.",
            },
        }
    ],
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name}}
    for name in ("read_logs", "agent__final_report")
]


def ask(client: openai.OpenAI, messages: list[Any]) -> Any:
    """Return the model's message; name each failure and try again."""
    for _ in range(3):
        try:
            answer = client.chat.completions.create(
                model="test-llm", messages=messages, tools=TOOLS
            )
            return answer.choices[0].message
        except (openai.APIError, json.JSONDecodeError) as error:
            print(f"  failed: {type(error).__name__}")
    raise SystemExit("three failures in a row")


def run_agent(client: openai.OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "check-the-logs"}]
    while True:
        message = ask(client, messages)
        messages.append(message)
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            if call.function.name == "agent__final_report":
                print("report:", arguments["report_content"])
                return
            print("turn:", call.function.name, arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "no errors"})


def main() -> None:
    with (
        running_server(scenarios=[SCRIPT]) as server,
        openai.OpenAI(
            base_url=server.openai_base_url, api_key=server.api_key, max_retries=0
        ) as client,
    ):
        run_agent(client)


if __name__ == "__main__":
    main()
