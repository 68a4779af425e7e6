"""Anthropic's messages, through its SDK."""

from collections.abc import AsyncGenerator, AsyncIterator

from chat_app.clients.anthropic_answer import Events
from chat_app.clients.anthropic_request import body
from chat_app.clients.base import ProviderEvent
from chat_app.clients.calling import call, drained, imported
from chat_app.clients.gate import NO_KEY, Route
from chat_app.clients.providers import ANTHROPIC
from chat_app.clients.reading import legible
from chat_app.request import ModelRequest


class AnthropicClient:
    def __init__(self, route: Route) -> None:
        self.route = route

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        return call(self._events(request), self.route)

    async def aclose(self) -> None:
        await self.route.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        await imported(ANTHROPIC.loads)
        from anthropic import AsyncAnthropic, AsyncStream
        from anthropic.types import Message, RawMessageStreamEvent

        async with self.route.call() as http:
            client = AsyncAnthropic(
                api_key=NO_KEY,
                # Others' clients want the version in it.
                base_url=self.route.base_url.rstrip("/").removesuffix("/v1"),
                http_client=http,
                max_retries=0,
                open_telemetry=False,
            )
            events = Events(call_prefix=f"call_{len(request.turns)}")
            # What `messages.create` does, without its warnings about models that will retire:
            # those are for who chose the model, and a program may make errors of warnings.
            stream = await client.post(
                "/v1/messages",
                body=body(request),
                cast_to=Message,
                stream=True,
                stream_cls=AsyncStream[RawMessageStreamEvent],
            )
            async with stream:
                with legible():
                    async for event in stream:
                        for told in events.read(event):
                            yield told
                        if events.ended:
                            await drained(stream)
                            break
            yield events.finished()
