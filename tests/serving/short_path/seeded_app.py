"""Django's application over the random scenarios of a seed, for a server in another process.

`/-/begin/SEED` starts with new scenarios; `/-/results` returns the pickled results.
"""

import pickle
from random import Random

import django

django.setup()

from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send  # noqa: E402
from tests.serving.pipelines import Harness  # noqa: E402
from tests.serving.short_path.results import OPTIONS, results_of  # noqa: E402
from tests.serving.short_path.traffic import documents  # noqa: E402
from tests.serving.transports.provider_app import provider_app  # noqa: E402

_harness = Harness()
_app: App = provider_app(_harness)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a call, or one of the paths of this module."""
    global _harness, _app
    body = b""
    match scope["path"].split("/"):
        case ["", "-", "begin", seed]:
            _harness = Harness(*documents(Random(int(seed))), **OPTIONS)
            _app = provider_app(_harness)
        case ["", "-", "results"]:
            body = pickle.dumps(await results_of(_harness))
        case _:
            return await _app(scope, receive, send)
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
