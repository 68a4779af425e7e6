"""The mock inside a plain Python process: transports for `httpx2` clients, without a socket.

    client = openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=SyncMockTransport()))

The first transport prepares test mode: settings, an in-memory database and the scenario that
answers everything. Where Django is set up already, its settings and its database are used; an
in-memory one without tables gets them.
"""

import os
from collections.abc import Iterable
from threading import Lock

import django
from django.apps import apps
from django.conf import settings as django_settings

from mockllm_site.kit import env

# Settings must be configured before the apps' models are imported.
if not django_settings.configured and "DJANGO_SETTINGS_MODULE" not in os.environ:
    os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings_test"
    env.variables()[env.LIGHT] = "true"
if not apps.ready:
    django.setup()

from mockllm_site.kit.testcase import run_through, running_connection
from scenarios_app.engine.document import load_documents
from scenarios_app.serving import sync_transport, transport
from scenarios_app.serving.services import running_pipeline
from scenarios_app.signals import services_starting
from scenarios_app.store.documents import load
from scenarios_app.testing.documents import Source, to_documents

_lock = Lock()


class MockTransport(transport.MockTransport):
    """Answers an `httpx2.AsyncClient` in process, for any host. Stores `scenarios` (documents,
    builders or paths) for all transports; they replace those of the same name."""

    def __init__(self, scenarios: Source | Iterable[Source] = ()) -> None:
        _load(scenarios)
        super().__init__(running_pipeline)


class SyncMockTransport(sync_transport.SyncMockTransport):
    """Answers an `httpx2.Client` in process, as `MockTransport` does."""

    def __init__(self, scenarios: Source | Iterable[Source] = ()) -> None:
        _load(scenarios)
        super().__init__(running_pipeline)


def _load(scenarios: Source | Iterable[Source]) -> None:
    """Store the scenarios, if there are any; outside of tests first prepare test mode."""
    documents = to_documents(scenarios)
    if not documents:
        return
    connection = running_connection()
    # In a thread: a transport may be created inside an event loop, where Django refuses queries.
    with _lock:
        if connection is None:
            services_starting.send(sender=MockTransport)
        run_through(connection, lambda: load(load_documents({"scenarios": documents})))
