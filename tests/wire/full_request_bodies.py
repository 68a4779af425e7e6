"""Valid requests with many fields, and odd values to substitute for theirs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FullRequest:
    """A body that is valid on these paths, and values to substitute in it."""

    paths: tuple[str, ...]
    body: dict[str, Any]
    odd_values: list[Any]


MESSAGES: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 16,
    "stream": False,
    "temperature": 0.5,
    "top_p": 1,
    "stop_sequences": ["END"],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "metadata": {"user_id": "u"},
    "output_config": {"format": {"type": "json_schema", "schema": {}}},
    "output_format": {"type": "json_schema", "schema": {}},
    "tool_choice": {"type": "auto"},
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [
        {"name": "f", "description": "d", "input_schema": {"type": "object"}, "type": "custom"},
        {"type": "mcp_toolset", "mcp_server_name": "files"},
    ],
    "messages": [
        {"role": "user", "content": "Hello"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "r"}],
                    "is_error": False,
                },
                {"type": "text", "text": "And?"},
            ],
        },
        {"role": "system", "content": "Rhyme."},
    ],
}
CONTENTS: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "Hello"}, {"inlineData": {"data": "iVBO"}}]},
        {"role": "model", "parts": [{"text": "Hm", "thought": True}]},
        {
            "role": "model",
            "parts": [
                {"text": "m.", "thought": True, "thoughtSignature": "c2ln"},
                {"text": "Look.", "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "c", "name": "f", "args": {"a": [1]}}},
                {"functionCall": {"name": "g"}, "thought_signature": "eHh4"},
            ],
        },
        {
            "role": "function",
            "parts": [
                {"functionResponse": {"id": "c", "name": "f", "response": {"result": "x"}}},
                {"functionResponse": {"name": "g", "response": {"error": "y"}}},
                {"text": "And?"},
            ],
        },
    ],
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "tools": [
        {"functionDeclarations": [{"name": "f", "description": "d", "parameters": {}}]},
        {"googleSearch": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {
        "temperature": 0.5,
        "topP": 1,
        "topK": 40,
        "maxOutputTokens": 16,
        "stopSequences": ["END"],
        "candidateCount": 1,
        "responseMimeType": "application/json",
        "responseSchema": {},
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1, "thinkingLevel": "LOW"},
    },
    "labels": {"team": "qa"},
    "safetySettings": [{"category": "x"}],
    "cachedContent": "cachedContents/1",
    "content": {"parts": [{"text": "embedded"}]},
    "outputDimensionality": 2,
    "requests": [{"content": {"parts": [{"text": "embedded"}]}, "outputDimensionality": 2}],
    "generateContentRequest": {"contents": [{"parts": [{"text": "counted"}]}]},
}
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 2**80, 1e308),
    *("", "text", "\u2028\x00é"),
    *([], [[]], [None], [""], ["text"], [{}]),
    *({}, {"": {}}),
]
FULL_REQUESTS = {
    "anthropic": FullRequest(
        ("/v1/messages", "/v1/messages/count_tokens"),
        MESSAGES,
        [
            *ODD_VALUES,
            *("tool_result", "tool_use", "thinking", "disabled", "custom"),
            *([{"type": "text"}], [{"type": "tool_result"}]),
            *({"type": None}, {"type": []}, {"type": "text", "text": {}}, {"format": 1}),
            *({"type": "tool_use", "id": [], "name": "f"}, {"role": "assistant"}, {"content": [1]}),
        ],
    ),
    "gemini": FullRequest(
        tuple(
            f"/v1beta/models/gemini-x:{verb}"
            for verb in ("generateContent", "countTokens", "embedContent", "batchEmbedContents")
        ),
        CONTENTS,
        [
            *ODD_VALUES,
            *("model", "user", "c2ln", "="),
            *([{"text": "x"}], [{"functionResponse": {}}]),
            *({"text": None}, {"text": {}}, {"parts": 1}, {"parts": {"text": "x"}}),
            *({"functionCall": {"name": []}}, {"role": "model"}, {"thought": True, "text": "x"}),
        ],
    ),
}
