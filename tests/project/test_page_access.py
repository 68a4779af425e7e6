"""The status of each page for each role and mode, and the headers of pages. A new route without a
row fails."""

from typing import Any, TypeAlias

import pytest
from django.test import Client

from tests.project.access import build_url, list_page_routes, make_client

pytestmark = pytest.mark.django_db

Row: TypeAlias = tuple[int | str, int | str, int | str, int | str]

# Statuses for anonymous clients, staff without permissions, read-only QA and an editor.
ROLES = ("anonymous", "staff", "reader", "editor")
LOGIN = "login"
OPEN: Row = (200, 200, 200, 200)
FOR_STAFF: Row = (LOGIN, 200, 200, 200)
FOR_READERS: Row = (LOGIN, 403, 200, 200)
FOR_EDITORS: Row = (LOGIN, 403, 403, 200)
FORBIDDEN: Row = (LOGIN, 403, 403, 403)
# Editors may POST here; these tests send GET.
POST_ONLY: Row = (LOGIN, 403, 403, 405)
NOT_FOUND: Row = (LOGIN, 404, 404, 404)
REDIRECT: Row = (LOGIN, 302, 302, 302)
# Redirects to the object.
REDIRECT_FOR_READERS: Row = (LOGIN, 403, 302, 302)

PROD_CHANGES = {
    "chat/": FOR_EDITORS,
    "chat/leaderboard/": FOR_STAFF,
    # Without the permission, only one's own traces are visible.
    "traces/<str:trace_id>/": (LOGIN, 404, 200, 200),
}


def model_routes(
    name: str, *, view: Row = FOR_READERS, add: Row = FORBIDDEN, delete: Row = FORBIDDEN
) -> dict[str, Row]:
    """Return the rows of the routes that the admin has for every model."""
    pages = {
        "": view,
        "add/": add,
        "<path:object_id>/": REDIRECT,
        "<path:object_id>/change/": view,
        "<path:object_id>/delete/": delete,
        "<path:object_id>/history/": view,
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
    "docs/search/": OPEN,
    "docs/<path:name>/": OPEN,
    # Redirects to the path with a slash.
    "docs/<path:name>": (302, 302, 302, 302),
    "chat/": OPEN,
    "chat/leaderboard/": OPEN,
    "traces/<str:trace_id>/": OPEN,
    # The admin's list replaces it.
    "journal/": (LOGIN, 403, 302, 302),
    "admin/": FOR_STAFF,
    "admin/session/": OPEN,
    "admin/login/": (200, 302, 302, 302),
    "admin/logout/": (302, 405, 405, 405),
    "admin/password_change/": FOR_STAFF,
    "admin/password_change/done/": FOR_STAFF,
    "admin/search/": FOR_STAFF,
    "admin/jsi18n/": FOR_STAFF,
    "admin/autocomplete/": FORBIDDEN,
    "admin/r/<path:content_type_id>/<path:object_id>/": NOT_FOUND,
    "admin/^(?P<app_label>auth|scenarios_app|chat_app|traces_app)/$": (LOGIN, 404, 200, 200),
    "admin/(?P<url>.*)$": NOT_FOUND,
    "admin/auth/user/<id>/password/": FORBIDDEN,
    **model_routes("auth/user", view=FORBIDDEN),
    **model_routes("auth/group", view=FORBIDDEN),
    **model_routes("scenarios_app/scenario", add=FOR_EDITORS, delete=FOR_EDITORS),
    f"{SCENARIO}/import/": FOR_EDITORS,
    f"{SCENARIO}/test/": FOR_READERS,
    # Earlier addresses of its tabs.
    **dict.fromkeys(
        (f"{SCENARIO}/{old}/" for old in ("try", "play", "user")), (LOGIN, 302, 302, 302)
    ),
    f"{SCENARIO}/new/": FOR_EDITORS,
    f"{SCENARIO}/trash/": FOR_READERS,
    # No existing row is in the trash.
    f"{SCENARIO}/trash/<int:revision>/": FOR_READERS,
    f"{SCENARIO}/trash/<int:revision>/restore/": (LOGIN, 405, 405, 405),
    f"{SCENARIO}/add/check/": POST_ONLY,
    f"{SCENARIO}/add/test/": POST_ONLY,
    f"{SCENARIO}/<path:object_id>/test/": POST_ONLY,
    f"{SCENARIO}/<path:object_id>/check/": POST_ONLY,
    f"{SCENARIO}/<path:object_id>/switch/": (LOGIN, 405, 405, 405),
    f"{SCENARIO}/<path:object_id>/here/": FOR_EDITORS,
    f"{SCENARIO}/<path:object_id>/draft/": POST_ONLY,
    f"{SCENARIO}/<path:object_id>/duplicate/": POST_ONLY,
    f"{SCENARIO}/<path:object_id>/export/": FOR_READERS,
    f"{SCENARIO}/<path:object_id>/steps/<int:step_id>/": FOR_READERS,
    **model_routes("scenarios_app/draft", add=FOR_EDITORS, delete=FOR_EDITORS),
    f"{DRAFT}/add/check/": POST_ONLY,
    f"{DRAFT}/add/test/": POST_ONLY,
    f"{DRAFT}/<path:object_id>/test/": POST_ONLY,
    f"{DRAFT}/from-document/": POST_ONLY,
    f"{DRAFT}/<path:object_id>/check/": POST_ONLY,
    f"{DRAFT}/<path:object_id>/here/": FOR_EDITORS,
    f"{DRAFT}/<path:object_id>/publish/": FOR_EDITORS,
    f"{DRAFT}/<path:object_id>/steps/<int:step_id>/": FOR_READERS,
    **model_routes("scenarios_app/servedrequest"),
    f"{REQUEST}/session/": FOR_READERS,
    f"{REQUEST}/session/record/": (LOGIN, 405, 405, 405),
    f"{REQUEST}/session/reset/": (LOGIN, 405, 405, 405),
    f"{REQUEST}/session/rename/": (LOGIN, 405, 405, 405),
    f"{REQUEST}/sessions/": FOR_READERS,
    f"{REQUEST}/<int:pk>/make-step/": FOR_EDITORS,
    f"{REQUEST}/make-step/": REDIRECT_FOR_READERS,
    **model_routes("chat_app/modelprofile", add=FOR_EDITORS, delete=FOR_EDITORS),
    **model_routes("chat_app/contextstate"),
    **{
        route: row
        for record in ("conversation", "message", "abcomparison")
        for route, row in model_routes(
            f"chat_app/{record}", add=FOR_EDITORS, delete=FOR_EDITORS
        ).items()
    },
    **model_routes("traces_app/trace", add=FOR_EDITORS, delete=FOR_EDITORS),
    # Added on the page of their trace.
    **model_routes("traces_app/traceevent", delete=FOR_EDITORS),
}


def test_every_page_has_its_row() -> None:
    assert set(list_page_routes()) == set(MATRIX)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("mode", ["dev", "prod"])
def test_each_role_gets_the_expected_status_and_each_page_a_policy(
    settings: Any, ids: dict[str, Any], mode: str, role: str
) -> None:
    settings.MOCKLLM_ENV = mode
    client = make_client(role)
    statuses: dict[str, int | str] = {}
    without_policy: list[str] = []
    for route in MATRIX:
        response = client.get(build_url(route, ids))
        needs_login = response.headers.get("Location", "").startswith("/admin/login/")
        statuses[route] = LOGIN if needs_login else response.status_code
        if not has_policy(response):
            without_policy.append(route)
    expected = MATRIX | (PROD_CHANGES if mode == "prod" else {})
    assert statuses == {route: row[ROLES.index(role)] for route, row in expected.items()}
    assert without_policy == []


def has_policy(response: Any) -> bool:
    """Return whether a page has a content security policy; other responses need none."""
    if not response.headers.get("Content-Type", "").startswith("text/html"):
        return True
    policy = response.headers.get("Content-Security-Policy", "").split("; ")
    return {"default-src 'self'", "object-src 'none'", "frame-ancestors 'none'"} <= set(policy)


@pytest.mark.parametrize(
    ("prod", "seconds", "header"),
    [(True, 3600, "max-age=3600"), (True, None, None), (False, 3600, None)],
)
def test_browsers_are_held_to_https_where_the_operator_says_so(
    settings: Any, prod: bool, seconds: int | None, header: str | None
) -> None:
    settings.PROD = prod
    settings.MOCKLLM_HSTS_SECONDS = seconds
    assert Client().get("/admin/login/").headers.get("Strict-Transport-Security") == header
