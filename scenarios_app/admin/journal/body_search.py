"""Searches the bodies of journal rows, newest first, for a limited time."""

import json
import time
from collections.abc import Callable

from django.db.models import QuerySet

from scenarios_app.models import ServedRequest
from scenarios_app.models.bodies import read_body

MAX_SECONDS = 2.0
MAX_HITS = 1_000
_BATCH = 500
# Values without model instances, which would take most of the time.
_COLUMNS = ("pk", "request_text", "response_text", "parts")


def search_bodies(
    rows: QuerySet[ServedRequest], term: str, *, clock: Callable[[], float] = time.monotonic
) -> tuple[list[int], int | None]:
    """Return the primary keys of rows whose bodies contain a text, in any letter case, as written
    or as JSON escapes it. The second value is None, or, if the search stopped after MAX_SECONDS or
    MAX_HITS, how many rows were searched."""
    lower = term.lower()
    forms = {lower, *(json.dumps(lower, ensure_ascii=ascii)[1:-1] for ascii in (True, False))}
    newest = rows.order_by("-pk").values_list(*_COLUMNS)
    end, ids, searched = clock() + MAX_SECONDS, list[int](), 0
    batch = list(newest[:_BATCH])
    while batch:
        for pk, request, response, parts in batch:
            if clock() > end or len(ids) >= MAX_HITS:
                return ids, searched
            searched += 1
            bodies = read_body(request, parts, "request"), read_body(response, parts, "response")
            if any(form in text for text in map(str.lower, bodies) for form in forms):
                ids.append(pk)
        batch = list(newest.filter(pk__lt=batch[-1][0])[:_BATCH])
    return ids, None
