"""Forms of the admin that the browser keeps until they are saved, in `kept_forms.js`."""

import re
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.forms import BaseFormSet, ModelForm
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from unfold.admin import ModelAdmin

# Fields of `admin/kept_form.html`: the browser's name of the form, and of a post that only shows
# what was typed earlier.
ID_FIELD, RESTORE_FIELD = "kept_form", "restore_kept"
_ID = re.compile(r"[a-z0-9]{8,40}")
# Long enough for the browser to load another page of the admin.
_COOKIE_SECONDS = 3_600


def is_restoring(request: HttpRequest) -> bool:
    """Return True if the posted values are to be shown again, and nothing may be saved."""
    return RESTORE_FIELD in request.POST


def mark_saved(request: HttpRequest, response: HttpResponse, *, page: str = "") -> HttpResponse:
    """Tell the browser in a cookie that the posted form is saved, and the address of the page that
    shows what was saved. Return the response."""
    form_id = request.POST.get(ID_FIELD, "")
    if _ID.fullmatch(form_id) and not is_restoring(request):
        response.set_cookie(
            f"saved-{form_id}",
            quote(page, safe=""),
            max_age=_COOKIE_SECONDS,
            path=reverse("admin:index"),
            secure=settings.SESSION_COOKIE_SECURE,
            samesite="Lax",
        )
    return response


@never_cache
@require_safe
def session_state(request: HttpRequest) -> JsonResponse:
    """Return the primary key of the staff member who is logged in, or null, and a CSRF token."""
    user = request.user.pk if admin.site.has_permission(request) else None
    return JsonResponse({"user": user, "csrf_token": get_token(request)})


class KeptFormAdmin(ModelAdmin):
    """The base of all pages that edit a row: they restore what was typed, and report each save."""

    # Read by `admin/change_form.html`.
    keeps_typed_values = True

    @admin.display(description="Select")
    def action_checkbox(self, obj: Any) -> SafeString:
        """Return the box that selects a row for an action, many times faster than by a widget."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" class="action-select sc-check" '
            'aria-label="Select record">',
            *(ACTION_CHECKBOX_NAME, obj.pk),
        )

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> "type[ModelForm[Any]]":
        form_class: type[ModelForm[Any]] = super().get_form(request, obj, change, **kwargs)
        if not is_restoring(request):
            return form_class
        metaclass: Any = type(form_class)
        unsavable: type[ModelForm[Any]] = metaclass(
            form_class.__name__, (_UnsavableForm, form_class), {}
        )
        return unsavable

    def save_related(
        self,
        request: HttpRequest,
        form: "ModelForm[Any]",
        formsets: "list[BaseFormSet[Any]]",
        change: bool,
    ) -> None:
        super().save_related(request, form, formsets, change)
        request.saved_row = form.instance  # type: ignore[attr-defined]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        response: HttpResponse = super().changeform_view(
            request, object_id, form_url, extra_context
        )
        row = getattr(request, "saved_row", None)
        if row is None:
            return response
        route = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        is_shown = self.has_view_or_change_permission(request, row)
        page = reverse(route, args=(row.pk,)) if is_shown else ""
        return mark_saved(request, response, page=page)


class _UnsavableForm:
    """Makes a form invalid, so that Django's admin shows it with its values and saves nothing."""

    def is_valid(self) -> bool:
        super().is_valid()  # type: ignore[misc]
        return False
