from datetime import timedelta

from django.db import migrations
from django.utils import timezone

WHY = "first known version"
FIRST, BATCH = "+", 200
KINDS = (("Scenario", "Step"), ("Draft", "DraftStep"))


def add_first_versions(apps, schema_editor):
    """Give each scenario and step whose history has no beginning a first version.

    Fixtures stored scenarios without one. What a row was before its first recorded change is not
    known, so its first version is the state after that change; without any, the row as it is.
    """
    database = schema_editor.connection.alias

    def rows(name):
        return apps.get_model("scenarios_app", name).objects.using(database)

    for scenario_model, step_model in KINDS:
        scenarios, steps = {}, {}
        moments = {}
        for name, column, found in (
            (scenario_model, "id", scenarios),
            (step_model, "scenario_id", steps),
        ):
            for record in rows(f"Historical{name}").order_by("history_date", "history_id"):
                owner = getattr(record, column)
                moments[owner] = min(moments.get(owner, record.history_date), record.history_date)
                found.setdefault(record.id, record)
            for row in rows(name):
                found.setdefault(row.id, row)
        stored = set(rows(scenario_model).values_list("pk", flat=True))
        for name, column, found in (
            (scenario_model, "id", scenarios),
            (step_model, "scenario_id", steps),
        ):
            history = rows(f"Historical{name}")
            new = [
                _version(history.model, row, moments.get(getattr(row, column)))
                for row in found.values()
                if getattr(row, "history_type", None) != FIRST and getattr(row, column) in stored
            ]
            history.bulk_create(new, batch_size=BATCH)


def _version(model, row, before):
    """The first version, just before the earliest one of its scenario."""
    names = [f.attname for f in model._meta.concrete_fields if not f.name.startswith("history_")]
    return model(
        **{name: getattr(row, name) for name in names},
        history_type=FIRST,
        history_date=before - timedelta(milliseconds=1) if before else timezone.now(),
        history_change_reason=WHY,
    )


class Migration(migrations.Migration):
    dependencies = [("scenarios_app", "0012_draft_permissions")]

    operations = [
        migrations.RunPython(add_first_versions, migrations.RunPython.noop, elidable=True)
    ]
