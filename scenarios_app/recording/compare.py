"""Whether two requests are the same conversation, and what differs where they are not: what
matching, near misses and drift all say of them."""

from urllib.parse import parse_qsl, urlsplit

from scenarios_app.engine.recorded.differences import Difference, differences
from scenarios_app.engine.recorded.requests import EVERY_RULE, ComparedRequest, Exact, compared
from scenarios_app.recording.interaction import RecordedRequest


def request_differences(
    recorded: RecordedRequest, asked: RecordedRequest, *, exact: Exact = EVERY_RULE
) -> tuple[Difference, ...]:
    """What `asked` has that `recorded` has not, and the other way round; nothing where they are the
    same conversation. `exact` names the rules of `engine/recorded/rules` that are switched off.

    Keys are taken out of both before, or stand under names by which the rules know them.
    """
    return differences(_compared(recorded, exact), _compared(asked, exact))


def _compared(request: RecordedRequest, exact: Exact) -> ComparedRequest:
    query = dict(parse_qsl(urlsplit(request.url).query, keep_blank_values=True))
    return compared(request.method.upper(), query, request.body, exact=exact)
