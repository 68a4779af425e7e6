"""The ASGI application, for any server: passes connections to the mock or to Django's pages."""

import sys
from typing import cast

from mockllm_site.kit import env

env.configure()

from django.core.asgi import get_asgi_application  # noqa: E402  (needs the settings)

django = get_asgi_application()

# Imported after the setup, because they import models.
from mockllm_site.pages.unknown_urls import is_unknown_url  # noqa: E402
from mockllm_site.serve import lease  # noqa: E402
from mockllm_site.serve.database_threads import with_database_threads  # noqa: E402
from mockllm_site.serve.lifespan import ensure_started, lifespan  # noqa: E402
from mockllm_site.serve.limits import with_body_limit  # noqa: E402
from mockllm_site.serve.routes import page_sockets, with_routes  # noqa: E402
from scenarios_app.serving.services import services  # noqa: E402
from scenarios_app.serving.transports.asgi import ProviderApp  # noqa: E402
from scenarios_app.serving.transports.asgi_scope import (  # noqa: E402
    App,
    Receive,
    Scope,
    Send,
    path_of,
    with_close,
)
from scenarios_app.serving.transports.websocket_asgi import SocketApp  # noqa: E402
from scenarios_app.wire.registry import find_intended_path, is_provider_path  # noqa: E402

if "daphne.server" in sys.modules:
    # daphne has no lifespan: a process that may not serve ends here.
    lease.acquire_or_exit()

providers = ProviderApp()
provider_sockets = SocketApp()
pages = with_close(with_routes(with_body_limit(with_database_threads(cast(App, django)))))


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Pass an ASGI connection on: providers' paths and unknown URLs to the mock, others to
    Django."""
    match scope["type"]:
        case "http":
            # A copy: some servers append a body's trailers to their list.
            scope["headers"] = list(scope["headers"])
            if not services().started:
                await ensure_started()
            app = providers if is_provider_path(path_of(scope)) or is_unknown_url(scope) else pages
            await app(scope, receive, send)
        case "websocket":
            await ensure_started()
            path = path_of(scope)
            is_provider = is_provider_path(path) or find_intended_path("POST", path)
            app = provider_sockets if is_provider else page_sockets
            await app(scope, receive, send)
        case "lifespan":
            await lifespan(scope, receive, send)
