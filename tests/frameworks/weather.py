"""The tool that scripts of OpenAI's kind of client offer, and its result as they send it back."""

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
MOST_TURNS = 4


def result_of(call: Any) -> dict[str, Any]:
    """The message that brings the result of a call."""
    place = json.loads(call.function.arguments)["location"]
    told = {"role": "tool", "tool_call_id": call.id, "name": call.function.name}
    return {**told, "content": f"sunny in {place}"}
