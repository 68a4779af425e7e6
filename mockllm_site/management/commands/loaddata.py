"""`loaddata`: Django's, with one-line errors of fixtures and the names of the shipped ones."""

from collections.abc import Sequence
from pathlib import Path

from django.core.management.base import CommandError
from django.core.management.commands import loaddata
from django.core.serializers.base import DeserializationError

from mockllm_site import paths
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.document.json_text import decode
from scenarios_app.engine.document.regular_files import open_regular_file, read_regular_file
from scenarios_app.models import Scenario, one_save
from scenarios_app.store.fixtures import problems_in

SCENARIO_KEYS = {"scenarios", "steps", "turns"}
NOT_ROWS_BUT_SCENARIOS = (
    "holds scenario documents and is no fixture: name it in MOCKLLM_SCENARIOS, or load it with "
    "load_scenarios"
)
# Of the problems in scenarios, an error lists at most this many.
MAX_PROBLEMS = 5
NOT_ROWS = "is no fixture: expected a list of rows, each with its model and fields"


class Command(loaddata.Command):
    help = "Loads fixtures: shipped ones by name, or files."

    def loaddata(self, fixture_labels: Sequence[str]) -> None:
        """Load the fixtures; the CommandError for an unknown one lists the shipped ones."""
        try:
            super().loaddata(fixture_labels)
        except CommandError as error:
            if not str(error).startswith("No fixture named"):
                raise
            raise CommandError(f"{error} There are {', '.join(paths.fixture_names())}.") from None

    def load_label(self, fixture_label: str) -> None:
        """Load a fixture as one save. Raise CommandError with one line; that of an invalid scenario
        names file, scenario, step and place."""
        for file, _, _ in self.find_fixtures(fixture_label):
            try:
                open_regular_file(file).close()
            except OSError as error:
                raise CommandError(f"{file}: cannot be read: {error.strerror}") from None
        try:
            with one_save(f"loaded from {Path(fixture_label).stem}", self.using) as save:
                super().load_label(fixture_label)
                if problems := problems_in(save.changed[self.using, Scenario], self.using):
                    files = ", ".join(file for file, _, _ in self.find_fixtures(fixture_label))
                    listed = "; ".join(map(str, problems[:MAX_PROBLEMS]))
                    more = len(problems) - MAX_PROBLEMS
                    raise CommandError(
                        f"{files}: {listed}" + (f"; {more} more" if more > 0 else "")
                    )
        except DeserializationError as error:
            reasons = (
                fixture_problem(Path(file)) for file, _, _ in self.find_fixtures(fixture_label)
            )
            reason = next(filter(None, reasons), " ".join(str(error).split()))
            raise CommandError(reason) from error


def fixture_problem(file: Path) -> str:
    """Return why a JSON file is no fixture; empty if it may be one or is no JSON."""
    if file.suffix != ".json":
        return ""
    try:
        value = decode(read_regular_file(file), source=str(file))
    except DocumentError as error:
        return str(error)
    rows = value if isinstance(value, list) else [value]
    keys = [set(row) if isinstance(row, dict) else set() for row in rows]
    if any("model" not in of_row and of_row & SCENARIO_KEYS for of_row in keys):
        return f"{file} {NOT_ROWS_BUT_SCENARIOS}"
    if not isinstance(value, list) or not all("model" in of_row for of_row in keys):
        return f"{file} {NOT_ROWS}"
    return ""
