#!/usr/bin/env python
"""Django's commands in a checkout."""

from mockllm_site.__main__ import main

if __name__ == "__main__":
    main()
