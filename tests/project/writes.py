"""Everything that the pages write: one row for each change that a POST can make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from django.test import Client

from chat_app.models import ABComparison
from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.store.history import versions_of
from tests.admin.pages import fields_at, new_step
from tests.project.access import PASSWORD, SINGLE_PERMISSION_ROLES
from traces_app.models import Status

_KEY = {"authorization": "Bearer ***", "content-type": "application/json"}
Ids: TypeAlias = Mapping[str, Any]
# The posted fields, made with the client of a permitted user at an address.
Body: TypeAlias = Callable[[Client, str, Ids], dict[str, Any]]
Roles: TypeAlias = tuple[str, ...]

CHANGE: Roles = ("change",)
VIEWING_ROLES: Roles = ("view", "change")


@dataclass(frozen=True, slots=True)
class Write:
    """A change that a POST to a route makes.

    `example_role` builds the body that all roles post; `allowed` are the other roles that may
    make the change. Roles in `also_answered` may do something else on the page, so they get an
    answer without the change: `steps` limits the comparison to tables of steps, and an `action`
    is missing from their list.
    """

    route: str
    label: str
    body: Body
    allowed: Roles = ()
    example_role: str = "editor"
    also_answered: Roles = ()
    action: str = ""
    steps: bool = False

    def __str__(self) -> str:
        return f"{self.route} {self.label}"


# ── Posted fields ──


def fixed_fields(**data: Any) -> Body:
    return lambda client, url, ids: data


def form_fields(form_id: str, changes: Mapping[str, str]) -> Body:
    """Return a function that reads the page's form and changes some fields."""
    return lambda client, url, ids: {**fields_at(client, url, f"{form_id}_form"), **changes}


def with_step(form_id: str, *, index: int = 1) -> Body:
    """Return the fields of a form with a further step at its end."""
    new = new_step(index, {"produce.text": "new"}) | {"steps-TOTAL_FORMS": str(index + 1)}
    return form_fields(form_id, {"name": "with a step", **new})


def restore_fields(model: type[Scenario] | type[Draft]) -> Body:
    def body(client: Client, url: str, ids: Ids) -> dict[str, Any]:
        row = model.objects.get(pk=ids[f"scenarios_app/{model._meta.model_name}"])
        return {"at": versions_of(row)[0].at.isoformat()}

    return body


def keep_conversation(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """Return the fields that keep a conversation for the scenario."""
    name = Scenario.objects.get(pk=ids["scenarios_app/scenario"]).name
    conversation = '{"turns": [{"user": "a"}]}'
    return {"tab": "conversation", "scenario": name, "conversation": conversation, "keep": "1"}


def make_step_fields(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """Make the request readable; return the fields that make a step of it in the scenario."""
    rows = ServedRequest.objects.filter(pk=ids["scenarios_app/servedrequest"])
    body = '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}'
    rows.update(path="/v1/chat/completions", request_headers=_KEY, request_text=body)
    target = str(ids["scenarios_app/scenario"])
    return {"mode": "contains", "message": "a", "answer": "b", "target": target, "save": "1"}


def in_conversation(changes: Mapping[str, str]) -> Body:
    """Return a function that fills in the form of a further row in the conversation."""

    def body(client: Client, url: str, ids: Ids) -> dict[str, Any]:
        form_id = url.split("/")[3]
        chosen = {"conversation": str(ids[CONVERSATION])}
        return form_fields(form_id, {**chosen, **changes})(client, url, ids)

    return body


def comparison_fields(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """Delete the comparison of the question; return the fields that compare its answers again."""
    ABComparison.objects.all().delete()
    profile = str(ids[PROFILE])
    chosen = {"user_message": str(ids[MESSAGE]), "profile_a": profile, "profile_b": profile}
    return form_fields("abcomparison", chosen)(client, url, ids)


def trace_fields(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """Return the fields of a run of the question."""
    chosen = {"user_message": str(ids[MESSAGE]), "status": Status.COMPLETED.value}
    return form_fields("trace", chosen)(client, url, ids)


# ── Rows of several models ──


def add(model: str, changes: Mapping[str, str], allowed: Roles = ("add",)) -> Write:
    body = form_fields(model.split("/")[1], changes)
    return Write(f"admin/{model}/add/", "add", body, allowed, _example_role(model))


def change(model: str, **changes: str) -> Write:
    body = form_fields(model.split("/")[1], changes)
    return Write(
        f"admin/{model}/<path:object_id>/change/", "change", body, CHANGE, _example_role(model)
    )


def delete(model: str, allowed: Roles = ("delete",)) -> list[Write]:
    """Return rows for deleting on the page and in the list, which also requires a view right."""
    from_list = tuple(role for role in allowed if role == "change")
    page = f"admin/{model}/<path:object_id>/delete/"
    return [
        Write(page, "delete", fixed_fields(post="yes"), allowed, _example_role(model)),
        list_action(model, "delete_selected", from_list, post="yes"),
    ]


def list_action(
    model: str, action: str, allowed: Roles = (), *, row: str = "", **data: str
) -> Write:
    """Return a row for an action of a list; `row` names a row that the action changes."""

    def body(client: Client, url: str, ids: Ids) -> dict[str, Any]:
        return {"_selected_action": [ids[f"{model} {row}".strip()]], "action": action, **data}

    viewing_roles = VIEWING_ROLES if model.startswith("auth/") else (*VIEWING_ROLES, "reader")
    return Write(
        f"admin/{model}/", action, body, allowed, _example_role(model), viewing_roles, action
    )


def steps(model: str) -> list[Write]:
    """Return rows for editing, adding, moving and deleting steps.

    One form does all of them, so a single kind of permission is not enough for the steps of
    scenarios. Steps of a draft are a part of the draft.
    """
    allowed, may_add = (CHANGE, ("add",)) if model == DRAFT else ((), ())
    form_id = model.split("/")[1]
    posts = {
        "edit a step": form_fields(form_id, {"steps-0-produce.text": "b"}),
        "add a step": with_step(form_id),
        "move a step": form_fields(form_id, {"steps-0-order": "7"}),
        "delete a step": form_fields(form_id, {"steps-0-DELETE": "on"}),
    }
    page = f"admin/{model}/<path:object_id>/change/"
    new = with_step(form_id, index=0)
    return [
        *(
            Write(page, label, body, allowed, also_answered=CHANGE, steps=True)
            for label, body in posts.items()
        ),
        Write(
            f"admin/{model}/add/",
            "add with a step",
            new,
            may_add,
            also_answered=("add",),
            steps=True,
        ),
    ]


def _example_role(model: str) -> str:
    return "root" if model.startswith("auth/") else "editor"


SCENARIO, DRAFT = "scenarios_app/scenario", "scenarios_app/draft"
REQUEST = "scenarios_app/servedrequest"
PROFILE, CONVERSATION = "chat_app/modelprofile", "chat_app/conversation"
MESSAGE, COMPARISON = "chat_app/message", "chat_app/abcomparison"
TRACE, EVENT = "traces_app/trace", "traces_app/traceevent"
USER, GROUP = "auth/user", "auth/group"
_DOCUMENT = '{"name": "in", "steps": [{"produce": {"text": "x"}}]}'
_NEW = "a fine new one"
_NEW_PASSWORDS = {"password1": _NEW, "password2": _NEW}
_PASSWORD_CHANGE = {"old_password": PASSWORD, "new_password1": _NEW, "new_password2": _NEW}
_PROFILE = {"name": "new", "provider_id": "openai", "model_id": "m"}

WRITES: tuple[Write, ...] = (
    # ── Scenarios and drafts ──
    add(SCENARIO, {"name": "new"}),
    change(SCENARIO, name="new"),
    *steps(SCENARIO),
    *delete(SCENARIO),
    Write(
        f"admin/{SCENARIO}/<path:object_id>/history/",
        "bring back",
        restore_fields(Scenario),
        CHANGE,
    ),
    Write(f"admin/{SCENARIO}/<path:object_id>/draft/", "copy to a draft", fixed_fields(), CHANGE),
    Write(f"admin/{SCENARIO}/<path:object_id>/duplicate/", "duplicate", fixed_fields()),
    Write(
        f"admin/{SCENARIO}/import/",
        "import",
        fixed_fields(text=_DOCUMENT, existing="add", load="1"),
    ),
    Write(f"admin/{SCENARIO}/<path:object_id>/here/", "be here", fixed_fields(), CHANGE),
    Write(f"admin/{DRAFT}/<path:object_id>/here/", "be here", fixed_fields(), CHANGE),
    Write(f"admin/{SCENARIO}/new/", "example", fixed_fields(example="tool-loop"), ("add",)),
    Write(
        f"admin/{SCENARIO}/test/",
        "keep",
        keep_conversation,
        CHANGE,
        also_answered=("reader", "view"),
    ),
    Write(
        f"admin/{SCENARIO}/trash/<int:revision>/restore/",
        "from the trash",
        fixed_fields(),
        ("add",),
    ),
    Write(f"admin/{SCENARIO}/<path:object_id>/switch/", "switch", fixed_fields(), CHANGE),
    list_action(SCENARIO, "disable", CHANGE),
    list_action(SCENARIO, "enable", CHANGE, row="disabled"),
    list_action(SCENARIO, "move_to_group", CHANGE, apply="1", group="new"),
    list_action(SCENARIO, "set_tags", CHANGE, apply="1", add="new"),
    list_action(SCENARIO, "set_on_steps", CHANGE, apply="1", latency_ms="5"),
    list_action(SCENARIO, "duplicate"),
    add(DRAFT, {"name": "new"}),
    change(DRAFT, name="new"),
    *steps(DRAFT),
    *delete(DRAFT),
    Write(f"admin/{DRAFT}/<path:object_id>/history/", "bring back", restore_fields(Draft), CHANGE),
    Write(
        f"admin/{DRAFT}/from-document/",
        "make of a document",
        fixed_fields(document=_DOCUMENT),
        ("add",),
    ),
    Write(f"admin/{DRAFT}/<path:object_id>/publish/", "publish", form_fields("publish", {})),
    # ── The journal ──
    Write(
        f"admin/{REQUEST}/session/rename/", "rename", fixed_fields(session="a", name="b"), CHANGE
    ),
    Write(f"admin/{REQUEST}/session/reset/", "reset", fixed_fields(name="default"), CHANGE),
    Write(f"admin/{REQUEST}/<int:pk>/make-step/", "make a step", make_step_fields, CHANGE),
    # ── The chat ──
    add(PROFILE, _PROFILE),
    change(PROFILE, name="new"),
    *delete(PROFILE),
    add(CONVERSATION, {"client_id": "c", "title": "new"}),
    change(CONVERSATION, title="new", tags="new", archived="on"),
    list_action(CONVERSATION, "archive", CHANGE),
    list_action(CONVERSATION, "unarchive", CHANGE, row="archived"),
    *delete(CONVERSATION),
    Write(
        f"admin/{MESSAGE}/add/",
        "add",
        in_conversation({"number": "99", "role": "user", "content": "new"}),
        ("add",),
    ),
    change(MESSAGE, feedback="like", feedback_comment="new"),
    delete(MESSAGE)[0],
    change(COMPARISON, comment="new", excluded="on"),
    Write(f"admin/{COMPARISON}/add/", "add", comparison_fields, ("add",)),
    *delete(COMPARISON),
    list_action(COMPARISON, "exclude_from_ranking", CHANGE),
    list_action(COMPARISON, "include_in_ranking", CHANGE, row="excluded"),
    Write(f"admin/{TRACE}/add/", "add", trace_fields, ("add",)),
    change(TRACE, note="new", tags="new"),
    change(EVENT, payload='{"content": "new"}'),
    delete(EVENT)[0],
    *delete(TRACE),
    # ── Accounts; adding a user requires the permission to change it ──
    Write(
        "admin/password_change/",
        "own",
        fixed_fields(**_PASSWORD_CHANGE),
        (*SINGLE_PERMISSION_ROLES, "staff", "reader"),
        "root",
    ),
    add(USER, {"username": "new", "password": "long enough 9"}, ()),
    change(USER, username="new"),
    Write(
        f"admin/{USER}/<id>/password/", "password", fixed_fields(**_NEW_PASSWORDS), CHANGE, "root"
    ),
    *delete(USER),
    add(GROUP, {"name": "new"}),
    # Who changes a group needs all of its rights.
    replace(change(GROUP, name="new"), allowed=()),
    *delete(GROUP, ()),
)
# Actions of lists that do not write.
READING_ACTIONS = {"export", "export_fixture", "make_scenarios"}


def _pages(model: str, *pages: str) -> set[str]:
    return {f"admin/{model}/{page}" for page in ("<path:object_id>/", *pages)}


HISTORY, ADD, DELETE = "<path:object_id>/history/", "add/", "<path:object_id>/delete/"
MODEL_PAGES = ("", ADD, "<path:object_id>/change/", DELETE, HISTORY)
EDITOR_PAGES = (
    *("add/check/", "<path:object_id>/check/", "<path:object_id>/steps/<int:step_id>/"),
    *("add/test/", "<path:object_id>/test/"),
)
LOGOUT = "admin/logout/"
# Pages that write nothing but the login on any POST.
READ_ONLY_ROUTES: set[str] = {
    # Recordings are in memory; tests/admin/test_record.py checks the permissions.
    f"admin/{REQUEST}/session/record/",
    *(
        "",
        "livez",
        "healthz",
        "readyz",
        "journal/",
        "chat/",
        "chat/leaderboard/",
        "docs/",
        "docs/search/",
        "docs/<path:name>/",
        "docs/<path:name>",
        "traces/<str:trace_id>/",
    ),
    "admin/session/",
    *("admin/", "admin/login/", LOGOUT, "admin/password_change/done/", "admin/search/"),
    *("admin/jsi18n/", "admin/autocomplete/", "admin/r/<path:content_type_id>/<path:object_id>/"),
    "admin/^(?P<app_label>auth|scenarios_app|chat_app|traces_app)/$",
    "admin/(?P<url>.*)$",
    *_pages(
        SCENARIO,
        *EDITOR_PAGES,
        "<path:object_id>/export/",
        "try/",
        "play/",
        "user/",
        "trash/",
        "trash/<int:revision>/",
    ),
    *_pages(DRAFT, *EDITOR_PAGES),
    *_pages(REQUEST, *MODEL_PAGES, "session/", "sessions/", "make-step/"),
    *_pages(PROFILE, HISTORY),
    *_pages(CONVERSATION, HISTORY),
    *_pages(MESSAGE, "", HISTORY),
    *_pages(COMPARISON, HISTORY),
    *_pages("chat_app/contextstate", *MODEL_PAGES),
    *_pages(TRACE, HISTORY),
    *_pages(EVENT, "", ADD, HISTORY),
    *_pages(USER, HISTORY),
    *_pages(GROUP, HISTORY),
}
