"""The ASGI application, for any server: Django, WebSockets, and the start and end of a process."""

import logging
import sys
from typing import cast

from mockllm_site.kit import env

env.configure()

from django.conf import settings  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402  (needs the settings)

django = get_asgi_application()

# Imported after the setup, because they import models.
from mockllm_site.middleware.provider_requests import split_requests  # noqa: E402
from mockllm_site.routes.imports import with_routes  # noqa: E402
from mockllm_site.serve import lease  # noqa: E402
from mockllm_site.serve.lifespan import lifespan, start  # noqa: E402
from mockllm_site.serve.limits import with_body_limit  # noqa: E402
from mockllm_site.serve.request_threads import (  # noqa: E402
    with_page_threads,
    with_provider_threads,
)
from scenarios_app.serving.services import services  # noqa: E402
from scenarios_app.serving.transports.asgi_scope import (  # noqa: E402
    App,
    Receive,
    Scope,
    Send,
    with_prepared_scope,
)
from scenarios_app.serving.transports.request_body import with_request_body  # noqa: E402

if settings.MOCKLLM_LIGHT:
    # Installed without Channels.
    from mockllm_site.routes.light_connections import ProtocolTypeRouter, sockets
else:
    from mockllm_site.routes.websockets import ProtocolTypeRouter, sockets

if "daphne.server" in sys.modules:
    # daphne has no lifespan: a process that may not serve ends here.
    lease.acquire_or_exit()

log = logging.getLogger(__name__)


def with_services(app: App) -> App:
    """Return the application, which starts the services first if the server has no lifespan
    events. Logs a failure; the next request tries again."""

    async def started(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection, with started services."""
        if not services().started:
            try:
                await start()
            except Exception:
                # Requests then get an error in the envelope of their path.
                log.exception("the services could not be started")
        await app(scope, receive, send)

    return started


app = cast(App, django)
http = with_prepared_scope(
    split_requests(
        providers=with_request_body(with_provider_threads(app)),
        pages=with_routes(with_body_limit(with_page_threads(app))),
    )
)

application = ProtocolTypeRouter(
    {"http": with_services(http), "websocket": with_services(sockets), "lifespan": lifespan}
)
