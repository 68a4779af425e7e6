"""Each page of the URLconf × who asks × mode. A route that comes without a row fails."""

from typing import Any, TypeAlias

import pytest

from tests.project.access import address, routes, somebody

pytestmark = pytest.mark.django_db

Row: TypeAlias = tuple[int | str, int | str, int | str, int | str]

# Statuses for anonymous clients, staff without permissions, read-only QA and an editor.
WHO = ("anonymous", "staff", "reader", "editor")
LOGIN = "login"
OPEN: Row = (200, 200, 200, 200)
STAFFS: Row = (LOGIN, 200, 200, 200)
SEEN: Row = (LOGIN, 403, 200, 200)
WRITTEN: Row = (LOGIN, 403, 403, 200)
NOBODYS: Row = (LOGIN, 403, 403, 403)
# Takes only POST from an editor; here tried with GET.
POSTED: Row = (LOGIN, 403, 403, 405)
NOT_THERE: Row = (LOGIN, 404, 404, 404)
MOVED: Row = (LOGIN, 302, 302, 302)
# Redirects to the object.
MOVED_FOR_READERS: Row = (LOGIN, 403, 302, 302)

IN_PROD = {
    "chat/": WRITTEN,
    "chat/leaderboard/": STAFFS,
    # Without the permission, only one's own traces are visible.
    "traces/<str:trace_id>/": (LOGIN, 404, 200, 200),
}


def of_model(
    name: str, *, seen: Row = SEEN, add: Row = NOBODYS, delete: Row = NOBODYS
) -> dict[str, Row]:
    """The routes that the admin makes for every model."""
    pages = {
        "": seen,
        "add/": add,
        "<path:object_id>/": MOVED,
        "<path:object_id>/change/": seen,
        "<path:object_id>/delete/": delete,
        "<path:object_id>/history/": seen,
    }
    return {f"admin/{name}/{page}": row for page, row in pages.items()}


SCENARIO = "admin/scenarios_app/scenario"
DRAFT = "admin/scenarios_app/draft"
REQUEST = "admin/scenarios_app/servedrequest"
MATRIX: dict[str, Row] = {
    "": OPEN,
    "livez": OPEN,
    "healthz": OPEN,
    # Open to all; not ready, because no server was started here.
    "readyz": (503, 503, 503, 503),
    "docs/": OPEN,
    "docs/<path:name>/": OPEN,
    # Redirects to the path with a slash.
    "docs/<path:name>": (302, 302, 302, 302),
    "chat/": OPEN,
    "chat/leaderboard/": OPEN,
    "traces/<str:trace_id>/": OPEN,
    # The admin's list replaces it.
    "journal/": (LOGIN, 403, 302, 302),
    "admin/": STAFFS,
    "admin/login/": (200, 302, 302, 302),
    "admin/logout/": (302, 405, 405, 405),
    "admin/password_change/": STAFFS,
    "admin/password_change/done/": STAFFS,
    "admin/search/": STAFFS,
    "admin/jsi18n/": STAFFS,
    "admin/autocomplete/": NOBODYS,
    "admin/r/<path:content_type_id>/<path:object_id>/": NOT_THERE,
    "admin/^(?P<app_label>auth|scenarios_app|chat_app|traces_app)/$": (LOGIN, 404, 200, 200),
    "admin/(?P<url>.*)$": NOT_THERE,
    "admin/auth/user/<id>/password/": NOBODYS,
    **of_model("auth/user", seen=NOBODYS),
    **of_model("auth/group", seen=NOBODYS),
    **of_model("scenarios_app/scenario", add=WRITTEN, delete=WRITTEN),
    f"{SCENARIO}/import/": WRITTEN,
    f"{SCENARIO}/try/": SEEN,
    f"{SCENARIO}/play/": SEEN,
    f"{SCENARIO}/user/": SEEN,
    f"{SCENARIO}/new/": WRITTEN,
    f"{SCENARIO}/trash/": SEEN,
    # No existing row is in the trash.
    f"{SCENARIO}/trash/<int:pk>/": (LOGIN, 403, 404, 404),
    f"{SCENARIO}/trash/<int:pk>/restore/": (LOGIN, 405, 405, 405),
    f"{SCENARIO}/add/check/": POSTED,
    f"{SCENARIO}/add/try/": POSTED,
    f"{SCENARIO}/<path:object_id>/try/": POSTED,
    f"{SCENARIO}/add/play/": POSTED,
    f"{SCENARIO}/<path:object_id>/play/": POSTED,
    f"{SCENARIO}/add/user/": POSTED,
    f"{SCENARIO}/<path:object_id>/user/": POSTED,
    f"{SCENARIO}/<path:object_id>/check/": POSTED,
    f"{SCENARIO}/<path:object_id>/here/": WRITTEN,
    f"{SCENARIO}/<path:object_id>/draft/": POSTED,
    f"{SCENARIO}/<path:object_id>/duplicate/": POSTED,
    f"{SCENARIO}/<path:object_id>/export/": SEEN,
    f"{SCENARIO}/<path:object_id>/steps/<int:step_id>/": SEEN,
    **of_model("scenarios_app/draft", add=WRITTEN, delete=WRITTEN),
    f"{DRAFT}/add/check/": POSTED,
    f"{DRAFT}/add/try/": POSTED,
    f"{DRAFT}/<path:object_id>/try/": POSTED,
    f"{DRAFT}/add/play/": POSTED,
    f"{DRAFT}/<path:object_id>/play/": POSTED,
    f"{DRAFT}/add/user/": POSTED,
    f"{DRAFT}/<path:object_id>/user/": POSTED,
    f"{DRAFT}/from-document/": POSTED,
    f"{DRAFT}/<path:object_id>/check/": POSTED,
    f"{DRAFT}/<path:object_id>/here/": WRITTEN,
    f"{DRAFT}/<path:object_id>/publish/": WRITTEN,
    f"{DRAFT}/<path:object_id>/steps/<int:step_id>/": SEEN,
    **of_model("scenarios_app/servedrequest"),
    f"{REQUEST}/session/": SEEN,
    f"{REQUEST}/session/record/": (LOGIN, 405, 405, 405),
    f"{REQUEST}/session/reset/": (LOGIN, 405, 405, 405),
    f"{REQUEST}/session/rename/": (LOGIN, 405, 405, 405),
    f"{REQUEST}/sessions/": SEEN,
    f"{REQUEST}/<int:pk>/make-step/": WRITTEN,
    f"{REQUEST}/make-step/": MOVED_FOR_READERS,
    **of_model("chat_app/modelprofile", add=WRITTEN, delete=WRITTEN),
    **of_model("chat_app/conversation", delete=WRITTEN),
    **of_model("chat_app/message"),
    **of_model("chat_app/contextstate"),
    **of_model("chat_app/abcomparison"),
    **of_model("traces_app/trace", delete=WRITTEN),
}


def test_every_page_has_its_row() -> None:
    assert set(routes()) == set(MATRIX)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("mode", ["dev", "prod"])
def test_one_gets_where_one_may_and_each_page_has_a_policy(
    settings: Any, ids: dict[str, Any], mode: str, who: str
) -> None:
    settings.MOCKLLM_ENV = mode
    client = somebody(who)
    got: dict[str, int | str] = {}
    loose: list[str] = []
    for route in MATRIX:
        response = client.get(address(route, ids))
        asked = response.headers.get("Location", "").startswith("/admin/login/")
        got[route] = LOGIN if asked else response.status_code
        if not has_policy(response):
            loose.append(route)
    wanted = MATRIX | (IN_PROD if mode == "prod" else {})
    assert got == {route: row[WHO.index(who)] for route, row in wanted.items()}
    assert loose == []


def has_policy(response: Any) -> bool:
    """Whether an answer says what may be loaded into it; one that is no page need not."""
    if not response.headers.get("Content-Type", "").startswith("text/html"):
        return True
    policy = response.headers.get("Content-Security-Policy", "").split("; ")
    return {"default-src 'self'", "object-src 'none'", "frame-ancestors 'none'"} <= set(policy)
