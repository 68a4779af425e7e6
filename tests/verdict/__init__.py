"""What is said of clients: each rule, clean runs, seeded faults, and what is made of a verdict."""
