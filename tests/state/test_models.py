"""Models: choices, natural keys, versions, history and form fields."""

from io import StringIO
from typing import Any, get_args

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, models
from django.test import RequestFactory

from scenarios_app.engine import parts, scenario
from scenarios_app.models import (
    CatalogVersion,
    Revision,
    Scenario,
    ServedRequest,
    Step,
    author_request,
    fields,
)
from scenarios_app.models.fields import JsonField, LinesField, NamesField, ScriptField


@pytest.mark.parametrize(
    ("choices", "values"),
    [
        (fields.FinishReason, get_args(parts.FinishReason)),
        (fields.Reasoning, get_args(scenario.Reasoning)),
        (fields.Select, get_args(scenario.Select)),
    ],
)
def test_choices_of_a_column_are_those_of_the_document(
    choices: type[models.TextChoices], values: list[str]
) -> None:
    assert sorted(choices.values) == sorted(values)


@pytest.mark.django_db
def test_migrations_match_the_models(settings: Any) -> None:
    settings.MIGRATION_MODULES = {}
    output = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=output)
    assert output.getvalue() == "No changes detected\n"


@pytest.mark.django_db
def test_rows_are_found_by_their_natural_keys() -> None:
    weather = Scenario.objects.create(name="weather")
    first, _ = (weather.steps.create(order=order) for order in (1, 2))
    assert Scenario.objects.get_by_natural_key(*weather.natural_key()) == weather
    assert Step.objects.get_by_natural_key(*first.natural_key()) == first
    with pytest.raises(Step.DoesNotExist):
        Step.objects.get_by_natural_key("weather", 3)


@pytest.mark.django_db
def test_rows_have_readable_names() -> None:
    weather = Scenario.objects.create(name="weather")
    assert str(weather) == "weather"
    assert str(Step(scenario=weather, order=2)) == "step 2"
    assert str(Step(scenario=weather, order=2, document={"name": "answer"})) == "answer"
    served = ServedRequest(method="POST", path="/v1/messages", status=404)
    assert str(served) == "POST /v1/messages → 404"


@pytest.mark.django_db
def test_catalog_number_only_increases() -> None:
    CatalogVersion.increase("default")
    first = CatalogVersion.objects.get().number
    CatalogVersion.increase("default")
    assert CatalogVersion.objects.get().number == first + 1
    assert str(CatalogVersion.objects.get()) == str(first + 1)
    CatalogVersion.objects.all().delete()
    CatalogVersion.increase("default")
    assert CatalogVersion.objects.get().number > first


@pytest.mark.django_db(transaction=True)
def test_failed_save_does_not_change_the_catalog_number(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Scenario.objects.create(name="weather")
    before = CatalogVersion.objects.get().number

    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Scenario, "save_base", fail)
    with pytest.raises(ZeroDivisionError):
        weather.save()
    assert CatalogVersion.objects.get().number == before


@pytest.mark.django_db
def test_history_has_the_user_of_each_change() -> None:
    request = RequestFactory().get("/")
    request.user = user = User.objects.create(username="qa")
    token = author_request.set(request)
    try:
        weather = Scenario.objects.create(name="weather", priority=1)
        weather.priority = 2
        weather.save()
    finally:
        author_request.reset(token)
    user.delete()
    revisions = Revision.objects.of(weather)
    assert [(r.document["priority"], r.user) for r in revisions] == [(1, "qa"), (2, "qa")]


@pytest.mark.django_db
def test_json_keeps_the_order_of_keys_and_unusual_values() -> None:
    value = {"z": 1, "a": [2**70, 1.0, "\0é", None], "m": {"y": True, "b": False}}
    Scenario.objects.create(name="a", document=value)
    document = Scenario.objects.get().document
    assert document == value
    assert list(document) == ["z", "a", "m"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT document FROM scenarios_app_scenario")
        assert cursor.fetchone()[0].startswith('{"z": 1, "a": [')


def test_nan_is_not_stored_as_json() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        JsonField().get_db_prep_value({"a": float("nan")}, connection)


@pytest.mark.parametrize(
    ("field", "submitted", "value", "form_text"),
    [
        (NamesField(blank=True), " a, b ,,c", ["a", "b", "c"], "a, b, c"),
        (NamesField(blank=True), "", [], ""),
        (
            LinesField(blank=True),
            "one, two\r\n three \r\n\r\n",
            ["one, two", "three"],
            "one, two\nthree",
        ),
        (ScriptField(blank=True), "  a\r\nb  ", "  a\nb  ", "  a\nb  "),
        (ScriptField(blank=True), "", "", ""),
        (JsonField(blank=True), '{"b": 1, "a": 2}', {"b": 1, "a": 2}, '{"b": 1, "a": 2}'),
    ],
)
def test_form_text_is_parsed(field: Any, submitted: str, value: object, form_text: str) -> None:
    form_field = field.formfield()
    assert form_field is not None
    assert form_field.clean(submitted) == value
    assert form_field.prepare_value(value) == form_text
    assert not form_field.has_changed(value, submitted)
    assert form_field.has_changed(value, "other")


def test_invalid_form_keeps_the_submitted_text() -> None:
    form_field = NamesField(blank=True).formfield()
    assert form_field.prepare_value("a,, b") == "a,, b"


def test_name_with_a_null_character_is_invalid_in_a_form() -> None:
    with pytest.raises(ValidationError):
        NamesField(blank=True).formfield().clean("a, b\0")


def test_required_list_must_not_be_empty() -> None:
    with pytest.raises(ValidationError):
        NamesField().formfield().clean(" , ")
