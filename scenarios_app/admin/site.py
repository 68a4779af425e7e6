"""What the sidebar asks of a request: who may see a link, and which one stands for this page."""

from django.http import HttpRequest

_LIST = "/admin/scenarios_app"


def may_see_scenarios(request: HttpRequest) -> bool:
    return request.user.has_perm("scenarios_app.view_scenario")


def may_import(request: HttpRequest) -> bool:
    return request.user.has_perms(("scenarios_app.add_scenario", "scenarios_app.change_scenario"))


def may_see_journal(request: HttpRequest) -> bool:
    return request.user.has_perm("scenarios_app.view_servedrequest")


def may_see_accounts(request: HttpRequest) -> bool:
    return request.user.has_perm("auth.view_user")


def at_scenarios(request: HttpRequest) -> bool:
    inside = request.path.startswith((f"{_LIST}/scenario/", f"{_LIST}/draft/"))
    return inside and not at_import(request) and not at_try(request)


def at_try(request: HttpRequest) -> bool:
    return request.path == f"{_LIST}/scenario/try/"


def at_import(request: HttpRequest) -> bool:
    return request.path == f"{_LIST}/scenario/import/"


def at_journal(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/servedrequest/") and not at_sessions(request)


def at_sessions(request: HttpRequest) -> bool:
    return request.path.startswith(f"{_LIST}/servedrequest/session")
