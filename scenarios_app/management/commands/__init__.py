"""`load_scenarios`, `export_scenarios`, `check_scenarios` and their like."""
