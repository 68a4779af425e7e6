"""The scenarios that all sessions share: those in the database."""

from asgiref.sync import async_to_sync
from django.db import DEFAULT_DB_ALIAS, IntegrityError, transaction

from scenarios_app.control.documents import Listed, taken, unknown, with_step
from scenarios_app.control.errors import ControlError
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, ScenarioDocument
from scenarios_app.loading import load
from scenarios_app.models import CatalogVersion, Scenario
from scenarios_app.rows import document_of, rows_of
from scenarios_app.serving.services import services
from scenarios_app.snapshot import RowProblem, problems_of


class CommonScenarios:
    """Once a change is committed the next request sees it."""

    def listed(self) -> Listed:
        documents: list[ScenarioDocument] = []
        problems: list[RowProblem] = []
        for row in Scenario.objects.order_by("name").prefetch_related("steps"):
            try:
                documents.append(document_of(row))
            except DocumentError as error:
                problems += problems_of(error, row.name)
        return Listed(tuple(documents), tuple(problems))

    def get(self, name: str) -> ScenarioDocument:
        return _document(_row(name))

    def add(self, documents: list[ScenarioDocument]) -> None:
        names = [document.name for document in documents]
        try:
            with transaction.atomic():
                CatalogVersion.bump(DEFAULT_DB_ALIAS)
                there = Scenario.objects.filter(name__in=names).order_by("name")
                if found := list(there.values_list("name", flat=True)):
                    raise taken(found)
                load(documents)
        except IntegrityError:
            raise taken(names) from None

    def put(self, document: ScenarioDocument) -> bool:
        loaded = load([document])
        for name in loaded.replaced:
            _forget(name)
        return not loaded.replaced

    def remove(self, name: str) -> None:
        _row(name).delete()
        _forget(name)

    def push(self, name: str, step: Json) -> ScenarioDocument:
        with transaction.atomic():
            # Steps that come in at the same time come one after the other.
            CatalogVersion.bump(DEFAULT_DB_ALIAS)
            row = _row(name)
            before = list(row.steps.all())
            document = with_step(_document(row), step)
            pushed = rows_of(document)[1][-1]
            pushed.scenario = row
            pushed.order = 1 + max((one.order for one in before), default=0)
            pushed.save()
        return document


def _row(name: str) -> Scenario:
    # A name is never longer, nor holds what no database takes.
    row = None if "\0" in name else Scenario.objects.filter(name=name).first()
    if row is None:
        raise unknown(name)
    return row


def _document(row: Scenario) -> ScenarioDocument:
    try:
        return document_of(row)
    except DocumentError as error:
        problems = "; ".join(str(problem) for problem in problems_of(error, row.name))
        raise ControlError(409, f"What is stored is no valid document: {problems}") from None


def _forget(name: str) -> None:
    async_to_sync(services().state.clear_scenario)(name)
