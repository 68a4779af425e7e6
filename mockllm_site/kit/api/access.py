"""Access to the chat's API and pages: from this machine, by the chat token or by a login.

Each login is one client; requests without a login may name any client in `client_id`.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core import exceptions
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, AllowAny, BasePermission
from rest_framework.request import Request

from mockllm_site.kit.api.locality import DOCS, FOREIGN_PAGE, is_foreign, is_open
from mockllm_site.kit.api.shapes import Shape
from mockllm_site.kit.api.tokens import bearer_of, matches_token
from mockllm_site.kit.api.views import JsonView
from mockllm_site.kit.permissions import require_permissions

# Permissions to chat, and to see the traces of other clients.
CHAT_PERMISSION = "chat_app.add_conversation"
VIEW_TRACES_PERMISSION = "traces_app.view_trace"


class ChatAccess(SessionAuthentication):
    """Authenticates a request: from this machine in dev and test, by the chat token or by a login.
    A login needs Django's CSRF token for changes; a bearer token needs none."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """Return the login, or None for this machine and for the chat token, which need no login.
        Raise PermissionDenied for a foreign page, else AuthenticationFailed or NotAuthenticated."""
        if is_foreign(request._request, is_page=request.path.rstrip("/").endswith(DOCS)):
            raise PermissionDenied(FOREIGN_PAGE)
        if is_open(request._request):
            return None
        sent_token = bearer_of(request._request)
        if sent_token is not None:
            if matches_token(sent_token, settings.CHAT_TOKEN):
                return None
            raise AuthenticationFailed("This is not the chat token.")
        user = super().authenticate(request)
        if user is None:
            raise NotAuthenticated(
                "Log in, or send the chat token (CHAT_TOKEN) as Authorization: Bearer …"
            )
        return user

    def enforce_csrf(self, request: Request) -> None:
        """Check the CSRF token on Django's request, so that the body stays unread for the view."""
        super().enforce_csrf(request._request)  # type: ignore[arg-type]

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayChat(BasePermission):
    """Refuses changes by a login without the permission to chat; a view with `reads` makes none."""

    message = f"Your login may read but not chat: it lacks the permission {CHAT_PERMISSION}."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True for reading, for a token or loopback, and for users with the permission to
        chat."""
        reads = request.method in SAFE_METHODS or getattr(view, "reads", False)
        user: Any = request.user
        return reads or not user.is_authenticated or user.has_perm(CHAT_PERMISSION)


def login_client_id(user: Any) -> str:
    """Return the client id of a login; it stays the same when the user is renamed."""
    return f"login-{user.pk}"


class ClientView(JsonView):
    """A view whose field `client_id` names the client. For a login it is always the login's own;
    with `view_all_permission` a request without `client_id` sees all clients."""

    authentication_classes = (ChatAccess,)
    # AllowAny makes the OpenAPI document say that loopback needs no login.
    permission_classes = (AllowAny, MayChat)
    # The permission that a login needs to see other clients' data.
    view_all_permission = VIEW_TRACES_PERMISSION

    def read_body(self, shape: type[Shape]) -> dict[str, Any]:
        """Return the validated body, for a login with its own `client_id`."""
        return self._with_login_client_id(shape, super().read_body(shape))

    def query(self, shape: type[Shape]) -> dict[str, Any]:
        """Return the validated query parameters, for a login with its own `client_id`."""
        return self._with_login_client_id(shape, super().query(shape))

    def _with_login_client_id(self, shape: type[Shape], fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with the login's own `client_id`. They stay unchanged without a login,
        and if `client_id` is absent and the login may see all clients."""
        user: Any = self.request.user
        if not user.is_authenticated or "client_id" not in shape().fields:
            return fields
        if fields.get("client_id") is None and user.has_perm(self.view_all_permission):
            return fields
        return {**fields, "client_id": login_client_id(user)}


P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def local_or_logged_in(permission: str | None = None) -> Callable[[View[P]], View[P]]:
    """Decorate a view for requests from this machine in dev and test, and for logins, which may
    need a permission. Others are redirected to the login page."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded_view(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            """Call the view; raise 403 for a foreign page or a missing permission, or redirect to
            the login."""
            if is_foreign(request, is_page=True):
                raise exceptions.PermissionDenied
            if not is_open(request):
                if not request.user.is_authenticated:
                    return redirect_to_login(request.get_full_path())
                if permission is not None:
                    require_permissions(request, permission)
            return view(request, *args, **kwargs)

        return guarded_view

    return decorate
