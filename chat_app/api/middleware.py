"""Answers the chat API after authentication, before the middleware that only pages need."""

from mockllm_site.kit.api.in_thread import answers_below

answer_chat = answers_below("/api/")
