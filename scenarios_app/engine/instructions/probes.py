"""Answers the probes of instruction blocks: parts of the request as the server received it."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Json, compact_json
from scenarios_app.engine.instructions.kinds import Probe

NO_SYSTEM_PROMPT = "The request has no system prompt."
NO_TOOLS = "The request offers no tools."
NO_HEADERS = "The request has no headers."


class Received(msgspec.Struct, frozen=True):
    """A request before a wire parses it: path with query, headers with masked secrets, body."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Json]


def probe_text(probe: Probe, request: CanonicalRequest, received: Callable[[], Received]) -> str:
    """Return the answer to a probe; states if the request lacks the part."""
    match probe.kind:
        case "system_prompt_echo":
            return request.system_text or NO_SYSTEM_PROMPT
        case "tools_list":
            return "\n".join(tool.name for tool in request.tools) or NO_TOOLS
        case "tools_echo":
            body = received().body
            # `functions` is the key of OpenAI's older clients.
            tools = body.get("tools") or body.get("functions")
            return compact_json(tools) if tools else NO_TOOLS
        case "tool_schema":
            return _describe_schema(request, probe.tool)
        case "request_url_echo":
            return received().url
        case "request_headers_echo":
            headers = dict(received().headers)
            return compact_json(headers) if headers else NO_HEADERS
        case _:
            body = received().body
            if not probe.fields:
                return compact_json(dict(body))
            # Some APIs name the model in the path.
            return _describe_params({"model": request.model, **body}, probe.fields)


def _describe_schema(request: CanonicalRequest, name: str) -> str:
    tool = next((tool for tool in request.tools if tool.name == name), None)
    if tool is None:
        return f"Tool not found: {name}"
    return f"Tool without a schema: {name}" if tool.schema is None else compact_json(tool.schema)


def _describe_params(body: Mapping[str, Json], fields: Sequence[str]) -> str:
    """Return the fields that the body has as JSON, and a line that lists the missing ones."""
    present = {name: body[name] for name in fields if name in body}
    absent = [name for name in fields if name not in body]
    lines = [compact_json(present)] if present else []
    if absent:
        lines.append(f"Not in the request: {', '.join(absent)}")
    return "\n".join(lines)
