"""Django test cases: each sees its own transaction's rows, and leaves none behind."""

import pytest

from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario
from tests.state import cases
from tests.state.catalogs import names, one

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_test_case_sees_its_own_rows_and_leaves_none_behind() -> None:
    one("before")
    index = catalog.index()
    Scenario.objects.filter(name="before").update(enabled=False)
    empty = catalog.index()
    assert empty is not index
    assert cases.run(cases.CatalogCase) == 5
    assert catalog.index() is empty


def test_a_test_case_that_reads_first_does_not_wait_for_itself() -> None:
    one("before")
    catalog.forget()
    assert cases.run(cases.UnchangedCase) == 2
    assert names() == {"before"}


def test_a_reload_in_a_test_case_takes_nothing_out_of_it() -> None:
    one("before")
    assert cases.run(cases.ReloadCase) == 1
    assert names() == {"before"}
