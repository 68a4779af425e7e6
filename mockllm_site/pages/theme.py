"""Colours, sidebar and tabs of the admin, with the permission that each link needs."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.text import format_lazy

# Modules with the functions that show links and check their permissions.
_SITE = "scenarios_app.admin.site"
_CHAT = "chat_app.admin"
# The prefix of our route names.
_APP = "scenarios_app_"

# Links by group: title, icon, route, and the functions for permission and display.
_SCRIPTS = (
    ("Scenarios", "theater_comedy", "scenario_changelist", "may_see_scenarios", "is_scenario_page"),
    ("Test", "science", "scenario_test", "may_see_scenarios", "is_test_page"),
    ("Import", "upload", "scenario_import", "may_import", "is_import_page"),
)
_TRAFFIC = (
    ("Journal", "receipt_long", "servedrequest_changelist", "may_see_journal", "is_journal_page"),
    ("Sessions", "group_work", "sessions", "may_see_journal", "is_sessions_page"),
)
_CHATS = (
    ("Profiles", "tune", "chat_app_modelprofile_changelist", "may_see_profiles"),
    ("Conversations", "forum", "chat_app_conversation_changelist", "may_see_chats"),
    ("Feedback", "thumbs_up_down", "chat_app_message_changelist", "may_see_messages"),
    ("Traces", "timeline", "traces_app_trace_changelist", "may_see_traces"),
    ("Comparisons", "balance", "chat_app_abcomparison_changelist", "may_see_votes"),
)
_ACCOUNTS = (
    ("Users", "person", "auth_user_changelist", "may_see_accounts"),
    ("Groups", "groups", "auth_group_changelist", "may_see_accounts"),
)
_QUERIES = {"Feedback": "?feedback=given"}


def _sidebar_link(
    title: str, icon: str, route: str, may: str, on: str = "", *, app: str = "", site: str = _SITE
) -> dict[str, Any]:
    """Return a link of the sidebar. `may` and `on` name functions of the module `site`, which
    return whether a user may see the link and whether it is shown as active."""
    url = reverse_lazy(f"admin:{app}{route}")
    link = {
        "title": title,
        "icon": icon,
        "link": format_lazy("{}{}", url, _QUERIES.get(title, "")),
        "permission": f"{site}.{may}",
    }
    return link | ({"active": f"{site}.{on}"} if on else {})


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "mockllm",
    "SITE_HEADER": "mockllm",
    "SITE_SUBHEADER": "scripted model answers",
    "SITE_ICON": lambda request: static("scenarios_app/favicon.svg"),
    "SHOW_VIEW_ON_SITE": False,
    "LOGIN": {"form": "mockllm_site.pages.login.PersonLoginForm"},
    "BORDER_RADIUS": "8px",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("scenarios_app/favicon.svg"),
        }
    ],
    "DASHBOARD_CALLBACK": "scenarios_app.admin.site.dashboard",
    "SCRIPTS": [
        lambda request: static("mockllm_site/admin.js"),
        lambda request: static("mockllm_site/kept_forms.js"),
    ],
    "STYLES": [lambda request: static("scenarios_app/admin.css")],
    "COLORS": {
        "primary": {
            "50": "oklch(98.4% .014 180.7)",
            "100": "oklch(95.3% .051 180.8)",
            "200": "oklch(91% .096 180.4)",
            "300": "oklch(85.5% .138 181.1)",
            "400": "oklch(77.7% .152 181.9)",
            "500": "oklch(66% .13 183)",
            "600": "oklch(52% .1 184.7)",
            "700": "oklch(47% .088 186.4)",
            "800": "oklch(43.7% .078 188.2)",
            "900": "oklch(38.6% .063 188.4)",
            "950": "oklch(27.7% .046 192.5)",
        }
    },
    "TABS": [
        {
            "models": ["scenarios_app.scenario", "scenarios_app.draft"],
            "items": [
                {
                    "title": title,
                    "link": reverse_lazy(f"admin:scenarios_app_{route}"),
                    "permission": f"{_SITE}.may_see_scenarios",
                }
                for title, route in (
                    ("Published", "scenario_changelist"),
                    ("Drafts", "draft_changelist"),
                    ("Trash", "scenario_trash"),
                )
            ],
        }
    ],
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {"title": "Scripts", "items": [_sidebar_link(*row, app=_APP) for row in _SCRIPTS]},
            {"title": "Traffic", "items": [_sidebar_link(*row, app=_APP) for row in _TRAFFIC]},
            {"title": "Chat", "items": [_sidebar_link(*row, site=_CHAT) for row in _CHATS]},
            {"title": "Accounts", "items": [_sidebar_link(*row) for row in _ACCOUNTS]},
        ],
    },
}
