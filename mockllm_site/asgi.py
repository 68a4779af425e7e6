"""The ASGI application, for any server: Django, WebSockets, and the start and end of a process."""

import sys
from typing import cast

from mockllm_site.kit import env

env.configure()

from django.conf import settings  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402  (needs the settings)

django = get_asgi_application()

# Imported after the setup, because they import models.
from mockllm_site.routes.imports import with_routes  # noqa: E402
from mockllm_site.serve import lease  # noqa: E402
from mockllm_site.serve.lifespan import lifespan, with_services  # noqa: E402
from mockllm_site.serve.limits import with_body_limit  # noqa: E402
from mockllm_site.serve.request_threads import with_request_threads  # noqa: E402
from scenarios_app.serving.transports.asgi_scope import App, with_prepared_scope  # noqa: E402

if settings.MOCKLLM_LIGHT:
    # Installed without Channels.
    from mockllm_site.routes.light_connections import ProtocolTypeRouter, sockets
else:
    from mockllm_site.routes.websockets import ProtocolTypeRouter, sockets

if "daphne.server" in sys.modules:
    # daphne has no lifespan: a process that may not serve ends here.
    lease.acquire_or_exit()

http = with_prepared_scope(with_routes(with_body_limit(with_request_threads(cast(App, django)))))

application = ProtocolTypeRouter(
    {"http": with_services(http), "websocket": with_services(sockets), "lifespan": lifespan}
)
