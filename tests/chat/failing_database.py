"""A database that fails in the middle of things: at one of its operations, or from one on."""

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
    """Fails at the operation `at` (queries, begins and commits, from 1) of the thread that runs
    use, and at all later ones if the database is to stay `down`, until it is `mended`."""

    at: int
    down: bool = False
    operations: int = 0
    mended: bool = False

    @property
    def struck(self) -> bool:
        return self.operations >= self.at

    def meet(self) -> None:
        self.operations += 1
        if not self.mended and (self.operations == self.at or (self.down and self.struck)):
            raise OperationalError("the database has gone away")


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, at: int, *, down: bool = False) -> Iterator[Fault]:
    fault = Fault(at, down)
    # Each thread has its own connection.
    wrapped = database._executor.submit(lambda: connections["default"]).result()
    commit = BaseDatabaseWrapper._commit

    def meet(execute: Any, *rest: Any) -> Any:
        fault.meet()
        return execute(*rest)

    def committed(self: BaseDatabaseWrapper) -> Any:
        if self is wrapped:
            fault.meet()
        return commit(self)

    with monkeypatch.context() as patched:
        patched.setattr(BaseDatabaseWrapper, "_commit", committed)
        wrapped.execute_wrappers.append(meet)
        try:
            yield fault
        finally:
            wrapped.execute_wrappers.remove(meet)
