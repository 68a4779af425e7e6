"""Pages of items, as OpenAI's lists of them are asked for and answered."""

from collections.abc import Iterable
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.chat_request import unsupported

_PAGE, _LARGEST_PAGE = 20, 100
# Numbers of more digits are beyond the end of any stream or list.
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is asked for: how many items after the one with that id."""

    after: str | None
    limit: int
    descending: bool


def read_page(call: Call) -> Page:
    """The page that the query asks for; the last item comes first unless it says otherwise."""
    query = Node(dict(call.query))
    return Page(call.query.get("after"), _limit(query), _order(query) == "desc")


def page_of(items: Iterable[Node], asked: Page) -> Json:
    """A page of items."""
    items = list(items)
    if asked.descending:
        items.reverse()
    ids = [item.get("id").value for item in items]
    if asked.after in ids:
        items = items[ids.index(asked.after) + 1 :]
    shown = items[: asked.limit]
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
