"""Hypothesis strategies for valid and invalid bodies of Ollama's routes."""

from hypothesis import strategies as st
from ollama._types import ChatRequest, EmbedRequest, GenerateRequest, ShowRequest

from scenarios_app.wire.ollama.wire import WIRE
from tests.wire.json_strategies import JSON

ROUTES = [(route.method, route.pattern) for route in WIRE.endpoints if route.method != "HEAD"]
FIELDS = sorted(
    {
        *ChatRequest.model_fields,
        *GenerateRequest.model_fields,
        *EmbedRequest.model_fields,
        *ShowRequest.model_fields,
    }
    - {"model"}
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | JSON},
        optional={
            "content": st.text(max_size=5) | JSON,
            "thinking": st.text(max_size=5) | JSON,
            "images": st.lists(st.sampled_from(["AA==", "%"]), max_size=2) | JSON,
            "tool_name": st.sampled_from(["f", "g"]) | JSON,
            "tool_call_id": st.sampled_from(["a", "b"]) | JSON,
            "tool_calls": st.lists(
                st.fixed_dictionaries(
                    {"function": st.just({"name": "f", "arguments": {}}) | JSON},
                    optional={"id": st.sampled_from(["a", "b"]) | JSON},
                ),
                max_size=2,
            )
            | JSON,
        },
    ),
    max_size=3,
)
BODIES = st.fixed_dictionaries(
    {"model": st.just("m") | JSON},
    optional={
        **dict.fromkeys(FIELDS, JSON),
        "messages": MESSAGES | JSON,
        "prompt": st.text(max_size=5) | JSON,
        "stream": st.booleans(),
    },
)
ALL = BODIES | JSON
