"""The journal's table: rows go into it many at a time, and the oldest leave it."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Count, F, Max, QuerySet

from mockllm_site.kit import rows
from scenarios_app.journal.entry import Row
from scenarios_app.models import PastAnswers, ServedRequest


def insert(given: Sequence[Row]) -> None:
    """Write rows, all or none."""
    rows.insert(ServedRequest, Row._fields, given)


def trim(most: int) -> None:
    """Delete the oldest rows but for so many. How often steps answered in them stays."""
    last = ServedRequest.objects.aggregate(last=Max("pk"))["last"]
    if last is None:
        return
    old = ServedRequest.objects.filter(pk__lte=last - most)
    with transaction.atomic():
        _keep_answers(old)
        old.delete()


def _keep_answers(old: QuerySet[ServedRequest]) -> None:
    answered = old.exclude(scenario="").exclude(step_key="").order_by()
    counted = answered.values_list("scenario", "step_key").annotate(Count("pk"), Max("at"))
    for scenario, key, count, at in counted:
        step = PastAnswers.objects.filter(scenario=scenario, step_key=key)
        if not step.update(count=F("count") + count, last=at):
            PastAnswers.objects.create(scenario=scenario, step_key=key, count=count, last=at)
