"""Scripted users: one conversation, the agents it is led with, its report. Imports no Django."""
