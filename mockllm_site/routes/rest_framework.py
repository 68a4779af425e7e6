"""Imports Django REST framework without the packages that it uses if they are installed.

No page uses them, they take half a second, and one of them holds Python's lock for 50 ms.
"""

import sys
from importlib import import_module
from typing import Any

_OPTIONAL = {"requests", "django.contrib.postgres", "docutils", "markdown", "pygments"}

# `import` raises ImportError for a module that is None here.
_modules: dict[str, Any] = sys.modules
_missing = _OPTIONAL - sys.modules.keys()
_modules.update(dict.fromkeys(_missing))
try:
    import_module("rest_framework.views")
finally:
    for _name in _missing:
        del _modules[_name]
