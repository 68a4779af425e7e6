"""Every route of the chat API, from the URLconf, and how each is asked for one client's things."""

import re
from dataclasses import dataclass, field
from typing import Any

from django.urls import URLPattern

from chat_app.api.urls import urlpatterns

METHODS = ("get", "post", "put", "delete")


@dataclass(frozen=True)
class Things:
    """The ids of one client's rows."""

    conversation: str
    message: str
    trace: str
    comparison: str

    def ids(self) -> set[str]:
        return {self.conversation, self.message, self.trace, self.comparison}


@dataclass(frozen=True)
class RouteRequest:
    """How a route is asked, but for `client_id`; words in braces are ids of Things."""

    method: str
    path: str
    fields: dict[str, Any] = field(default_factory=dict)

    def path_for(self, things: Things) -> str:
        return self.path.format(**vars(things))

    def fields_for(self, things: Things) -> dict[str, Any]:
        return {
            key: value.format(**vars(things)) if isinstance(value, str) else value
            for key, value in self.fields.items()
        }


IN_IT = {"conversation_id": "{conversation}"}
ROUTE_REQUESTS = {
    "POST get_chat_response_stream": {**IN_IT, "message": "More"},
    "GET stream/{trace}": {},
    "POST cancel_stream": {"trace_id": "{trace}"},
    "GET list_conversations": {},
    "GET load_conversation": IN_IT,
    "POST load_conversation": IN_IT,
    "POST new_conversation": {},
    "POST rename_conversation": {**IN_IT, "title": "New"},
    "POST delete_conversation": IN_IT,
    "POST rewind_conversation": {**IN_IT, "message_id": "{message}"},
    "POST feedback": {"message_id": "{message}", "feedback": "like"},
    "POST ab/stream": {**IN_IT, "message": "Both", "profile_a": None, "profile_b": None},
    "POST ab/vote": {"comparison_id": "{comparison}", "preference": "tie"},
    "GET ab/pending": {},
    "GET ab/leaderboard": {},
    "GET ab/{comparison}": {},
    "GET trace/{trace}": {},
    "GET trace/by_message/{message}": {},
    "POST trace/{trace}/scenario": {},
    "GET schema/": {},
    "GET docs/": {},
}


def route_request(name: str) -> RouteRequest:
    method, _, path = name.partition(" ")
    return RouteRequest(method, path, ROUTE_REQUESTS[name])


def routes() -> list[str]:
    """Every method of every route of the URLconf, twins with a slash and the 404 apart."""
    paths: list[str] = []
    for route in urlpatterns:
        assert isinstance(route, URLPattern)
        cls = route.callback.cls  # type: ignore[attr-defined]
        path = re.sub(r"<\w+:(\w+)_id>", r"{\1}", str(route.pattern))
        twin = path[:-1] if path.endswith("/") else f"{path}/"
        allowed = [m for m in METHODS if hasattr(cls, m) and m in cls.http_method_names]
        if not any(f"{method.upper()} {twin}" in paths for method in allowed):
            paths += [f"{method.upper()} {path}" for method in allowed]
    return paths
