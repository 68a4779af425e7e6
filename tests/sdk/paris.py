"""A conversation of three turns with two tools, scripted for each client."""

from typing import Any

from tests.serving.pipelines import scenario

OWNERS = {
    "openai": "openai",
    "responses": "openai",
    "anthropic": "anthropic",
    "anthropic beta": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
}
# Expectations of the first and second step; clients with reasoning must enable it.
EXPECTED: dict[str, list[dict[str, Any]]] = {
    "openai": [{"tools": ["get_weather", "get_time"], "temperature": 0.2}, {}],
    "responses": [{"tools": ["get_weather", "get_time"], "temperature": 0.2}, {}],
    "anthropic": [{"reasoning": "enabled"}, {"reasoning": "enabled"}],
    "anthropic beta": [{"reasoning": "enabled"}, {"reasoning": "enabled"}],
    "gemini": [{"reasoning": "enabled", "temperature": 0.2}, {"reasoning": "enabled"}],
    "ollama": [{"tools": ["get_weather", "get_time"], "temperature": 0.2}, {}],
}


def paris_scenario(provider: str) -> dict[str, Any]:
    """Return a scenario of three turns: two parallel tool calls, an answer and a goodbye."""
    first_step, second_step = (
        {"expect": expected} if expected else {} for expected in EXPECTED[provider]
    )
    reasoning = [{"text": "Both are needed.", "signature": "sig-paris"}]
    # Ollama's client returns no ids; OpenAI's chat client returns no reasoning.
    ids = [{} if provider == "ollama" else {"tool_call_id": id} for id in ("call_w", "call_t")]
    answer = {
        "text": "Let me look.",
        "tool_calls": [
            {"id": "call_w", "name": "get_weather", "arguments": {"city": "Paris"}},
            {"id": "call_t", "name": "get_time", "arguments": {"city": "Paris"}},
        ],
    }
    return scenario(
        "paris",
        {
            "name": "ask for both",
            "turn": 1,
            "match": {
                "provider": OWNERS[provider],
                "tools": ["get_weather", "get_time"],
            },
            **first_step,
            "produce": answer if provider == "openai" else {"reasoning": reasoning, **answer},
        },
        {
            "name": "tell",
            "turn": 2,
            "match": {
                "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}],
                "tool_results": [
                    {**ids[0], "name": "get_weather", "contains": "sunny"},
                    {**ids[1], "name": "get_time", "equals": "21:40"},
                ],
            },
            **second_step,
            "produce": {"text": "It is a sunny evening."},
        },
        {
            "name": "say goodbye",
            "turn": 3,
            "match": {"messages": [{"role": "user", "contains": "thanks", "ignore_case": True}]},
            "produce": {"text": "Enjoy it."},
        },
    )
