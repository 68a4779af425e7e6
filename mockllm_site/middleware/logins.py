"""Middleware for logins: sessions, CSRF, users, messages and the authors of changes."""

from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware

from mockllm_site.middleware.pages import PageMiddleware
from mockllm_site.middleware.provider_requests import is_provider_request
from scenarios_app.models import author_request

# The control API has tokens; a browser's session means nothing to it.
WITHOUT_LOGIN = ("/control/",)
# Requests of these methods need no CSRF token.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Sessions(PageMiddleware, SessionMiddleware):
    """Gives pages their session, and stores it if it was changed."""

    passed_prefixes = WITHOUT_LOGIN

    def waits(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """Return True if the session must be stored."""
        return request.session.modified


class Csrf(PageMiddleware, CsrfViewMiddleware):
    """Checks the CSRF token of requests that change something."""

    passed_prefixes = WITHOUT_LOGIN

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        if self.async_mode:
            # Django would call the synchronous method of every request in a thread.
            self.process_view = self._process_view_async  # type: ignore[assignment,method-assign]

    async def _process_view_async(
        self, request: HttpRequest, view: Any, arguments: Any, keywords: Any
    ) -> HttpResponseBase | None:
        process = super().process_view
        if request.method in SAFE_METHODS or getattr(view, "csrf_exempt", False):
            return process(request, view, arguments, keywords)
        # Reads the form, in which the token is.
        return await sync_to_async(process)(request, view, arguments, keywords)


class Users(PageMiddleware, AuthenticationMiddleware):
    """Gives pages the user of their session."""

    passed_prefixes = WITHOUT_LOGIN


class Messages(PageMiddleware, MessageMiddleware):
    """Shows messages on the next page of a session."""

    passed_prefixes = (*WITHOUT_LOGIN, "/api/")

    def waits(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """Return True if messages were shown or added, which are stored in the session."""
        messages: Any = getattr(request, "_messages", None)
        return messages is not None and (messages.used or messages.added_new)


class Authors:
    """Makes the user of a request the author of the revisions that it saves."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if is_provider_request(request):
            return self._get_response(request)
        if iscoroutinefunction(self):
            return self._respond(request)
        token = author_request.set(request)
        try:
            return self._get_response(request)
        finally:
            author_request.reset(token)

    async def _respond(self, request: HttpRequest) -> HttpResponseBase:
        token = author_request.set(request)
        try:
            response: HttpResponseBase = await self._get_response(request)
        finally:
            author_request.reset(token)
        return response
