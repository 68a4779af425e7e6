"""Colours, sidebar and tabs of the admin, with the permission that each link needs."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.text import format_lazy

_SITE = "scenarios_app.admin.site"
_CHAT = "chat_app.admin"


def _link(
    title: str, icon: str, route: str, who: str, here: str = "", *, site: str = _SITE
) -> dict[str, Any]:
    link = {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(route),
        "permission": f"{site}.{who}",
    }
    return link | ({"active": f"{site}.{here}"} if here else {})


def _chat(title: str, icon: str, model: str, who: str, query: str = "") -> dict[str, Any]:
    link = _link(title, icon, f"admin:{model}_changelist", who, site=_CHAT)
    return link | {"link": format_lazy("{}{}", link["link"], query)}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "mockllm",
    "SITE_HEADER": "mockllm",
    "SITE_SUBHEADER": "scripted model answers",
    "SITE_ICON": lambda request: static("scenarios_app/favicon.svg"),
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "8px",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("scenarios_app/favicon.svg"),
        }
    ],
    "DASHBOARD_CALLBACK": "scenarios_app.admin.site.dashboard",
    "SCRIPTS": [lambda request: static("mockllm_site/admin.js")],
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
                    ("Bin", "scenario_trash"),
                )
            ],
        }
    ],
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {
                "title": "Scripts",
                "items": [
                    _link(
                        "Scenarios",
                        "theater_comedy",
                        "admin:scenarios_app_scenario_changelist",
                        "may_see_scenarios",
                        "at_scenarios",
                    ),
                    _link(
                        "Try it",
                        "science",
                        "admin:scenarios_app_scenario_try",
                        "may_see_scenarios",
                        "at_try",
                    ),
                    _link(
                        "Play it",
                        "play_circle",
                        "admin:scenarios_app_scenario_play",
                        "may_see_scenarios",
                        "at_play",
                    ),
                    _link(
                        "Import",
                        "upload",
                        "admin:scenarios_app_scenario_import",
                        "may_import",
                        "at_import",
                    ),
                ],
            },
            {
                "title": "Traffic",
                "items": [
                    _link(
                        "Journal",
                        "receipt_long",
                        "admin:scenarios_app_servedrequest_changelist",
                        "may_see_journal",
                        "is_journal_page",
                    ),
                    _link(
                        "Sessions",
                        "group_work",
                        "admin:scenarios_app_sessions",
                        "may_see_journal",
                        "is_sessions_page",
                    ),
                ],
            },
            {
                "title": "Chat",
                "items": [
                    _chat("Profiles", "tune", "chat_app_modelprofile", "may_see_profiles"),
                    _chat("Conversations", "forum", "chat_app_conversation", "may_see_chats"),
                    _chat(
                        "Feedback",
                        "thumbs_up_down",
                        "chat_app_message",
                        "may_see_messages",
                        "?feedback=given",
                    ),
                    _chat("Traces", "timeline", "traces_app_trace", "may_see_traces"),
                    _chat("Comparisons", "balance", "chat_app_abcomparison", "may_see_votes"),
                ],
            },
            {
                "title": "Accounts",
                "items": [
                    _link("Users", "person", "admin:auth_user_changelist", "may_see_accounts"),
                    _link("Groups", "groups", "admin:auth_group_changelist", "may_see_accounts"),
                ],
            },
        ],
    },
}
