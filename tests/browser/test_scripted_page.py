"""A page that a scenario scripts has no rights in the admin, also for a logged-in superuser."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from tests.browser.conftest import OPERATOR, Admin
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

SCRIPT = """<!doctype html><title>before</title><h1>Scripted</h1>
<form id=f method=post action=/admin/auth/user/add/><input name=username value=evil></form>
<script>
document.title = "ran";
fetch("/admin/auth/user/add/", {credentials: "include"}).then(one => one.text()).then(text => {
  const token = /csrfmiddlewaretoken" value="([^"]+)/.exec(text)[1];
  const fields = {csrfmiddlewaretoken: token, username: "evil", usable_password: "true",
                  password1: "w-9d2c7b1a", password2: "w-9d2c7b1a"};
  return fetch("/admin/auth/user/add/", {
    method: "POST", credentials: "include", body: new URLSearchParams(fields)});
}).then(() => { document.title = "done"; });
</script>"""


@pytest.mark.parametrize("cookies", [{}, {"Set-Cookie": "sessionid=stolen; Path=/"}])
def test_scripted_page_cannot_use_the_login_of_a_superuser(
    cookies: dict[str, str], live: Live, log_in: Callable[..., Admin]
) -> None:
    name = settings.SESSION_COOKIE_NAME
    headers = {"Content-Type": "text/html", **cookies}
    raw = {"status": 200, "headers": headers, "body": SCRIPT}
    step = {"match": {"path": "/v1/models"}, "consume": False, "produce": {"raw": raw}}
    live.load({"name": "page", "steps": [step]})
    admin = log_in(OPERATOR, allow_failed_requests=True)
    page = admin.page
    before = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    page.context.set_extra_http_headers({"Authorization": f"Bearer {live.key}"})
    response = page.goto(f"{live.base_url}/v1/models")
    assert response is not None and response.status == 200
    page.wait_for_load_state()
    assert page.locator("h1").inner_text() == "Scripted" and page.title() == "before"
    after = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    assert after[name] == before[name]
    page.context.set_extra_http_headers({})
    admin.go("auth/user/")
    assert page.get_by_role("link", name=OPERATOR, exact=True).first.is_visible()
    assert not User.objects.filter(username="evil").exists()
