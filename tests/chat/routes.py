"""Every route of the chat API, from the URLconf, with a sample request for one client's rows."""

import re
from dataclasses import dataclass, field
from typing import Any

from django.urls import URLPattern

from chat_app.api.urls import urlpatterns

METHODS = ("get", "post", "put", "delete")


@dataclass(frozen=True)
class ResourceIds:
    """The ids of one client's rows."""

    conversation: str
    message: str
    trace: str
    comparison: str

    def ids(self) -> set[str]:
        return {self.conversation, self.message, self.trace, self.comparison}


@dataclass(frozen=True)
class RouteRequest:
    """A request without `client_id`; words in braces are ids of ResourceIds."""

    method: str
    path: str
    fields: dict[str, Any] = field(default_factory=dict)

    def path_for(self, resource_ids: ResourceIds) -> str:
        return self.path.format(**vars(resource_ids))

    def fields_for(self, resource_ids: ResourceIds) -> dict[str, Any]:
        return {
            key: value.format(**vars(resource_ids)) if isinstance(value, str) else value
            for key, value in self.fields.items()
        }


IN_CONVERSATION = {"conversation_id": "{conversation}"}
ROUTE_REQUESTS = {
    "POST get_chat_response_stream": {**IN_CONVERSATION, "message": "More"},
    "GET stream/{trace}": {},
    "POST cancel_stream": {"trace_id": "{trace}"},
    "GET list_conversations": {},
    "GET load_conversation": IN_CONVERSATION,
    "POST load_conversation": IN_CONVERSATION,
    "POST new_conversation": {},
    "POST rename_conversation": {**IN_CONVERSATION, "title": "New"},
    "POST delete_conversation": IN_CONVERSATION,
    "POST rewind_conversation": {**IN_CONVERSATION, "message_id": "{message}"},
    "POST feedback": {"message_id": "{message}", "feedback": "like"},
    "POST ab/stream": {**IN_CONVERSATION, "message": "Both", "profile_a": None, "profile_b": None},
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
    """Return each method and path of the URLconf, without the 404 and the variants with a slash."""
    paths: list[str] = []
    for route in urlpatterns:
        assert isinstance(route, URLPattern)
        cls = route.callback.cls
        path = re.sub(r"<\w+:(\w+)_id>", r"{\1}", str(route.pattern))
        slash_variant = path[:-1] if path.endswith("/") else f"{path}/"
        allowed = [m for m in METHODS if hasattr(cls, m) and m in cls.http_method_names]
        if not any(f"{method.upper()} {slash_variant}" in paths for method in allowed):
            paths += [f"{method.upper()} {path}" for method in allowed]
    return paths
