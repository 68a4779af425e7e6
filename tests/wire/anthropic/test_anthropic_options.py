"""What an Anthropic answer says besides, by its model and by the options of its request."""

from typing import Any

import pytest
from anthropic.types.beta import BetaMessage

from scenarios_app.engine.canonical import Usage
from scenarios_app.engine.parts import ServerToolResultPart, ServerToolUsePart, TextPart
from scenarios_app.wire.anthropic.options import default_options
from tests.wire.anthropic.anthropic_cases import (
    LEAST,
    parse,
    read_stream,
    render,
    response,
    stream,
)

TEXT = response(TextPart("Hi"))
EDITS = {"edits": [{"type": "clear_tool_uses_20250919"}]}


def usage(model: str, **asked: object) -> dict[str, Any]:
    return dict(render(TEXT, model=model, **asked)["usage"])


@pytest.mark.parametrize(
    ("model", "placed", "adaptive"),
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
def test_a_name_tells_what_a_model_says(model: str, placed: bool, adaptive: bool) -> None:
    options = default_options(model, thinking=False)
    assert (options.geo == "global", options.thinking) == (placed, adaptive)


@pytest.mark.parametrize(
    ("model", "asked", "geo"),
    [
        ("claude-sonnet-4-5", {}, "not_available"),
        ("claude-sonnet-4-5", {"inference_geo": "us"}, "not_available"),
        ("claude-opus-4-8", {}, "global"),
        ("claude-opus-4-8", {"inference_geo": "us"}, "us"),
        ("claude-opus-4-8", {"inference_geo": 5}, "global"),
    ],
)
def test_inference_geo_is_the_requested_one_or_the_models_default(
    model: str, asked: dict[str, object], geo: str
) -> None:
    assert usage(model, **asked)["inference_geo"] == geo


def test_thinking_is_counted_where_it_is_on_or_the_models_own_choice() -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    none = {"thinking_tokens": 0}
    assert "output_tokens_details" not in usage("claude-sonnet-4-5")
    assert usage("claude-sonnet-4-5", thinking=thinking)["output_tokens_details"] == none
    assert usage("claude-opus-4-8")["output_tokens_details"] == none
    scripted = response(TextPart("Hi"), usage=Usage(9, 5, 3))
    said = render(scripted, model="claude-sonnet-4-5")["usage"]
    assert said["output_tokens_details"] == {"thinking_tokens": 3}


def test_cache_writes_are_counted_by_the_requested_ttl() -> None:
    answer = response(TextPart("Hi"), usage=Usage(9, 2, cache_write_tokens=7))
    kept = {}
    for ttl in ("5m", "1h"):
        asked = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
        kept[ttl] = render(answer, **asked)["usage"]["cache_creation"]
    assert kept["5m"] == {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0}
    assert kept["1h"] == {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 7}


def test_speed_is_said_where_it_was_asked_for() -> None:
    assert "speed" not in usage("claude-opus-5")
    assert usage("claude-opus-5", speed="fast")["speed"] == "fast"


def ran(name: str, **asked: object) -> dict[str, Any]:
    """The answer in which one of Anthropic's tools ran."""
    use = ServerToolUsePart("srvtoolu_1", name, "{}")
    return render(response(use, ServerToolResultPart("srvtoolu_1", name, "{}")), **asked)


@pytest.mark.parametrize(
    ("name", "searches", "fetches"),
    [("web_search", 1, 0), ("web_fetch", 0, 1), ("code_execution", 0, 0)],
)
def test_anthropics_tools_are_counted_where_they_ran(
    name: str, searches: int, fetches: int
) -> None:
    assert "server_tool_use" not in usage("claude-opus-5")
    assert ran(name)["usage"]["server_tool_use"] == {
        "web_search_requests": searches,
        "web_fetch_requests": fetches,
    }


def test_code_runs_in_the_container_that_was_named_or_in_a_new_one() -> None:
    assert "container" not in ran("web_search", container="container_1")
    new = {"id": "container_ab12", "expires_at": "2025-12-21T21:20:00Z"}
    assert ran("bash_code_execution")["container"] == new
    for given in ("container_1", {"id": "container_1", "skills": []}):
        assert ran("code_execution", container=given)["container"]["id"] == "container_1"
    assert ran("code_execution", container={"skills": []})["container"] == new


def test_a_scripted_container_stands() -> None:
    use = ServerToolUsePart("srvtoolu_1", "code_execution", "{}")
    assert render(response(use, metadata={"container": None}))["container"] is None


def test_a_managed_context_was_never_edited() -> None:
    assert "context_management" not in render(TEXT)
    said = render(TEXT, context_management=EDITS)
    assert said["context_management"] == {"applied_edits": []}
    assert "iterations" not in said["usage"]


@pytest.mark.parametrize(
    "asked",
    [
        {"tools": [{"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-4-8"}]},
        {"context_management": {"edits": [{"type": "compact_20260112"}]}},
        {"fallbacks": [{"model": "claude-opus-4-8"}]},
    ],
)
def test_each_go_is_counted_where_there_may_be_several(asked: dict[str, object]) -> None:
    answer = response(TextPart("Hi"), usage=Usage(100, 50, 0, 10, cache_write_tokens=4))
    said = render(answer, **asked)
    (go,) = said["usage"]["iterations"]
    for key in ("input_tokens", "output_tokens", "cache_creation"):
        assert go[key] == said["usage"][key]
    assert BetaMessage.model_validate(said, strict=True).to_dict(exclude_unset=True) == said


def test_scripted_context_edits_are_not_replaced_at_the_end_of_a_stream() -> None:
    scripted = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1}]}
    answer, asked = (
        response(metadata={"context_management": scripted}),
        {"context_management": EDITS},
    )
    events = dict(read_stream(stream(answer, request=parse({**LEAST, **asked}))))
    assert render(answer, **asked)["context_management"] == scripted
    assert events["message_start"]["message"]["context_management"] == scripted
    assert "context_management" not in events["message_delta"]


def test_a_stream_says_at_its_end_what_a_whole_answer_says() -> None:
    use = ServerToolUsePart("srvtoolu_1", "code_execution", "{}")
    answer, asked = response(use, TextPart("Hi")), {"context_management": EDITS}
    events = read_stream(stream(answer, request=parse({**LEAST, **asked})))
    whole, closing = render(answer, **asked), events[-2][1]
    assert closing["delta"]["container"] == whole["container"]
    assert closing["context_management"] == whole["context_management"]
    assert closing["usage"]["server_tool_use"] == whole["usage"]["server_tool_use"]
    opening = events[0][1]["message"]
    assert not {"container", "context_management"} & set(opening)
    assert {**opening["usage"], **closing["usage"]} == whole["usage"]
