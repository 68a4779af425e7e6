"""Content security policy of the pages, and HSTS in prod."""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from mockllm_site.kit.api.in_thread import GetResponse

HEADER = "Content-Security-Policy"
HSTS = "Strict-Transport-Security"
STRICT = (
    "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; "
    "img-src 'self' data:; object-src 'none'"
)
# Alpine, which the admin theme uses, compiles expressions in attributes, and the theme writes its
# colours into a style element. Scripts still come only from our own files.
ADMIN = f"{STRICT}; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"


def security_headers(get_response: GetResponse) -> GetResponse:
    """Return middleware that sets a content security policy on HTML, and HSTS in prod."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if settings.PROD and settings.MOCKLLM_HSTS_SECONDS:
            # Also over plain HTTP, where browsers ignore it, because a proxy in front may end TLS.
            response.headers.setdefault(HSTS, f"max-age={settings.MOCKLLM_HSTS_SECONDS}")
        if response.headers.get("Content-Type", "").startswith("text/html"):
            policy = ADMIN if request.path.startswith("/admin/") else STRICT
            response.headers.setdefault(HEADER, policy)
        return response

    return middleware
