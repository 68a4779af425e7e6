"""Serves the files below STATIC_URL, in a thread."""

from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from whitenoise.middleware import WhiteNoiseMiddleware

from mockllm_site.kit.streams import Closable, close_if_lost


class StaticFiles(WhiteNoiseMiddleware):
    """Serves a static file; all other requests pass by."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info not in self.files:
            return self.get_response(request)
        serve = self._serve_file
        return sync_to_async(serve)(request) if iscoroutinefunction(self) else serve(request)

    def _serve_file(self, request: HttpRequest) -> Any:
        """Return the response with a file, which is closed if the client does not wait for it."""
        response = self.serve(self.files[request.path_info], request)
        file: Closable | None = response.file_to_stream
        if file is not None:
            close_if_lost(file)
        return response
