"""Django test cases, run inside of tests that look at what is left after them."""

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
from tests.state.catalogs import one
from tests.state.entries import entry, paths


def run(case: type[TestCase]) -> int:
    """Run all tests of a case; how many there were."""
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
        self.assertEqual(paths(), ["/1", "/2"])

    def test_sees_no_rows_of_others(self) -> None:
        self.journal.record(entry(path="/never flushed"))
        self.assertEqual(paths(), [])


class CatalogCase(TestCase):
    """Each test sees the class's row and its own, and none of another test's."""

    @classmethod
    def setUpTestData(cls) -> None:
        one("of the class")

    def test_sees_its_own_row(self) -> None:
        self.assertEqual(seen(), {"of the class"})
        one("first")
        self.assertEqual(seen(), {"of the class", "first"})
        Scenario.objects.filter(name="first").update(name="renamed")
        self.assertEqual(seen(), {"of the class", "renamed"})

    def test_sees_nothing_of_the_other(self) -> None:
        self.assertEqual(seen(), {"of the class"})
        one("second")
        self.assertEqual(seen(), {"of the class", "second"})

    def test_sees_nothing_that_was_rolled_back(self) -> None:
        with suppress(ZeroDivisionError), transaction.atomic():
            one("rolled back")
            self.assertEqual(seen(), {"of the class", "rolled back"})
            raise ZeroDivisionError
        self.assertEqual(seen(), {"of the class"})

    def test_sees_what_callbacks_run_after(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            one("captured")
        self.assertEqual(seen(), {"of the class", "captured"})

    async def test_sees_its_own_row_from_an_event_loop(self) -> None:
        await sync_to_async(one)("async")
        self.assertEqual(set(catalog.index().by_name), {"of the class", "async"})


class UnchangedCase(TestCase):
    """Nothing is written, and the transaction has the database to itself all the same."""

    def test_sees_what_was_there_before(self) -> None:
        self.assertEqual(seen(), {"before"})

    def test_sees_it_after_a_start_too(self) -> None:
        catalog.start()
        self.assertEqual(seen(), {"before"})


class ReloadCase(TestCase):
    def test_a_reload_leaves_nothing_behind(self) -> None:
        one("uncommitted")
        catalog.reload()
        self.assertEqual(seen(), {"before", "uncommitted"})


class FixtureCase(TestCase):
    fixtures: ClassVar[list[str]] = ["demo"]

    def test_sees_the_rows_of_its_fixture(self) -> None:
        self.assertEqual(seen(), {row.name for row in Scenario.objects.filter(enabled=True)})
        self.assertTrue(seen())


def seen() -> set[str]:
    """What the doors see, whichever thread they run in."""
    with ThreadPoolExecutor(1) as pool:
        elsewhere = pool.submit(lambda: set(catalog.index().by_name)).result()
    here = set(catalog.index().by_name)
    assert here == elsewhere
    return here
