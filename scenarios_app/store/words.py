"""What the page calls a place in a document, for people who have never seen one."""

import re
from functools import cache

from scenarios_app.models import Scenario, Step
from scenarios_app.models.columns import column_of, places_of

# Places that several fields share, or none has alone.
_OTHERS = {
    "match": "When this arrives",
    "match.messages": "Message",
    "match.model": "Model",
    "match.tool_results": "Tool result",
    "match.tool_calls": "Earlier tool call",
    "match.headers": "Header",
    "match.metadata": "Metadata",
    "produce": "Answer",
    "failures": "Failures",
    "order": "Order of steps",
}
_INDEX = re.compile(r"\[\d+\]")


@cache
def _labels() -> dict[str, str]:
    found = dict(_OTHERS)
    for model in (Scenario, Step):
        for name, place in places_of(model).items():
            found[".".join(place)] = column_of(model, name).label
    return found


def in_words(place: str) -> str:
    """The label of the field at a place, with what is inside it: `Answer text`, `Tool calls [0]`.
    The place itself, where no field is known."""
    if place == "name":
        # A scenario and a step have one.
        return "Name"
    keys = place.split(".")
    for length in range(len(keys), 0, -1):
        outer = ".".join(keys[:length])
        label = _labels().get(_INDEX.sub("", outer)) or _labels().get(outer)
        if label:
            inner = ".".join(keys[length:])
            return f"{label} ({inner})" if inner else label
    return place
