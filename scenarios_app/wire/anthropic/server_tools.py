"""Anthropic's own tools as content blocks: what they found, and the sources that a text cites.

Types from the official SDK: `ServerToolUseBlock`, `WebSearchToolResultBlock` and its siblings,
`CitationsWebSearchResultLocation`.
"""

import json
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.parts import Citation, ServerToolResultPart

# They run in a container.
CODE_TOOLS = frozenset({"code_execution", "bash_code_execution", "text_editor_code_execution"})
_WEB_SEARCH = "web_search"
_TOOL_SEARCH = "tool_search"
# Results are named after their tool, all but this one.
_TYPES = {_TOOL_SEARCH: "tool_search_tool_search_result"}
# Where clients that script a search's result put its list.
_LISTS = ("search_results", "results", "content")


def result_block(part: ServerToolResultPart) -> dict[str, Any]:
    """The block of a result. It has no deltas: a stream gives it whole when it begins."""
    tool = _TOOL_SEARCH if part.name.startswith(_TOOL_SEARCH) else part.name
    block = f"{tool}_tool_result"
    content: Json = {"type": f"{block}_error", "error_code": part.error_code}
    if part.error_code is None:
        found: Json = json.loads(part.content)
        content = _search_results(found) if tool == _WEB_SEARCH else _typed(found, tool)
    return {"type": block, "tool_use_id": part.tool_use_id, "content": content}


def citation_of(citation: Citation) -> dict[str, Any]:
    """A source as web search cites it: the one kind that is named by an address."""
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.cited_text,
        "encrypted_index": "",
    }


def _search_results(found: Json) -> list[Json]:
    match found:
        case None:
            return []
        case list():
            return [_search_result(item) for item in found]
        case dict():
            for key in _LISTS:
                if isinstance(listed := found.get(key), list):
                    return _search_results(listed)
            return [_search_result(found)]
        case _:
            return [_search_result(found)]


def _search_result(item: Json) -> Json:
    """One hit, with every field that its type asks for."""
    given = item if isinstance(item, dict) else {"title": item}
    return {
        "type": "web_search_result",
        "url": _text(given.get("url")),
        "title": _text(given.get("title")),
        "encrypted_content": _text(given.get("encrypted_content")),
        "page_age": _text(given.get("page_age")) or None,
    }


def _typed(found: Json, tool: str) -> Json:
    """The result of any other tool as it was given, under the type that the tool's has."""
    kind: dict[str, Json] = {"type": _TYPES.get(tool, f"{tool}_result")}
    match found:
        case None:
            return kind
        case dict():
            return kind | found
        case _:
            return found


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
