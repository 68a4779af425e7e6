"""A StateStore in Redis does what the naive model does, also as two processes use it by turns."""

from hypothesis import settings

from scenarios_app.cluster.state import RedisState
from tests.cluster.stores import forget, fresh_state
from tests.cluster.test_redis_state import Turns
from tests.engine.test_memory_model import StoreMachine
from tests.support.hypothesis_profiles import often


class RedisMachine(StoreMachine):
    def make_store(self) -> RedisState:
        self.one = fresh_state()
        return Turns(self.one)

    def teardown(self) -> None:
        forget(self.one)
        self.runner.run(self.one._connections.release_loop())
        super().teardown()


RedisMachine.TestCase.settings = settings(
    max_examples=often(200), stateful_step_count=30, deadline=None
)
TestRedis = RedisMachine.TestCase
