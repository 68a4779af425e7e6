"""The routes of Django's pages: imported in a thread when one is first wanted, while answers that
are running go on."""

from django.conf import settings

from chat_app.imports import imported
from scenarios_app.serving.doors.calls import path_of
from scenarios_app.serving.doors.connection import App, Receive, Scope, Send

ADMIN = "/admin/"


async def load_routes(path: str = ADMIN) -> None:
    """Import what answers a path; the admin's needs everything."""
    await imported(settings.ROOT_URLCONF)
    if path.startswith(ADMIN):
        await imported("mockllm_site.admin_urls")


def with_routes(app: App) -> App:
    """The application, told of a request once its routes are there."""

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        await load_routes(path_of(scope))
        await app(scope, receive, send)

    return routed
