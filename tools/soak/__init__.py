"""What is promised of servers that share their state, tried for as long as one likes."""
