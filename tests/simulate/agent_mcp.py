"""An agent on pipes whose tools are those of `mockllm mcp FILE`; the argument is the file."""

import json
import subprocess
import sys
from typing import Any

import openai


class Tools:
    """The tools of the file, over MCP on pipes."""

    def __init__(self, file: str) -> None:
        command = [sys.executable, "-m", "mockllm_site", "mcp", file]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        client = {"name": "agent", "version": "1"}
        self._ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._write({"method": "notifications/initialized"})

    def offered(self) -> list[Any]:
        tools = self._ask("tools/list")["tools"]
        return [
            {"type": "function", "function": {"name": tool["name"], "parameters": {}}}
            for tool in tools
        ]

    def call(self, name: str, arguments: str) -> str:
        result = self._ask("tools/call", name=name, arguments=json.loads(arguments))
        text: str = result["content"][0]["text"]
        return text

    def _ask(self, method: str, **params: Any) -> Any:
        self._write({"id": method, "method": method, "params": params})
        assert self._process.stdout is not None
        while (answer := json.loads(self._process.stdout.readline())).get("id") != method:
            continue
        return answer["result"]

    def _write(self, message: dict[str, Any]) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self._process.stdin, flush=True)


def main(file: str) -> None:
    tools, client = Tools(file), openai.OpenAI(max_retries=0)
    messages: list[Any] = []
    for line in sys.stdin:
        messages.append({"role": "user", "content": line.strip()})
        while True:
            answer = client.chat.completions.create(
                model="gpt-4o",
                messages=messages,
                tools=tools.offered(),
            )
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                content = tools.call(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        print(message.content, flush=True)


main(sys.argv[1])
