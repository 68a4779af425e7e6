"""The control API before what pages need: it knows tokens and no logins, so neither a session is
opened for it, nor a form's token or a message looked for."""

from mockllm_site.kit.api.in_thread import answers_below

answer_control = answers_below("/control/")
