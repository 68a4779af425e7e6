"""The processes that serve from this database, and the name that it has among databases."""

from uuid import uuid4

from django.db import models


class Installation(models.Model):
    """One row: what tells this database from all others, wherever it is reached from. Who changes
    the processes holds it."""

    key = models.CharField(max_length=32)

    def __str__(self) -> str:
        return self.key

    @classmethod
    def name(cls) -> str:
        """The database's name, given to it when it is first asked for."""
        return cls.objects.get_or_create(pk=1, defaults={"key": uuid4().hex})[0].key


class ServerProcess(models.Model):
    """A process that serves, for as long as its `beat` goes on. On one `machine` its `pid` and the
    moment of its `birth` tell whether it still lives. `shares` names the state that it shares with
    others, empty where that is its own."""

    owner = models.CharField(max_length=32, primary_key=True)
    machine = models.CharField(max_length=120, blank=True)
    pid = models.BigIntegerField()
    birth = models.BigIntegerField(default=0)
    shares = models.CharField(max_length=80, blank=True)
    beat = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"process {self.pid}"
