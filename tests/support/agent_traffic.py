"""Requests of a coding agent: each turn repeats tools and instructions, and the conversation grows
in the middle of the body."""

import json
import random
from collections.abc import Iterator
from typing import Any

_WORDS = (
    *("read", "write", "file", "path", "line", "edit", "test", "run", "tool", "call", "result"),
    *("error", "fix", "check", "code", "function", "module", "class", "import", "value", "name"),
    *("list", "text", "begin", "end", "before", "after", "always", "never", "only", "when"),
    *("while", "return", "project", "folder", "branch", "commit", "review", "plan", "step"),
    *("short", "exact", "careful", "user", "answer", "question"),
)


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count))


def _tool(rng: random.Random, number: int) -> dict[str, Any]:
    properties = {
        f"argument_{n}": {"type": "string", "description": words(rng, 12)} for n in range(5)
    }
    schema = {"type": "object", "properties": properties, "required": ["argument_0"]}
    return {"name": f"Tool{number}", "description": words(rng, 300), "input_schema": schema}


def agent_turns(session: int = 0, *, turns: int = 20) -> Iterator[bytes]:
    """Yield the bodies of a session in Anthropic's format, of 80 to 120 kB each.

    Tools and instructions are those of all sessions. The mark of the cache moves with the end of
    the conversation, as agents send it.
    """
    common, rng = random.Random(0), random.Random(session + 1)
    tools = [_tool(common, number) for number in range(18)]
    system = [
        {"type": "text", "text": words(common, 6_000), "cache_control": {"type": "ephemeral"}}
    ]
    task = f"Fix bug {session}. {words(rng, 200)}"
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    for turn in range(turns):
        sent = json.loads(json.dumps(messages))
        sent[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        body = {
            "model": "claude-sonnet-4-5",
            "messages": sent,
            "system": system,
            "tools": tools,
            "metadata": {"user_id": f"session_{session}"},
            "max_tokens": 32_000,
        }
        yield json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        call = {"type": "tool_use", "id": f"toolu_{session}_{turn}", "name": "Tool1"}
        call["input"] = {"argument_0": words(rng, 20)}
        result = {"type": "tool_result", "tool_use_id": call["id"]}
        result["content"] = f"größe {turn}: {words(rng, 300)}"
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": words(rng, 15)}, call]},
            {"role": "user", "content": [result]},
        ]
