"""`mockllm …` and `python -m mockllm_site …`: Django's commands, ours among them."""

import sys

from mockllm_site import env


def main() -> None:
    env.configure()
    # Only now: Django's commands read the settings as they load.
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(["mockllm", *sys.argv[1:]])
    except KeyboardInterrupt:
        # What shells report of a program that Ctrl-C ended.
        sys.exit(130)


if __name__ == "__main__":
    main()
