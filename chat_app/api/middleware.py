"""Answers the chat API after authentication, before the middleware that only pages need."""

from mockllm_site.kit.api.in_thread import call_views_below

answer_chat = call_views_below("/api/")
