"""Imports the modules of pages in a thread when they are first needed."""

from collections.abc import Iterator

from django.urls import URLResolver, get_resolver

from mockllm_site.kit.imports import import_in_thread
from scenarios_app.serving.transports.asgi_scope import App, Receive, Scope, Send

# Imported before the module of any page.
_FIRST_MODULE = "mockllm_site.routes.rest_framework"


def page_modules() -> list[str]:
    """Return the modules of all pages, in the order in which to import them."""
    return [_FIRST_MODULE, *(str(resolver.urlconf_name) for resolver in _page_resolvers())]


def with_routes(app: App) -> App:
    """Return Django, for which each request of a page waits until its module is imported: in the
    event loop the import would stop all streams."""

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        """Import the module that has the route of a page before Django looks for it."""
        path: str = scope["path"].removeprefix("/")
        if not _has_view(path):
            resolvers = (each for each in _page_resolvers() if each.pattern.match(path))
            if (resolver := next(resolvers, None)) is not None:
                for module in (_FIRST_MODULE, str(resolver.urlconf_name)):
                    await import_in_thread(module)
        await app(scope, receive, send)

    return routed


def _has_view(path: str) -> bool:
    """Return True for the path of a view in the root module, such as a health check."""
    patterns = get_resolver().url_patterns
    return any(p.pattern.match(path) for p in patterns if not isinstance(p, URLResolver))


def _page_resolvers() -> Iterator[URLResolver]:
    """Yield the routes of the root module that name a further module."""
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLResolver) and isinstance(pattern.urlconf_name, str):
            yield pattern
