"""Django finds our commands here."""
