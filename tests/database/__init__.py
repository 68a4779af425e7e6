"""Two processes on one PostgreSQL database.

A test stops one in the middle of its transaction while the other continues, or closes its
connection.
"""
