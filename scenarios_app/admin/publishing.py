"""The page on which a draft is published: what changes by it, what others have changed meanwhile,
and what is wrong with it."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from scenarios_app.admin.editor import Told
from scenarios_app.admin.layout import SCENARIO_CELLS, STEP_CELLS
from scenarios_app.admin.problems import scenario_problem, step_problem
from scenarios_app.drafts import NotPublished, publication_of, publish
from scenarios_app.models import Draft
from scenarios_app.snapshot import RowProblem


def publish_page(request: HttpRequest, owner: Any, draft: Draft) -> HttpResponse:
    """Looking at it, then one explicit post."""
    if request.method == "POST":
        try:
            scenario = publish(
                draft, seen=request.POST.get("seen", ""), over="over" in request.POST
            )
        except NotPublished as error:
            messages.error(request, f"“{draft}” was not published: {error}")
            if not Draft.objects.filter(pk=draft.pk).exists():
                return redirect("admin:scenarios_app_draft_changelist")
        else:
            owner.log_change(request, scenario, "Published its draft.")
            messages.success(request, f"“{scenario}” is published.")
            return redirect("admin:scenarios_app_scenario_change", scenario.pk)
    found = publication_of(draft)
    context = {
        **owner.admin_site.each_context(request),
        "title": f"Publish {draft}",
        "draft": draft,
        "page": owner.page_of(draft),
        "publication": found,
        "wrong": list(wrong_in(draft, found.problems)),
    }
    return TemplateResponse(request, "scenarios_app/admin/publish.html", context)


def wrong_in(draft: Draft, problems: Iterable[RowProblem]) -> Iterator[Told]:
    """Each problem with the step and the field that it is about, by their names on the page."""
    steps = list(draft.steps.all())
    for problem in problems:
        if problem.step is None:
            column, message = scenario_problem(problem.place, problem.message)
            yield Told(SCENARIO_CELLS[column].label, message, f"id_{column}")
        else:
            row = problem.step - 1
            column, message = step_problem(problem.place, problem.message, steps[row])
            where = f"Step {problem.step}, {STEP_CELLS[column].label}"
            yield Told(where, message, f"steps-{row}")
