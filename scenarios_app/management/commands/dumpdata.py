"""`dumpdata`: Django's, whose dumps load into any other database, written whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import dumpdata
from django.db.models import Model

# Names users of this database as authors; never dumped.
ADMIN_LOG = "admin.LogEntry"
# Rows that belong to this database or its servers; dumped only if their model is named.
LOCAL_APPS = {"axes", "sessions"}
LOCAL_MODELS = {
    f"scenarios_app.{name}"
    for name in (
        *("CatalogVersion", "Installation", "ServerProcess", "Presence"),
        *("ServedRequest", "BodyBlock", "PastAnswers", "SessionName", "FaultResult"),
    )
}


class Command(dumpdata.Command):
    help = (
        "Writes rows as a fixture for loaddata, by their names. The admin's log is left out, and "
        "unless their model is named, the journal and other rows of this server."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add Django's arguments; natural keys are the default, so that no row of another database
        is overwritten because it has the same number."""
        super().add_arguments(parser)
        parser.set_defaults(use_natural_foreign_keys=True, use_natural_primary_keys=True)

    def handle(self, *app_labels: str, **options: Any) -> None:
        """Write the fixture. Raise CommandError, and change no file, if that is not possible."""
        named = {label.lower() for label in app_labels}
        if ADMIN_LOG.lower() in named:
            raise CommandError(f"{ADMIN_LOG} is a history, which belongs to this database.")
        local = {model._meta.label for model in apps.get_models() if _is_local(model)}
        left_out = sorted(name for name in local if name.lower() not in named)
        options["exclude"] = [*options["exclude"], ADMIN_LOG, *left_out]
        if not options["output"] or _is_device(options["output"]):
            super().handle(*app_labels, **options)
            return
        with _replaced_when_whole(options["output"]) as output:
            super().handle(*app_labels, **{**options, "output": output})


def _is_local(model: type[Model]) -> bool:
    return model._meta.app_label in LOCAL_APPS or model._meta.label in LOCAL_MODELS


def _is_device(path: str) -> bool:
    """True for a pipe or device such as /dev/stdout, which cannot be replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def _replaced_when_whole(path: str) -> Iterator[str]:
    """Yield the path of a file that replaces `path` at the end, unless an error is raised. Raises
    CommandError if the folder cannot be written."""
    target = Path(os.path.realpath(path))
    try:
        folder = TemporaryDirectory(dir=target.parent, prefix=".dumpdata-")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
    with folder:
        yield str(Path(folder.name) / target.name)
        # Without the extension of an archive that Django does not know.
        for file in Path(folder.name).iterdir():
            place = target.parent / file.name
            if place.exists():
                shutil.copymode(place, file)
            file.replace(place)
