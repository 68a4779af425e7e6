"""`mockllm …` and `python -m mockllm_site …`: Django's commands, ours among them."""

import sys

from mockllm_site import env


def main() -> None:
    env.configure()
    # Only now: Django's commands read the settings as they load.
    from django.core.management import execute_from_command_line

    execute_from_command_line(["mockllm", *sys.argv[1:]])


if __name__ == "__main__":
    main()
