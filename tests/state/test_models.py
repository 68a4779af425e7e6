"""The tables: words, natural keys, versions, history, and fields that forms leave as they are."""

from io import StringIO
from typing import Any, get_args

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, models
from django.test import RequestFactory
from simple_history.models import HistoricalRecords

from scenarios_app.engine import parts, scenario
from scenarios_app.models import CatalogVersion, Scenario, ServedRequest, Step, fields
from scenarios_app.models.fields import JsonField, LinesField, NamesField, ScriptField


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (fields.FinishReason, get_args(parts.FinishReason)),
        (fields.Reasoning, get_args(scenario.Reasoning)),
        (fields.Select, get_args(scenario.Select)),
    ],
)
def test_a_column_offers_the_document_s_words(
    choices: type[models.TextChoices], words: list[str]
) -> None:
    assert sorted(choices.values) == sorted(words)


@pytest.mark.django_db
def test_the_migrations_are_those_of_the_models(settings: Any) -> None:
    settings.MIGRATION_MODULES = {}
    told = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=told)
    assert told.getvalue() == "No changes detected\n"


@pytest.mark.django_db
def test_rows_are_found_by_their_natural_keys() -> None:
    weather = Scenario.objects.create(name="weather")
    first, _ = (weather.steps.create(order=order) for order in (1, 2))
    assert Scenario.objects.get_by_natural_key(*weather.natural_key()) == weather
    assert Step.objects.get_by_natural_key(*first.natural_key()) == first
    with pytest.raises(Step.DoesNotExist):
        Step.objects.get_by_natural_key("weather", 3)


@pytest.mark.django_db
def test_rows_have_names_that_people_know() -> None:
    weather = Scenario.objects.create(name="weather")
    assert str(weather) == "weather"
    assert str(Step(scenario=weather, order=2)) == "step 2"
    assert str(Step(scenario=weather, order=2, name="answer")) == "answer"
    served = ServedRequest(method="POST", path="/v1/messages", status=404)
    assert str(served) == "POST /v1/messages → 404"


@pytest.mark.django_db
def test_the_number_of_the_catalog_only_goes_up() -> None:
    CatalogVersion.increase("default")
    first = CatalogVersion.objects.get().number
    CatalogVersion.increase("default")
    assert CatalogVersion.objects.get().number == first + 1
    assert str(CatalogVersion.objects.get()) == str(first + 1)
    CatalogVersion.objects.all().delete()
    CatalogVersion.increase("default")
    assert CatalogVersion.objects.get().number > first


@pytest.mark.django_db(transaction=True)
def test_a_row_that_cannot_be_saved_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Scenario.objects.create(name="weather")
    before = CatalogVersion.objects.get().number

    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Scenario, "save_base", fail)
    with pytest.raises(ZeroDivisionError):
        weather.save()
    assert CatalogVersion.objects.get().number == before


@pytest.mark.django_db
def test_the_history_knows_who_changed_what() -> None:
    request = RequestFactory().get("/")
    request.user = User.objects.create(username="qa")
    HistoricalRecords.context.request = request
    try:
        weather = Scenario.objects.create(name="weather", priority=1)
        weather.priority = 2
        weather.save()
    finally:
        del HistoricalRecords.context.request
    entries = weather.history.order_by("history_id")
    assert [(e.history_type, e.priority, e.history_user.username) for e in entries] == [
        ("+", 1, "qa"),
        ("~", 2, "qa"),
    ]


@pytest.mark.django_db
def test_json_keeps_the_order_of_its_keys_and_its_odd_values() -> None:
    value = {"z": 1, "a": [2**70, 1.0, "\0é", None], "m": {"y": True, "b": False}}
    Scenario.objects.create(name="a", variables=value)
    stored = Scenario.objects.get().variables
    assert stored == value
    assert list(stored) == ["z", "a", "m"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT variables FROM scenarios_app_scenario")
        assert cursor.fetchone()[0].startswith('{"z": 1, "a": [')


def test_json_that_no_client_could_read_is_not_stored() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        JsonField().get_db_prep_value({"a": float("nan")}, connection)


@pytest.mark.parametrize(
    ("field", "typed", "value", "shown"),
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
def test_form_text_is_parsed(field: Any, typed: str, value: object, shown: str) -> None:
    form_field = field.formfield()
    assert form_field is not None
    assert form_field.clean(typed) == value
    assert form_field.prepare_value(value) == shown
    assert not form_field.has_changed(value, typed)
    assert form_field.has_changed(value, "other")


def test_a_form_that_is_shown_again_shows_what_was_typed() -> None:
    form_field = NamesField(blank=True).formfield()
    assert form_field.prepare_value("a,, b") == "a,, b"


def test_names_that_no_database_takes_are_refused_in_a_form() -> None:
    with pytest.raises(ValidationError):
        NamesField(blank=True).formfield().clean("a, b\0")


def test_a_required_list_is_asked_for() -> None:
    with pytest.raises(ValidationError):
        NamesField().formfield().clean(" , ")
