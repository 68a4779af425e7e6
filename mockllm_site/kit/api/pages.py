"""The page that shows an API's OpenAPI document, and lets one try it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# The page draws with inline styles and images; everything comes from here.
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)


def docs_page(request: HttpRequest, *, title: str, schema_url: str) -> HttpResponse:
    context = {"title": title, "schema_url": schema_url}
    page = render(request, "mockllm_site/api_docs.html", context)
    page.headers["Content-Security-Policy"] = POLICY
    return page
