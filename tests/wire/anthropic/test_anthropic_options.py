"""Fields of Anthropic responses that depend on the model and on options of the request."""

from typing import Any

import pytest
from anthropic.types.beta import BetaMessage

from scenarios_app.engine.canonical import Usage
from scenarios_app.engine.parts import ServerToolResultPart, ServerToolUsePart, TextPart
from scenarios_app.wire.anthropic.options import default_options
from tests.wire.anthropic.anthropic_cases import (
    MINIMAL_BODY,
    parse,
    read_stream,
    render,
    response,
    stream,
)

TEXT = response(TextPart("Hi"))
EDITS = {"edits": [{"type": "clear_tool_uses_20250919"}]}


def render_usage(model: str, **fields: object) -> dict[str, Any]:
    return dict(render(TEXT, model=model, **fields)["usage"])


@pytest.mark.parametrize(
    ("model", "is_global", "is_adaptive"),
    [
        ("claude-3-7-sonnet-latest", False, False),
        ("claude-3-haiku-20240307", False, False),
        ("claude-sonnet-4-20250514", False, False),
        ("claude-opus-4-0", False, False),
        ("claude-sonnet-4-5-20250929", False, False),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", False, False),
        ("claude-opus-4-6", True, False),
        ("claude-opus-4-7", True, True),
        ("anthropic/claude-opus-4.8", True, True),
        ("claude-fable-5", True, True),
        ("claude-haiku-5-5", True, True),
        ("gpt-4o", True, True),
    ],
)
def test_default_options_depend_on_the_model_name(
    model: str, is_global: bool, is_adaptive: bool
) -> None:
    options = default_options(model, thinking=False)
    assert (options.geo == "global", options.thinking) == (is_global, is_adaptive)


@pytest.mark.parametrize(
    ("model", "fields", "geo"),
    [
        ("claude-sonnet-4-5", {}, "not_available"),
        ("claude-sonnet-4-5", {"inference_geo": "us"}, "not_available"),
        ("claude-opus-4-8", {}, "global"),
        ("claude-opus-4-8", {"inference_geo": "us"}, "us"),
        ("claude-opus-4-8", {"inference_geo": 5}, "global"),
    ],
)
def test_inference_geo_is_the_requested_one_or_the_models_default(
    model: str, fields: dict[str, object], geo: str
) -> None:
    assert render_usage(model, **fields)["inference_geo"] == geo


def test_thinking_tokens_are_counted_if_thinking_is_on_or_adaptive() -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    none = {"thinking_tokens": 0}
    assert "output_tokens_details" not in render_usage("claude-sonnet-4-5")
    assert render_usage("claude-sonnet-4-5", thinking=thinking)["output_tokens_details"] == none
    assert render_usage("claude-opus-4-8")["output_tokens_details"] == none
    scripted = response(TextPart("Hi"), usage=Usage(9, 5, 3))
    scripted_usage = render(scripted, model="claude-sonnet-4-5")["usage"]
    assert scripted_usage["output_tokens_details"] == {"thinking_tokens": 3}


def test_cache_writes_are_counted_by_the_requested_ttl() -> None:
    answer = response(TextPart("Hi"), usage=Usage(9, 2, cache_write_tokens=7))
    counts_by_ttl = {}
    for ttl in ("5m", "1h"):
        fields = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
        counts_by_ttl[ttl] = render(answer, **fields)["usage"]["cache_creation"]
    assert counts_by_ttl["5m"] == {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0}
    assert counts_by_ttl["1h"] == {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 7}


def test_usage_has_the_speed_if_it_was_requested() -> None:
    assert "speed" not in render_usage("claude-opus-5")
    assert render_usage("claude-opus-5", speed="fast")["speed"] == "fast"


def render_server_tool(name: str, **fields: object) -> dict[str, Any]:
    """Return the body of a response in which one of Anthropic's tools ran."""
    use = ServerToolUsePart("srvtoolu_1", name, "{}")
    return render(response(use, ServerToolResultPart("srvtoolu_1", name, "{}")), **fields)


@pytest.mark.parametrize(
    ("name", "searches", "fetches"),
    [("web_search", 1, 0), ("web_fetch", 0, 1), ("code_execution", 0, 0)],
)
def test_usage_counts_the_server_tools_that_ran(name: str, searches: int, fetches: int) -> None:
    assert "server_tool_use" not in render_usage("claude-opus-5")
    assert render_server_tool(name)["usage"]["server_tool_use"] == {
        "web_search_requests": searches,
        "web_fetch_requests": fetches,
    }


def test_code_runs_in_the_requested_container_or_in_a_new_one() -> None:
    assert "container" not in render_server_tool("web_search", container="container_1")
    new_container = {"id": "container_ab12", "expires_at": "2025-12-21T21:20:00Z"}
    assert render_server_tool("bash_code_execution")["container"] == new_container
    for container in ("container_1", {"id": "container_1", "skills": []}):
        assert (
            render_server_tool("code_execution", container=container)["container"]["id"]
            == "container_1"
        )
    assert (
        render_server_tool("code_execution", container={"skills": []})["container"] == new_container
    )


def test_scripted_container_is_not_replaced() -> None:
    use = ServerToolUsePart("srvtoolu_1", "code_execution", "{}")
    assert render(response(use, metadata={"container": None}))["container"] is None


def test_context_management_has_no_applied_edits() -> None:
    assert "context_management" not in render(TEXT)
    body = render(TEXT, context_management=EDITS)
    assert body["context_management"] == {"applied_edits": []}
    assert "iterations" not in body["usage"]


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-4-8"}]},
        {"context_management": {"edits": [{"type": "compact_20260112"}]}},
        {"fallbacks": [{"model": "claude-opus-4-8"}]},
    ],
)
def test_iterations_are_counted_for_options_that_allow_several(fields: dict[str, object]) -> None:
    answer = response(TextPart("Hi"), usage=Usage(100, 50, 0, 10, cache_write_tokens=4))
    body = render(answer, **fields)
    (iteration,) = body["usage"]["iterations"]
    for key in ("input_tokens", "output_tokens", "cache_creation"):
        assert iteration[key] == body["usage"][key]
    assert BetaMessage.model_validate(body, strict=True).to_dict(exclude_unset=True) == body


def test_scripted_context_edits_are_not_replaced_at_the_end_of_a_stream() -> None:
    scripted = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1}]}
    answer, fields = (
        response(metadata={"context_management": scripted}),
        {"context_management": EDITS},
    )
    events = dict(read_stream(stream(answer, request=parse({**MINIMAL_BODY, **fields}))))
    assert render(answer, **fields)["context_management"] == scripted
    assert events["message_start"]["message"]["context_management"] == scripted
    assert "context_management" not in events["message_delta"]


def test_end_of_a_stream_has_the_fields_of_an_unstreamed_response() -> None:
    use = ServerToolUsePart("srvtoolu_1", "code_execution", "{}")
    answer, fields = response(use, TextPart("Hi")), {"context_management": EDITS}
    events = read_stream(stream(answer, request=parse({**MINIMAL_BODY, **fields})))
    body, closing = render(answer, **fields), events[-2][1]
    assert closing["delta"]["container"] == body["container"]
    assert closing["context_management"] == body["context_management"]
    assert closing["usage"]["server_tool_use"] == body["usage"]["server_tool_use"]
    opening = events[0][1]["message"]
    assert not {"container", "context_management"} & set(opening)
    assert {**opening["usage"], **closing["usage"]} == body["usage"]
