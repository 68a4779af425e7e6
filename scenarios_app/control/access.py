"""Who may use the control API: this machine where the server is its own, others with the token."""

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from mockllm_site.kit.api.access import bearer_of, is_token
from mockllm_site.kit.api.locality import FOREIGN, is_foreign, is_open


class Access(BaseAuthentication):
    """Lets a request in or raises; nobody in particular is let in."""

    def authenticate(self, request: Request) -> None:
        if is_foreign(request._request):
            raise PermissionDenied(FOREIGN)
        if is_open(request._request):
            return
        token = settings.MOCKLLM_CONTROL_TOKEN
        if not token:
            raise PermissionDenied(
                "The control API is closed: it is open to this machine alone, where the server is "
                "bound to loopback in dev or test, and to those with MOCKLLM_CONTROL_TOKEN, "
                "which is not set."
            )
        given = bearer_of(request._request)
        if given is None:
            raise AuthenticationFailed(
                "Send the control token (MOCKLLM_CONTROL_TOKEN) as Authorization: Bearer …"
            )
        if not is_token(given, token):
            raise AuthenticationFailed("This is not the control token.")

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class AccessScheme(OpenApiAuthenticationExtension):
    """The token as the OpenAPI document describes it."""

    target_class = Access
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "MOCKLLM_CONTROL_TOKEN; on loopback in dev and test nothing is needed.",
        }
