"""WhiteNoise for ASGI. Its own middleware is synchronous: every request would go through a thread,
where a view no longer hears that its client has left."""

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Answers the files it knows, whole: they are small, and read from memory soon enough."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: object) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> object:
        if iscoroutinefunction(self):
            return self._answer(request)
        return super().__call__(request)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        known = self.files.get(request.path_info)
        if known is None:
            response: HttpResponseBase = await self.get_response(request)
            return response
        streamed = self.serve(known, request)
        whole = HttpResponse(b"".join(streamed.streaming_content), status=streamed.status_code)
        streamed.close()
        whole.headers = streamed.headers
        return whole
