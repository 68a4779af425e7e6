"""Middleware that answers the control API before sessions, CSRF and logins: it uses tokens only."""

from mockllm_site.kit.api.in_thread import answers_below

answer_control = answers_below("/control/")
