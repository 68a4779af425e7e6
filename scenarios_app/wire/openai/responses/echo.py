"""The request options that a Response repeats, with the model's defaults."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json
from scenarios_app.wire.openai.families import ModelFamily, family_of
from scenarios_app.wire.openai.responses.request import ResponseFields

# Tiers that a request can choose; any other value becomes the default one.
_TIERS = frozenset({"flex", "priority", "scale"})
_NO_TOKENS: Mapping[str, Json] = {"image_tokens": 0, "text_tokens": 0}
# The usage of hosted tools, none of which runs here.
_TOOL_USAGE: Json = {
    "image_gen": {
        "input_tokens": 0,
        "input_tokens_details": {**_NO_TOKENS},
        "output_tokens": 0,
        "output_tokens_details": {**_NO_TOKENS},
        "total_tokens": 0,
    },
    "web_search": {"num_requests": 0},
}


def echo_fields(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """Return the response's fields that repeat request options, and others known at its start."""
    own: ResponseFields = request.own
    body = own.echoed
    family = family_of(request.model)
    fields: dict[str, Json] = {
        "id": f"resp_{response.id}",
        "object": "response",
        "created_at": response.created,
        "background": body.get("background") or False,
        "frequency_penalty": body.get("frequency_penalty") or 0.0,
        "instructions": body.get("instructions"),
        "max_output_tokens": request.max_tokens,
        "max_tool_calls": body.get("max_tool_calls"),
        "metadata": dict(request.metadata),
        "model": response.model,
        "moderation": None,
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "presence_penalty": body.get("presence_penalty") or 0.0,
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": body.get("prompt_cache_retention") or family.retention,
        "reasoning": _reasoning_settings(body.get("reasoning"), family),
        "safety_identifier": body.get("safety_identifier"),
        "store": body.get("store") is not False,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "text": _text_settings(body.get("text")),
        "tool_choice": request.tool_choice or "auto",
        "tool_usage": _TOOL_USAGE,
        "tools": _tools_with_defaults(body.get("tools")),
        "top_logprobs": body.get("top_logprobs") or 0,
        "top_p": family.top_p if request.top_p is None else request.top_p,
        "truncation": body.get("truncation") or "disabled",
        "user": body.get("user"),
    }
    if own.conversation is not None:
        fields["conversation"] = {"id": own.conversation}
    if body.get("prompt") is not None:
        fields["prompt"] = body["prompt"]
    if isinstance(options := body.get("prompt_cache_options"), dict):
        fields["prompt_cache_options"] = {"mode": "implicit", "ttl": "30m", **options}
    return fields


def service_tier(request: CanonicalRequest) -> str:
    """Return the requested service tier if it is flex, priority or scale, else `default`."""
    own: ResponseFields = request.own
    tier = own.echoed.get("service_tier")
    return tier if isinstance(tier, str) and tier in _TIERS else "default"


def reasoning_effort(request: CanonicalRequest) -> str | None:
    """Return the requested reasoning effort, else the model's default, None if it has none."""
    own: ResponseFields = request.own
    match own.echoed.get("reasoning"):
        case {"effort": str(effort)}:
            return effort
        case _:
            return family_of(request.model).effort


def _reasoning_settings(requested: Json, family: ModelFamily) -> Json:
    """Return the reasoning settings of a response: the model's defaults with the requested ones."""
    fields: dict[str, Json] = {"context": family.context, "effort": family.effort, "summary": None}
    if family.mode is not None:
        fields["mode"] = family.mode
    if isinstance(requested, dict):
        fields |= {key: value for key, value in requested.items() if value is not None}
    return fields


def _text_settings(requested: Json) -> Json:
    """Return the text settings of a response: the defaults with the requested ones."""
    text: dict[str, Json] = {"format": {"type": "text"}, "verbosity": "medium"}
    if isinstance(requested, dict):
        text |= {key: value for key, value in requested.items() if value is not None}
    form = text["format"]
    if isinstance(form, dict) and form.get("type") == "json_schema":
        text["format"] = {"description": None, "strict": True, **form}
    return text


def _tools_with_defaults(tools_json: Json) -> Json:
    """Return the tools with their defaults; tools loaded on demand are put into a namespace."""
    tools = tools_json if isinstance(tools_json, list) else []
    return [_tool_with_defaults(tool) for tool in tools if isinstance(tool, dict)]


def _tool_with_defaults(tool: dict[str, Json]) -> Json:
    """Return a tool as the API repeats it, with the defaults of its type."""
    match tool.get("type"):
        case "function" if tool.get("defer_loading") is True:
            function = {key: value for key, value in tool.items() if key != "defer_loading"}
            return {
                "type": "namespace",
                "name": tool.get("name"),
                "description": tool.get("description") or "",
                "tools": [_function_with_defaults(function)],
            }
        case "function":
            return _function_with_defaults(tool)
        case "web_search":
            where = _user_location(tool.get("user_location"))
            return {"filters": None, "search_context_size": "medium", **tool, **where}
        case "tool_search":
            return {"description": None, "parameters": None, **tool}
        case _:
            return tool


def _function_with_defaults(tool: Mapping[str, Json]) -> Json:
    return {"description": None, "output_schema": None, "strict": True, **tool}


def _user_location(location: Json) -> dict[str, Json]:
    """Return the field with the location of a search: the one requested, else the country US."""
    place: dict[str, Json] = dict.fromkeys(("city", "country", "region", "timezone"))
    named = location if isinstance(location, dict) else {"country": "US"}
    return {"user_location": {"type": "approximate", **place, **named}}
