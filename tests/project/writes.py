"""Everything that the pages write: a row for each thing that a POST can change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.test import Client

from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.store.history import versions_of
from tests.admin.pages import fields_at, new_step
from tests.project.access import HALVES, PASSWORD

_KEY = {"authorization": "Bearer ***", "content-type": "application/json"}
Ids: TypeAlias = Mapping[str, Any]
# The posted fields, made with the client of a permitted user at an address.
Body: TypeAlias = Callable[[Client, str, Ids], dict[str, Any]]
Who: TypeAlias = tuple[str, ...]

CHANGE: Who = ("change",)
HALVES_THAT_SEE: Who = ("view", "change")


@dataclass(frozen=True, slots=True)
class Write:
    """`shown_by` is who shows that it works, with what all the others post; `may` are those who do
    it too. `besides` may do something else there, so that they are answered and not refused: of
    what writes steps therefore only `steps` are looked at, and an `action` is not on their list."""

    route: str
    what: str
    body: Body
    may: Who = ()
    shown_by: str = "editor"
    besides: Who = ()
    action: str = ""
    steps: bool = False

    def __str__(self) -> str:
        return f"{self.route} {self.what}"


# ── What is posted ──


def of(**data: Any) -> Body:
    return lambda client, url, ids: data


def form(form_id: str, changes: Mapping[str, str]) -> Body:
    """The page's form with some fields changed."""
    return lambda client, url, ids: {**fields_at(client, url, f"{form_id}_form"), **changes}


def with_step(form_id: str, *, index: int = 1) -> Body:
    """One more step, the last."""
    new = new_step(index, answer_text="new") | {"steps-TOTAL_FORMS": str(index + 1)}
    return form(form_id, {"name": "with a step", **new})


def restored(model: type[Scenario] | type[Draft]) -> Body:
    def body(client: Client, url: str, ids: Ids) -> dict[str, Any]:
        row = model.objects.get(pk=ids[f"scenarios_app/{model._meta.model_name}"])
        return {"at": versions_of(row)[0].at.isoformat()}

    return body


def in_the_trash(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """Nothing, once the scenario is deleted."""
    Scenario.objects.get(pk=ids["scenarios_app/scenario"]).delete()
    return {}


def kept(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """A conversation for the scenario."""
    name = Scenario.objects.get(pk=ids["scenarios_app/scenario"]).name
    return {"scenario": name, "conversation": '{"turns": [{"user": "a"}]}', "keep": "1"}


def with_answer(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """The step of a readable request, for the scenario that is there."""
    rows = ServedRequest.objects.filter(pk=ids["scenarios_app/servedrequest"])
    body = '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}'
    rows.update(path="/v1/chat/completions", request_headers=_KEY, request_text=body)
    target = str(ids["scenarios_app/scenario"])
    return {"mode": "contains", "message": "a", "answer": "b", "target": target, "save": "1"}


def listed(client: Client, url: str, ids: Ids) -> dict[str, Any]:
    """The list itself, with nothing enabled any more."""
    posted = fields_at(client, url, "changelist-form")
    return {n: v for n, v in posted.items() if not n.endswith("-enabled")} | {"_save": "Save"}


# ── Rows that several models have ──


def add(model: str, changes: Mapping[str, str], may: Who = ("add",)) -> Write:
    body = form(model.split("/")[1], changes)
    return Write(f"admin/{model}/add/", "add", body, may, _shown_by(model))


def change(model: str, **changes: str) -> Write:
    body = form(model.split("/")[1], changes)
    return Write(
        f"admin/{model}/<path:object_id>/change/", "change", body, CHANGE, _shown_by(model)
    )


def delete(model: str, may: Who = ("delete",)) -> list[Write]:
    """On its page, and from the list, which wants the right to see it as well."""
    from_list = tuple(half for half in may if half == "change")
    page = f"admin/{model}/<path:object_id>/delete/"
    return [
        Write(page, "delete", of(post="yes"), may, _shown_by(model)),
        act(model, "delete_selected", from_list, post="yes"),
    ]


def act(model: str, action: str, may: Who = (), *, row: str = "", **data: str) -> Write:
    """An action on a list, of a row that is not so already."""

    def body(client: Client, url: str, ids: Ids) -> dict[str, Any]:
        return {"_selected_action": [ids[f"{model} {row}".strip()]], "action": action, **data}

    seeing = HALVES_THAT_SEE if model.startswith("auth/") else (*HALVES_THAT_SEE, "reader")
    return Write(f"admin/{model}/", action, body, may, _shown_by(model), seeing, action)


def steps(model: str) -> list[Write]:
    """Steps are added, moved and deleted in one: no half of the rights is enough for those of
    scenarios, while a draft's are a part of the draft."""
    may, may_add = (CHANGE, ("add",)) if model == DRAFT else ((), ())
    form_id = model.split("/")[1]
    posts = {
        "edit a step": form(form_id, {"steps-0-answer_text": "b"}),
        "add a step": with_step(form_id),
        "move a step": form(form_id, {"steps-0-order": "7"}),
        "delete a step": form(form_id, {"steps-0-DELETE": "on"}),
    }
    page = f"admin/{model}/<path:object_id>/change/"
    new = with_step(form_id, index=0)
    return [
        *(Write(page, what, body, may, besides=CHANGE, steps=True) for what, body in posts.items()),
        Write(f"admin/{model}/add/", "add with a step", new, may_add, besides=("add",), steps=True),
    ]


def _shown_by(model: str) -> str:
    return "root" if model.startswith("auth/") else "editor"


SCENARIO, DRAFT = "scenarios_app/scenario", "scenarios_app/draft"
REQUEST = "scenarios_app/servedrequest"
PROFILE, CONVERSATION = "chat_app/modelprofile", "chat_app/conversation"
MESSAGE, COMPARISON = "chat_app/message", "chat_app/abcomparison"
TRACE = "traces_app/trace"
USER, GROUP = "auth/user", "auth/group"
_DOCUMENT = '{"name": "in", "steps": [{"produce": {"text": "x"}}]}'
_NEW = "a fine new one"
_TWICE = {"password1": _NEW, "password2": _NEW}
_OWN = {"old_password": PASSWORD, "new_password1": _NEW, "new_password2": _NEW}
_PROFILE = {"name": "new", "provider_id": "openai", "model_id": "m"}

WRITES: tuple[Write, ...] = (
    # ── Scenarios and drafts ──
    add(SCENARIO, {"name": "new"}),
    change(SCENARIO, name="new"),
    *steps(SCENARIO),
    *delete(SCENARIO),
    Write(f"admin/{SCENARIO}/<path:object_id>/history/", "bring back", restored(Scenario), CHANGE),
    Write(f"admin/{SCENARIO}/<path:object_id>/draft/", "copy to a draft", of(), CHANGE),
    Write(f"admin/{SCENARIO}/<path:object_id>/duplicate/", "duplicate", of()),
    Write(f"admin/{SCENARIO}/import/", "import", of(text=_DOCUMENT, existing="add", load="1")),
    Write(f"admin/{SCENARIO}/<path:object_id>/here/", "be here", of(), CHANGE),
    Write(f"admin/{DRAFT}/<path:object_id>/here/", "be here", of(), CHANGE),
    Write(f"admin/{SCENARIO}/new/", "example", of(example="tool-loop"), ("add",)),
    Write(f"admin/{SCENARIO}/play/", "keep", kept, CHANGE, besides=("reader", "view")),
    Write(f"admin/{SCENARIO}/trash/<int:pk>/restore/", "from the trash", in_the_trash, ("add",)),
    Write(f"admin/{SCENARIO}/", "save the list", listed, CHANGE),
    act(SCENARIO, "disable", CHANGE),
    act(SCENARIO, "enable", CHANGE, row="disabled"),
    act(SCENARIO, "move_to_group", CHANGE, apply="1", group="new"),
    act(SCENARIO, "set_tags", CHANGE, apply="1", add="new"),
    act(SCENARIO, "set_on_steps", CHANGE, apply="1", latency_ms="5"),
    act(SCENARIO, "duplicate"),
    add(DRAFT, {"name": "new"}),
    change(DRAFT, name="new"),
    *steps(DRAFT),
    *delete(DRAFT),
    Write(f"admin/{DRAFT}/<path:object_id>/history/", "bring back", restored(Draft), CHANGE),
    Write(f"admin/{DRAFT}/from-document/", "make of a document", of(document=_DOCUMENT), ("add",)),
    Write(f"admin/{DRAFT}/<path:object_id>/publish/", "publish", form("publish", {})),
    # ── The journal ──
    Write(f"admin/{REQUEST}/session/rename/", "rename", of(session="a", name="b"), CHANGE),
    Write(f"admin/{REQUEST}/session/reset/", "reset", of(name="default"), CHANGE),
    Write(f"admin/{REQUEST}/<int:pk>/make-step/", "make a step", with_answer, CHANGE),
    # ── The chat ──
    add(PROFILE, _PROFILE),
    change(PROFILE, name="new"),
    *delete(PROFILE),
    change(CONVERSATION, title="new", tags="new", archived="on"),
    act(CONVERSATION, "archive", CHANGE),
    act(CONVERSATION, "unarchive", CHANGE, row="archived"),
    *delete(CONVERSATION),
    change(MESSAGE, feedback="like", feedback_comment="new"),
    change(COMPARISON, comment="new", excluded="on"),
    act(COMPARISON, "exclude_from_ranking", CHANGE),
    act(COMPARISON, "include_in_ranking", CHANGE, row="excluded"),
    change(TRACE, note="new", tags="new"),
    *delete(TRACE),
    # ── Accounts; who adds a user has to be able to change it too ──
    Write("admin/password_change/", "own", of(**_OWN), (*HALVES, "staff", "reader"), "root"),
    add(USER, {"username": "new", **_TWICE}, ()),
    change(USER, username="new"),
    Write(f"admin/{USER}/<id>/password/", "password", of(**_TWICE), CHANGE, "root"),
    *delete(USER),
    add(GROUP, {"name": "new"}),
    change(GROUP, name="new"),
    *delete(GROUP),
)
# Actions of lists that only read.
READING_ACTIONS = {"export", "make_scenarios"}


def _pages(model: str, *pages: str) -> set[str]:
    return {f"admin/{model}/{page}" for page in ("<path:object_id>/", *pages)}


HISTORY, ADD, DELETE = "<path:object_id>/history/", "add/", "<path:object_id>/delete/"
OTHERS = ("", ADD, "<path:object_id>/change/", DELETE, HISTORY)
CHECKS = (
    *("add/check/", "<path:object_id>/check/", "<path:object_id>/steps/<int:step_id>/"),
    *("add/try/", "<path:object_id>/try/", "add/play/", "<path:object_id>/play/"),
    *("add/user/", "<path:object_id>/user/"),
)
LOGOUT = "admin/logout/"
# Pages that write nothing, or only the login, whatever is posted.
READS: set[str] = {
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
        "docs/<path:name>/",
        "docs/<path:name>",
        "traces/<str:trace_id>/",
    ),
    *("admin/", "admin/login/", LOGOUT, "admin/password_change/done/", "admin/search/"),
    *("admin/jsi18n/", "admin/autocomplete/", "admin/r/<path:content_type_id>/<path:object_id>/"),
    "admin/^(?P<app_label>auth|scenarios_app|chat_app|traces_app)/$",
    "admin/(?P<url>.*)$",
    *_pages(
        SCENARIO, *CHECKS, "<path:object_id>/export/", "try/", "user/", "trash/", "trash/<int:pk>/"
    ),
    *_pages(DRAFT, *CHECKS),
    *_pages(REQUEST, *OTHERS, "session/", "sessions/", "make-step/"),
    *_pages(PROFILE, HISTORY),
    *_pages(CONVERSATION, ADD, HISTORY),
    *_pages(MESSAGE, "", ADD, DELETE, HISTORY),
    *_pages(COMPARISON, ADD, DELETE, HISTORY),
    *_pages("chat_app/contextstate", *OTHERS),
    *_pages(TRACE, ADD, HISTORY),
    *_pages(USER, HISTORY),
    *_pages(GROUP, HISTORY),
}
