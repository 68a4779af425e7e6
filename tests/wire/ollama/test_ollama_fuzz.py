"""Whatever JSON is sent to Ollama's routes: a request or a refusal, and answers that agree."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ollama._types import ChatRequest, EmbedRequest, GenerateRequest, ShowRequest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.wire import WIRE
from tests.wire.envelopes import envelope_complaint
from tests.wire.ollama.ollama_cases import FACTS, ROUTES, make_call
from tests.wire.typed import JSON

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


@pytest.mark.parametrize("operation", ROUTES)
@given(body=BODIES | JSON)
def test_any_json_is_read_or_refused(operation: str, body: Any) -> None:
    route, raw = ROUTES[operation], msgspec.json.encode(body)
    try:
        call = make_call(route.method, route.pattern, body=raw)
        request = route.read(call, route, {}, read_body(raw, Limits()))
        assert isinstance(request, CanonicalRequest)
        assert request.model or operation in ("tags", "ps", "version")
        if request.computed or not route.generates:
            told = msgspec.json.decode(route.compute(request, FACTS))
            assert isinstance(told, dict)
    except WireError as error:
        assert error.answer.status in (400, 404)
        sent_back = msgspec.json.decode(WIRE.error(error.answer, request_id="f00d"))
        assert envelope_complaint("ollama", sent_back) == ""
