"""Django test cases see the rows of their transaction and leave none."""

import pytest

from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario
from tests.state import django_cases
from tests.state.catalogs import catalog_names, create_scenario

pytestmark = pytest.mark.django_db(transaction=True)


def test_test_case_sees_its_rows_and_leaves_none() -> None:
    create_scenario("before")
    index = catalog.index()
    Scenario.objects.filter(name="before").update(enabled=False)
    empty_index = catalog.index()
    assert empty_index is not index
    assert django_cases.run_case(django_cases.CatalogCase) == 5
    assert catalog.index() is empty_index


def test_test_case_that_reads_before_it_writes_is_not_blocked() -> None:
    create_scenario("before")
    catalog.forget()
    assert django_cases.run_case(django_cases.UnchangedCase) == 2
    assert catalog_names() == {"before"}


def test_reload_in_a_test_case_keeps_no_rows_of_it() -> None:
    create_scenario("before")
    assert django_cases.run_case(django_cases.ReloadCase) == 1
    assert catalog_names() == {"before"}
