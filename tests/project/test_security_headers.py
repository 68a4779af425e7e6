"""The HSTS header of pages; test_page_access.py checks the content security policy."""

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
HSTS = "Strict-Transport-Security"


@pytest.mark.parametrize(
    ("prod", "seconds", "header"),
    [(True, 3600, "max-age=3600"), (True, None, None), (False, 3600, None)],
)
def test_browsers_are_held_to_https_where_the_operator_says_so(
    settings: Any, prod: bool, seconds: int | None, header: str | None
) -> None:
    settings.PROD = prod
    settings.MOCKLLM_HSTS_SECONDS = seconds
    assert Client().get("/admin/login/").headers.get(HSTS) == header
