"""What a server does under attack, in figures beside their goals: `make load`."""
