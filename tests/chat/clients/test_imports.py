"""Lazy imports run one at a time, after httpx."""

import asyncio
import threading
from collections.abc import Iterator
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
