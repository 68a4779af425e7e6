"""One hash over scripts, requests and answers: equal wherever the same was asked and answered."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from scenarios_app.engine.canonical import Json
from scenarios_app.verdict.session import Exchange

SCHEME = "sha256:"


def receipt(scripts: Mapping[str, Json], exchanges: Iterable[Exchange]) -> str:
    """The receipt of a run, out of the documents of its scenarios by name.

    It holds method, path, query and body of each request, and status, how it ended, and body of
    each answer; no headers, no times, no ids of the journal's own. The order in which parallel
    answers ended makes no difference. Of an answer that its client left only the status counts:
    how much of it was sent is chance.
    """
    lines = sorted(_digest(_answered(one)) for one in exchanges)
    return SCHEME + _digest([dict(sorted(scripts.items())), list(lines)])


def _answered(one: Exchange) -> Json:
    left = one.outcome == "client_gone"
    sent: list[Json] = [] if left else [one.response_body, one.response_bytes]
    return [
        [one.method, one.path, dict(one.query), one.request_body, one.request_bytes],
        [one.status, one.outcome, *sent],
    ]


def _digest(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
