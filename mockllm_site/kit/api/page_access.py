"""Who may see the chat's pages: this machine in dev and test, elsewhere whoever is logged in."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from mockllm_site.kit.api.locality import is_foreign, is_open

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def here_or_logged_in(permission: str | None = None) -> Callable[[View[P]], View[P]]:
    """The view for those who are let in; a login may need a permission beside."""

    def guarded(view: View[P]) -> View[P]:
        @wraps(view)
        def shown(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if is_foreign(request):
                raise PermissionDenied
            if not is_open(request):
                if not request.user.is_authenticated:
                    return redirect_to_login(request.get_full_path())
                if permission is not None and not request.user.has_perm(permission):
                    raise PermissionDenied
            return view(request, *args, **kwargs)

        return shown

    return guarded
