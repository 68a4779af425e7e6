"""The scenarios of one session alone: those in its state."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from asgiref.sync import async_to_sync

from scenarios_app.control.stores import Listed, taken, unknown, with_step
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import ScenarioDocument, dump, load_documents
from scenarios_app.serving.services import services
from scenarios_app.store.rows import limits

# What is read and then written must not change in between.
_writing = Lock()


class OwnScenarios:
    """A session's own scenarios hide the common ones of their names in it."""

    def __init__(self, session: str) -> None:
        self._session = session

    def listed(self) -> Listed:
        kept = self._kept()
        return Listed(tuple(_document(kept[name]) for name in sorted(kept)))

    def get(self, name: str) -> ScenarioDocument:
        kept = self._kept()
        if name not in kept:
            raise unknown(name)
        return _document(kept[name])

    def add(self, documents: list[ScenarioDocument]) -> None:
        with _writing:
            kept = self._kept()
            if found := [document.name for document in documents if document.name in kept]:
                raise taken(found)
            for document in documents:
                self._put(document)

    def put(self, document: ScenarioDocument) -> bool:
        with _writing:
            new = self._put(document)
        if not new:
            self._forget(document.name)
        return new

    def remove(self, name: str) -> None:
        with _writing:
            if not _ask(services().state.drop_scenario, self._session, name):
                raise unknown(name)
        # Steps of a later scenario of this name have the same keys.
        self._forget(name)

    def push(self, name: str, step: Json) -> ScenarioDocument:
        with _writing:
            document = with_step(self.get(name), step)
            self._put(document)
        return document

    def _kept(self) -> Mapping[str, Json]:
        _, kept = _ask(services().state.scenarios_of, self._session)
        return kept

    def _put(self, document: ScenarioDocument) -> bool:
        new: bool = _ask(
            services().state.put_scenario, self._session, document.name, dump(document)
        )
        return new

    def _forget(self, name: str) -> None:
        async_to_sync(services().state.clear_scenario)(name, session=self._session)


def _ask(operation: Callable[..., Any], *arguments: Any) -> Any:
    return async_to_sync(operation)(*arguments)


def _document(kept: Json) -> ScenarioDocument:
    (document,) = load_documents(kept, limits=limits())
    return document
