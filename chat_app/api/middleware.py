"""The chat API once logins are known, before what pages alone need."""

from mockllm_site.kit.api.in_thread import answers_below

answer_chat = answers_below("/api/")
