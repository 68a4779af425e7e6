"""The verdict on clients: its rules, clean runs, seeded faults, and reports."""
