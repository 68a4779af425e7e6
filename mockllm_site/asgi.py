"""The ASGI application that any server can run."""

from mockllm_site import env

env.configure()

from django.core.asgi import get_asgi_application  # noqa: E402  (needs the settings)

application = get_asgi_application()
