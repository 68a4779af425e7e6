"""Middleware that answers the control API before sessions, CSRF and logins: it uses tokens only."""

from mockllm_site.kit.api.in_thread import call_views_below

answer_control = call_views_below("/control/")
