"""The output items of tools that OpenAI runs itself, and the states in which they stream."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from scenarios_app.engine.canonical import Json, text_or_json
from scenarios_app.engine.parts import LIST_MCP_TOOLS, ServerToolResultPart, ServerToolUsePart

# What a request has to ask for in `include`.
SOURCES: Final = "web_search_call.action.sources"
CODE_OUTPUTS: Final = "code_interpreter_call.outputs"
FILE_RESULTS: Final = "file_search_call.results"
HOSTED_TOOLS: Final = frozenset(
    {"web_search", "file_search", "code_execution", "image_generation", "mcp", "mcp_list_tools"}
)


class HostedItem(msgspec.Struct, frozen=True):
    """The streamed form of a kind of item: its `empty` fields at the start, and its states after
    `in_progress`. With `can_fail` the last state is `failed` for an item with an error."""

    empty: Mapping[str, Json]
    states: tuple[str, ...] = ("completed",)
    can_fail: bool = False


HOSTED_ITEMS: Mapping[str, HostedItem] = {
    "web_search_call": HostedItem({}, ("searching", "completed")),
    "file_search_call": HostedItem({"queries": [], "results": None}, ("searching", "completed")),
    "code_interpreter_call": HostedItem(
        {"code": "", "outputs": None}, ("interpreting", "completed")
    ),
    "image_generation_call": HostedItem({"result": None}, ("generating", "completed")),
    "mcp_call": HostedItem({"arguments": "", "output": None, "error": None}, can_fail=True),
    "mcp_list_tools": HostedItem({"tools": [], "error": None}, can_fail=True),
}


def hosted_item(
    use: ServerToolUsePart,
    result: ServerToolResultPart | None,
    item_id: str,
    included: Collection[Json],
) -> dict[str, Json] | None:
    """Return the item of a tool's use with its result, or None if OpenAI has no such tool.

    As from the real API, sources, outputs of code and results of a file search are there only if
    the request includes them.
    """
    fields: dict[str, Json] = json.loads(use.input)
    value: Json = json.loads(result.content) if result is not None else None
    error = result.error_code if result is not None else None
    status: dict[str, Json] = {"status": "completed" if error is None else "failed"}
    if use.server:
        return _mcp_item(use, value, error, item_id)
    if use.name.startswith("web_search"):
        queries = _list_queries(fields)
        query = queries[0] if queries else ""
        action: dict[str, Json] = {"type": "search", "query": query, "queries": [*queries]}
        if SOURCES in included:
            urls = [hit["url"] for hit in _to_objects(value) if "url" in hit]
            action["sources"] = [{"type": "url", "url": url} for url in urls]
        return {"type": "web_search_call", "id": f"ws_{item_id}", **status, "action": action}
    match use.name:
        case "file_search":
            return {
                "type": "file_search_call",
                "id": f"fs_{item_id}",
                **status,
                "queries": _list_queries(fields),
                "results": _file_results(value) if FILE_RESULTS in included else None,
            }
        case "code_execution":
            code = fields.get("code")
            logs: Json = [{"type": "logs", "logs": error or _output_text(value)}]
            return {
                "type": "code_interpreter_call",
                "id": f"ci_{item_id}",
                **status,
                "code": code if isinstance(code, str) else use.input,
                "container_id": f"cntr_{item_id}",
                "outputs": logs if CODE_OUTPUTS in included and result is not None else None,
            }
        case "image_generation":
            return {
                "type": "image_generation_call",
                "id": f"ig_{item_id}",
                **status,
                "action": "generate",
                "background": "opaque",
                "output_format": "png",
                "quality": fields.get("quality", "auto"),
                "result": value,
                "revised_prompt": fields.get("prompt"),
                "size": fields.get("size", "1024x1024"),
            }
        case _:
            return None


def _mcp_item(
    use: ServerToolUsePart, value: Json, error: str | None, item_id: str
) -> dict[str, Json]:
    """Return the item of a call of an MCP server, or of the list of its tools."""
    if use.name == LIST_MCP_TOOLS:
        tools: Json = [
            {"annotations": None, "description": None, **tool} for tool in _to_objects(value)
        ]
        return {
            "type": "mcp_list_tools",
            "id": f"mcpl_{item_id}",
            "server_label": use.server,
            "tools": tools,
            "error": error,
        }
    failure: Json = None
    if error is not None:
        content: Json = [{"type": "text", "text": error}]
        failure = {"type": "mcp_tool_execution_error", "content": content}
    return {
        "type": "mcp_call",
        "id": f"mcp_{item_id}",
        "status": "completed" if error is None else "failed",
        "approval_request_id": None,
        "arguments": use.input,
        "error": failure,
        "name": use.name,
        "output": None if value is None else _output_text(value),
        "server_label": use.server,
    }


def _list_queries(fields: Mapping[str, Json]) -> list[Json]:
    """Return the queries in the input of a search, a single one as a list."""
    queries, query = fields.get("queries"), fields.get("query")
    if isinstance(queries, list):
        return queries
    return [query] if isinstance(query, str) else []


def _file_results(value: Json) -> list[Json]:
    """Return the results of a file search as the API shows them; `document` names the file."""
    fields: dict[str, Json] = {"attributes": {}, "file_id": None, "score": None, "text": ""}
    results: list[Json] = []
    for hit in _to_objects(value):
        named = {"filename" if key == "document" else key: value for key, value in hit.items()}
        results.append({**fields, "filename": None, **named})
    return results


def _output_text(value: Json) -> str:
    """Return the output of code, the texts of a list of blocks, or any other result as text."""
    match value:
        case {"stdout": str(stdout), **more}:
            stderr = more.get("stderr")
            return stdout + (stderr if isinstance(stderr, str) else "")
        case [{"text": str()}, *_]:
            return "\n".join(text_or_json(block.get("text")) for block in _to_objects(value))
        case None:
            return ""
        case _:
            return text_or_json(value)


def _to_objects(value: Json) -> list[dict[str, Any]]:
    """Return the objects in a list, a single object as a list, or an empty list."""
    values = value if isinstance(value, list) else [value]
    return [value for value in values if isinstance(value, dict)]
