"""Lazy imports run one at a time, after httpx; those that nothing waits for let others run."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mockllm_site.kit import imports


class Importer:
    """A fake `import_module`; importing `late` blocks until `may_end` is set."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.late_started = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, name: str) -> ModuleType:
        self.names.append(name)
        if name == "late":
            self.late_started.set()
            assert self.may_end.wait(60)
        if name == "missing":
            raise ImportError(name)
        return ModuleType(name)


@pytest.fixture
def importer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Importer]:
    importer = Importer()
    monkeypatch.setattr(imports, "import_module", importer)
    monkeypatch.setattr(imports, "_imported", {})
    yield importer
    importer.may_end.set()


async def test_httpx_is_imported_before_any_sdk(importer: Importer) -> None:
    assert (await imports.import_in_thread("first")).__name__ == "first"
    assert importer.names == ["httpx", "first"]


@pytest.mark.parametrize("name", ["mockllm_site.routes.pages", "scenarios_app.control.urls"])
async def test_routes_are_imported_without_httpx(importer: Importer, name: str) -> None:
    await imports.import_in_thread(name)
    assert importer.names == [name]


async def test_modules_are_imported_once(importer: Importer) -> None:
    assert await imports.import_in_thread("first") is await imports.import_in_thread("first")
    assert importer.names.count("first") == 1


async def test_import_waits_until_another_is_complete(importer: Importer) -> None:
    late = asyncio.create_task(imports.import_in_thread("late"))
    assert await asyncio.to_thread(importer.late_started.wait, 60)
    other = asyncio.create_task(imports.import_in_thread("other"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(other), 0.1)
    assert "other" not in importer.names
    importer.may_end.set()
    await asyncio.gather(late, other)
    assert importer.names.index("late") < importer.names.index("other")


async def test_missing_module_raises_import_error(importer: Importer) -> None:
    with pytest.raises(ImportError, match="missing"):
        await imports.import_in_thread("missing")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """Make the modules `outer` and `inner` importable; return the pauses before modules."""
    (tmp_path / "outer_module.py").write_text("import inner_module")
    (tmp_path / "inner_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(imports, "_imported", {})
    for name in ("outer_module", "inner_module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    pauses: list[float] = []
    monkeypatch.setattr(imports.time, "sleep", pauses.append)
    return pauses


@pytest.mark.parametrize(("gently", "count"), [(True, 2), (False, 0)])
async def test_gentle_import_pauses_before_each_module(
    pauses: list[float], gently: bool, count: int
) -> None:
    finders = list(sys.meta_path)
    await imports.import_in_thread("outer_module", gently=gently)
    assert pauses == [imports.PAUSE_SECONDS] * count
    assert sys.meta_path == finders


async def test_gentle_import_hurries_once_a_request_waits_for_a_module(
    pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "_hurrying", {0})
    await imports.import_in_thread("outer_module", gently=True)
    assert pauses == []


async def test_gentle_import_lets_others_have_the_lock_sooner(
    pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, intervals = sys.getswitchinterval(), []
    pause = lambda _: intervals.append(sys.getswitchinterval())  # noqa: E731
    monkeypatch.setattr(imports.time, "sleep", pause)
    await imports.import_in_thread("outer_module", gently=True)
    assert intervals == pytest.approx([imports.SWITCH_SECONDS] * 2)
    assert sys.getswitchinterval() == usual


async def test_cancelled_gentle_import_ends_before_the_next_module(
    pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    pausing, may_continue = threading.Event(), threading.Event()

    def pause(_: float) -> None:
        pausing.set()
        assert may_continue.wait(60)

    monkeypatch.setattr(imports.time, "sleep", pause)
    importing = asyncio.create_task(imports.import_in_thread("outer_module", gently=True))
    assert await asyncio.to_thread(pausing.wait, 60)
    importing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await importing
    may_continue.set()
    # It waits until the thread has released the lock.
    assert (await imports.import_in_thread("os")) is os
    assert not {"outer_module", "inner_module"} & sys.modules.keys()
    await imports.import_in_thread("outer_module")
    assert "inner_module" in sys.modules
