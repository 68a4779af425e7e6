"""Where a new scenario begins: empty, with an example and its conversation, or from a file."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from scenarios_app.admin.site import may_import
from scenarios_app.play.conversation import examples, written
from scenarios_app.store.documents import keep
from scenarios_app.store.drafts import drafted


def gallery_page(request: HttpRequest, admin: Any) -> HttpResponse:
    """The examples to choose from; what is chosen becomes a draft."""
    if not admin.has_add_permission(request):
        raise PermissionDenied
    if request.method == "POST":
        example = examples().get(request.POST.get("example", ""))
        if example is None:
            raise Http404
        draft = drafted(example.scenario)
        keep(draft.name, written(example.conversation))
        return redirect("admin:scenarios_app_draft_change", draft.pk)
    context = {
        **admin.admin_site.each_context(request),
        "title": "New scenario",
        "examples": list(examples().values()),
        "may_import": may_import(request),
    }
    return TemplateResponse(request, "scenarios_app/admin/gallery.html", context)
