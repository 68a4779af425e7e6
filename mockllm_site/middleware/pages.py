"""Middleware that only pages and their APIs need. It runs in the event loop: in a thread, as Django
runs it, each answer of a provider would hold that thread to its end."""

from collections.abc import Awaitable
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin

from mockllm_site.kit.api.admin_host import NO_PAGES, PAGES, has_pages
from mockllm_site.kit.testcase import running_connection
from mockllm_site.middleware.provider_requests import is_provider_request
from scenarios_app.signals import services_starting

HEADER = "Content-Security-Policy"
HSTS = "Strict-Transport-Security"
STRICT = (
    "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; "
    "img-src 'self' data:; object-src 'none'"
)
# Alpine, which the admin theme uses, compiles expressions in attributes, and the theme writes its
# colours into a style element. Scripts still come only from our own files.
ADMIN = f"{STRICT}; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"


class PageMiddleware(MiddlewareMixin):
    """Base class of middleware for pages: `process_request` waits for nothing, and
    `process_response` only if `waits` says so, which puts it into a thread. APIs below
    `passed_prefixes` pass by, as providers' requests do."""

    passed_prefixes: tuple[str, ...] = ()

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Process a request for a page; pass a provider's on."""
        if is_provider_request(request) or request.path_info.startswith(self.passed_prefixes):
            return self.get_response(request)
        return super().__call__(request)

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        middleware: Any = self
        response: HttpResponseBase | None = None
        if hasattr(self, "process_request"):
            response = middleware.process_request(request)
        response = response or await middleware.get_response(request)
        assert response is not None
        if not hasattr(self, "process_response"):
            return response
        process = middleware.process_response
        if self.waits(request, response):
            process = sync_to_async(process)
            return await process(request, response)
        return process(request, response)

    def waits(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """Return True if `process_response` may wait for the database or a file."""
        return False


class TestMode(PageMiddleware):
    """Prepares test mode before the first request, for clients of this process: servers have done
    that. A test's transaction has its tables; another connection would wait for it."""

    is_prepared = False

    def process_request(self, request: HttpRequest) -> None:
        if not self.is_prepared and running_connection() is None:
            # Without a database a page may be answered all the same.
            results = services_starting.send_robust(sender=TestMode)
            self.is_prepared = not any(error for _, error in results)

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        if not self.is_prepared:
            await sync_to_async(self.process_request)(request)
        middleware: Any = self
        response: HttpResponseBase = await middleware.get_response(request)
        return response


class Security(PageMiddleware, SecurityMiddleware):
    """Sets Django's security headers on pages."""


class Common(PageMiddleware, CommonMiddleware):
    """Checks the host of pages, and adds their missing slashes and lengths."""


class FrameOptions(PageMiddleware, XFrameOptionsMiddleware):
    """Keeps pages out of frames of other sites."""


class SecurityHeaders(PageMiddleware):
    """Sets a content security policy on HTML, and HSTS in prod."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if settings.PROD and settings.MOCKLLM_HSTS_SECONDS:
            # Also over plain HTTP, where browsers ignore it, because a proxy in front may end TLS.
            response.headers.setdefault(HSTS, f"max-age={settings.MOCKLLM_HSTS_SECONDS}")
        if response.headers.get("Content-Type", "").startswith("text/html"):
            policy = ADMIN if request.path.startswith("/admin/") else STRICT
            response.headers.setdefault(HEADER, policy)
        return response


class AdminHost(PageMiddleware):
    """Answers 404 for pages on other hosts than MOCKLLM_ADMIN_HOST."""

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        is_page = request.path_info.strip("/").partition("/")[0] in PAGES
        if is_page and not has_pages(request.META.get("HTTP_HOST", "")):
            return HttpResponse(NO_PAGES, status=404, content_type="text/plain; charset=utf-8")
        return None
