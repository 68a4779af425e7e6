"""The suite's settings: test mode as it comes, deaf to this machine's environment and `.env`."""

from mockllm_site import env

env.variables().maps[1:] = []

from mockllm_site.settings_test import *  # noqa: E402, F403
