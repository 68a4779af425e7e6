"""A refund in two turns: its scenario, with a scripted user."""

from typing import Any

STEPS: list[dict[str, Any]] = [
    {
        "match": {"messages": [{"role": "user", "contains": "money back"}]},
        "produce": {"text": "What is your order number?"},
    },
    {
        "match": {"messages": [{"role": "user", "equals": "12"}]},
        "produce": {"tool_calls": [{"name": "refund", "arguments": {"order": 12}}]},
    },
    {
        "match": {"tool_results": [{"name": "refund", "contains": "12"}]},
        "produce": {"text": "Your money is on its way."},
    },
]
USER: dict[str, Any] = {
    "turns": [
        {"say": "I want my money back.", "must": [{"not_call": {"name": "refund"}}]},
        {
            "when": {"say": {"contains": "order number"}},
            "say": "12",
            "end": True,
            "must": [
                {"call": {"name": "refund", "arguments": {"order": 12}}},
                {"say": {"contains": "on its way"}},
            ],
        },
    ],
    "must": [{"not_say": {"contains": "sorry"}}],
}
REFUND: dict[str, Any] = {"name": "refund", "steps": STEPS, "user": USER}
# The same without conditions on tool calls, which only the agent's mock sees.
TALK: dict[str, Any] = {
    "name": "talk",
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": text}]},
            "consume": False,
            "produce": {"text": answer},
        }
        for text, answer in (("Hello", "Hello, Ann?"), ("Bob", "Welcome, Bob."))
    ],
    "user": {
        "turns": [
            {"say": "Hello."},
            {
                "when": {"say": {"contains": "Ann"}},
                "say": "I am Bob.",
                "must": [{"say": "Welcome, Bob."}],
            },
        ],
    },
}
