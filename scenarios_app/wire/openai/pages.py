"""Pages of items, as OpenAI's lists of them are asked for and answered."""

from collections.abc import Iterable

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.chat_request import unsupported

_PAGE, _LARGEST_PAGE = 20, 100
# Numbers of more digits are beyond the end of any stream or list.
_DIGITS = 9


def read_page(call: Call) -> dict[str, Json]:
    """Which page is asked for, as the query says."""
    query = Node(dict(call.query))
    return {"after": call.query.get("after"), "limit": _limit(query), "order": _order(query)}


def page_of(items: Iterable[Node], asked: Node) -> Json:
    """A page of items, of which the last comes first unless it is asked otherwise."""
    items = list(items)
    if asked.get("order").value == "desc":
        items.reverse()
    ids = [item.get("id").value for item in items]
    if (after := asked.get("after").value) in ids:
        items = items[ids.index(after) + 1 :]
    shown = items[: asked.get("limit").integer()]
    return list_of(shown, more=len(shown) < len(items))


def list_of(items: list[Node], *, more: bool = False) -> Json:
    """Items in order, with the ids of the first and the last."""
    return {
        "object": "list",
        "data": [item.value for item in items],
        "first_id": items[0].get("id").value if items else None,
        "last_id": items[-1].get("id").value if items else None,
        "has_more": more,
    }


def read_whole(query: Node, key: str, *, unless: int) -> int:
    """A whole number of a query."""
    node = query.maybe(key)
    if node is None:
        return unless
    digits = node.text()
    if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS:
        return int(digits)
    raise node.wrong("a whole number")


def _limit(query: Node) -> int:
    limit = read_whole(query, "limit", unless=_PAGE)
    if limit <= _LARGEST_PAGE:
        return limit
    raise query.get("limit").wrong(f"a number from 0 to {_LARGEST_PAGE}")


def _order(query: Node) -> str:
    node = query.maybe("order")
    if node is None:
        return "desc"
    if node.text() not in ("asc", "desc"):
        raise unsupported(node, "'asc' and 'desc'")
    return node.text()
