"""What the sidebar of the admin asks: who may see which link."""

from django.http import HttpRequest


def may_see_scenarios(request: HttpRequest) -> bool:
    return request.user.has_perm("scenarios_app.view_scenario")


def may_import(request: HttpRequest) -> bool:
    return request.user.has_perms(("scenarios_app.add_scenario", "scenarios_app.change_scenario"))


def may_see_journal(request: HttpRequest) -> bool:
    return request.user.has_perm("scenarios_app.view_servedrequest")


def may_see_accounts(request: HttpRequest) -> bool:
    return request.user.has_perm("auth.view_user")
