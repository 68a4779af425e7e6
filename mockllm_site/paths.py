"""Where shipped data lies: beside the code in a checkout, inside the package in a wheel."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "data"

FIXTURES = INSTALLED / "fixtures" if INSTALLED.is_dir() else PACKAGE.parent / "fixtures"
SCENARIOS = (
    INSTALLED / "scenarios" if INSTALLED.is_dir() else PACKAGE.parent / "examples" / "scenarios"
)
