"""Django's application over the pipeline of a harness, which needs no database."""

from typing import cast

from django.core.asgi import get_asgi_application

from scenarios_app.serving.transports.asgi_scope import App, with_prepared_scope
from scenarios_app.serving.transports.request_body import with_request_body
from tests.serving.pipelines import Harness

_django = cast(App, get_asgi_application())


def provider_app(harness: Harness) -> App:
    """Return an application that answers providers' requests from a harness."""
    return with_prepared_scope(with_request_body(_django, harness.running))
