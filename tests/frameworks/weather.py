"""The tool that scripts with OpenAI-style clients offer, and the message of its result."""

import json
from typing import Any

QUESTION = "What is the weather in Paris?"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string"}},
            "required": ["location"],
        },
    },
}
# An agent with this many tool calls does not end.
MAX_TURNS = 4


def tool_result(call: Any) -> dict[str, Any]:
    """Return the message with the result of a call."""
    location = json.loads(call.function.arguments)["location"]
    message = {"role": "tool", "tool_call_id": call.id, "name": call.function.name}
    return {**message, "content": f"sunny in {location}"}
