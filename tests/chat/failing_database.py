"""Injects database errors: at one operation, or at all operations from one on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from mockllm_site.kit import database_thread as database


@dataclass
class Fault:
    """Raises at operation `at` (queries, begins and commits, from 1) of the thread that runs use.

    With `down`, all later operations fail too, until `repaired` is set."""

    at: int
    down: bool = False
    operations: int = 0
    repaired: bool = False

    @property
    def has_struck(self) -> bool:
        return self.operations >= self.at

    def count_operation(self) -> None:
        self.operations += 1
        if not self.repaired and (self.operations == self.at or (self.down and self.has_struck)):
            raise OperationalError("the database has gone away")


@contextmanager
def database_fault(
    monkeypatch: pytest.MonkeyPatch, at: int, *, down: bool = False
) -> Iterator[Fault]:
    fault = Fault(at, down)
    # Each thread has its own connection.
    connection = database._executor.submit(lambda: connections["default"]).result()
    commit = BaseDatabaseWrapper._commit

    def execute_or_fail(execute: Any, *rest: Any) -> Any:
        fault.count_operation()
        return execute(*rest)

    def commit_or_fail(self: BaseDatabaseWrapper) -> Any:
        if self is connection:
            fault.count_operation()
        return commit(self)

    with monkeypatch.context() as patched:
        patched.setattr(BaseDatabaseWrapper, "_commit", commit_or_fail)
        connection.execute_wrappers.append(execute_or_fail)
        try:
            yield fault
        finally:
            connection.execute_wrappers.remove(execute_or_fail)
