"""What the paths have in common that belong to a client: who is let in, and who the client is."""

from typing import Any

from rest_framework.permissions import AllowAny

from mockllm_site.kit.api.access import SEES_TRACES, ChatAccess, MayChat, login_client
from mockllm_site.kit.api.shapes import Shape
from mockllm_site.kit.api.view import JsonView


class ClientView(JsonView):
    """A path at which `client_id` says who asks. For a login it says nothing: a login is its own
    client, or nobody in particular where a client need not be named and it may see all."""

    authentication_classes = (ChatAccess,)
    # The first says to the OpenAPI document that on loopback nothing is needed.
    permission_classes = (AllowAny, MayChat)
    # What a login needs to see what is not its own, where that can be asked for.
    sees_with = SEES_TRACES

    def given_as(self, shape: type[Shape]) -> dict[str, Any]:
        return self._as_login(shape, super().given_as(shape))

    def query(self, shape: type[Shape]) -> dict[str, Any]:
        return self._as_login(shape, super().query(shape))

    def _as_login(self, shape: type[Shape], asked: dict[str, Any]) -> dict[str, Any]:
        user: Any = self.request.user
        if not user.is_authenticated or "client_id" not in shape().fields:
            return asked
        if asked.get("client_id") is None and user.has_perm(self.sees_with):
            return asked
        return {**asked, "client_id": login_client(user)}
