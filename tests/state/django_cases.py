"""Django test cases that tests run to check what is left after them."""

import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ClassVar

from asgiref.sync import sync_to_async
from django.db import transaction
from django.test import TestCase

from scenarios_app.catalog import catalog
from scenarios_app.journal import Journal
from scenarios_app.models import Scenario
from tests.state.catalogs import create_scenario
from tests.state.entries import entry, journal_paths


def run_case(case: type[TestCase]) -> int:
    """Run all tests of a case; return their number."""
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(case).run(result)
    problems = "\n".join(text for _, text in (*result.errors, *result.failures))
    assert not problems, problems
    return result.testsRun


class JournalCase(TestCase):
    journal: ClassVar[Journal]

    def test_sees_its_own_rows(self) -> None:
        for path in ("/1", "/2"):
            self.journal.record(entry(path=path))
            self.assertTrue(self.journal.flush())
        self.assertEqual(journal_paths(), ["/1", "/2"])

    def test_sees_no_rows_of_others(self) -> None:
        self.journal.record(entry(path="/never flushed"))
        self.assertEqual(journal_paths(), [])


class CatalogCase(TestCase):
    """Each test sees the rows of the class and its own, and none of another test."""

    @classmethod
    def setUpTestData(cls) -> None:
        create_scenario("of the class")

    def test_sees_its_own_row(self) -> None:
        self.assertEqual(catalog_names_in_threads(), {"of the class"})
        create_scenario("first")
        self.assertEqual(catalog_names_in_threads(), {"of the class", "first"})
        Scenario.objects.filter(name="first").update(name="renamed")
        self.assertEqual(catalog_names_in_threads(), {"of the class", "renamed"})

    def test_sees_nothing_of_the_other(self) -> None:
        self.assertEqual(catalog_names_in_threads(), {"of the class"})
        create_scenario("second")
        self.assertEqual(catalog_names_in_threads(), {"of the class", "second"})

    def test_sees_nothing_that_was_rolled_back(self) -> None:
        with suppress(ZeroDivisionError), transaction.atomic():
            create_scenario("rolled back")
            self.assertEqual(catalog_names_in_threads(), {"of the class", "rolled back"})
            raise ZeroDivisionError
        self.assertEqual(catalog_names_in_threads(), {"of the class"})

    def test_sees_what_callbacks_run_after(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            create_scenario("captured")
        self.assertEqual(catalog_names_in_threads(), {"of the class", "captured"})

    async def test_sees_its_own_row_from_an_event_loop(self) -> None:
        await sync_to_async(create_scenario)("async")
        self.assertEqual(set(catalog.index().by_name), {"of the class", "async"})


class UnchangedCase(TestCase):
    """Nothing is written, but the transaction has the database for itself."""

    def test_sees_what_was_there_before(self) -> None:
        self.assertEqual(catalog_names_in_threads(), {"before"})

    def test_sees_it_after_a_start_too(self) -> None:
        catalog.start()
        self.assertEqual(catalog_names_in_threads(), {"before"})


class ReloadCase(TestCase):
    def test_a_reload_leaves_nothing_behind(self) -> None:
        create_scenario("uncommitted")
        catalog.reload()
        self.assertEqual(catalog_names_in_threads(), {"before", "uncommitted"})


class FixtureCase(TestCase):
    fixtures: ClassVar[list[str]] = ["demo"]

    def test_sees_the_rows_of_its_fixture(self) -> None:
        self.assertEqual(
            catalog_names_in_threads(), {row.name for row in Scenario.objects.filter(enabled=True)}
        )
        self.assertTrue(catalog_names_in_threads())


def catalog_names_in_threads() -> set[str]:
    """Return the names of the catalog, which are the same in another thread."""
    with ThreadPoolExecutor(1) as pool:
        names_in_thread = pool.submit(lambda: set(catalog.index().by_name)).result()
    names = set(catalog.index().by_name)
    assert names == names_in_thread
    return names
