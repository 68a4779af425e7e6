"""OpenAI's chat completions, through its SDK: OpenAI's own, and all that speak it elsewhere."""

from collections.abc import AsyncGenerator, AsyncIterator

from chat_app.clients.base import ProviderEvent
from chat_app.clients.calling import call, imported
from chat_app.clients.gate import NO_KEY, Route
from chat_app.clients.openai_answer import Chunks
from chat_app.clients.openai_request import body
from chat_app.clients.providers import OPENAI
from chat_app.clients.reading import legible
from chat_app.request import ModelRequest


class OpenAIClient:
    """`genuine` is OpenAI itself: it has a newer name for a limit that others do not know."""

    def __init__(self, route: Route, *, genuine: bool = False) -> None:
        self.route = route
        self._genuine = genuine

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        return call(self._events(request), self.route)

    async def aclose(self) -> None:
        await self.route.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        await imported(OPENAI.loads)
        from openai import AsyncOpenAI

        async with self.route.call() as http:
            client = AsyncOpenAI(
                api_key=NO_KEY, base_url=self.route.base_url, http_client=http, max_retries=0
            )
            chunks = Chunks(call_prefix=f"call_{len(request.turns)}")
            stream = await client.chat.completions.create(
                **body(request, genuine=self._genuine), stream=True
            )
            async with stream:
                with legible():
                    async for chunk in stream:
                        for event in chunks.read(chunk):
                            yield event
            for event in chunks.end():
                yield event
