"""Google's Gemini API, through its SDK."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, cast

import httpx2

from chat_app.clients.base import ProviderEvent
from chat_app.clients.calling import call, imported
from chat_app.clients.gate import NO_KEY, Route
from chat_app.clients.google_answer import Responses
from chat_app.clients.google_request import config, contents
from chat_app.clients.providers import GOOGLE
from chat_app.clients.reading import legible
from chat_app.request import ModelRequest

if TYPE_CHECKING:
    from google.genai import Client

VERSION = "v1beta"


class GoogleClient:
    def __init__(self, route: Route) -> None:
        self.route = route

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        return call(self._events(request), self.route)

    async def aclose(self) -> None:
        await self.route.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        await imported(GOOGLE.loads)
        from google.genai.types import GenerateContentConfig, GenerateContentResponse

        async with self.route.call() as http:
            responses = Responses(call_prefix=f"call_{len(request.turns)}")
            models = _sdk(self.route.base_url, http).aio.models
            stream = await models.generate_content_stream(
                model=request.model,
                contents=contents(request),
                config=GenerateContentConfig.model_validate(config(request)),
            )
            async with aclosing(cast(AsyncGenerator[GenerateContentResponse, None], stream)):
                with legible():
                    async for response in stream:
                        for event in responses.read(response):
                            yield event
            for event in responses.end():
                yield event


def _sdk(base_url: str, http: httpx2.AsyncClient) -> "Client":
    from google.genai import Client
    from google.genai.client import DebugConfig
    from google.genai.types import HttpOptions

    # Others' clients want the version in it.
    base, _, version = base_url.rstrip("/").rpartition("/")
    if version not in ("v1", VERSION):
        base, version = base_url, VERSION
    return Client(
        api_key=NO_KEY,
        vertexai=False,
        debug_config=DebugConfig(client_mode="", replays_directory="", replay_id=""),
        http_options=HttpOptions(
            base_url=base,
            api_version=version,
            httpx_async_client=http,
            httpx_client=_unused_http(),
            async_client_args={"ssl": _unused_tls()},
        ),
    )


# The SDK makes what it is not given, and that reads the machine's certificates anew for each call.


@cache
def _unused_http() -> httpx2.Client:
    return httpx2.Client(transport=httpx2.BaseTransport(), trust_env=False)


@cache
def _unused_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
