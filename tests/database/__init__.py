"""Two processes on one PostgreSQL database, whose writers wait for nobody by themselves: a test
stops one in the middle of its transaction while the other goes on, or closes its connection."""
