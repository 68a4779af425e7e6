"""The state store in Redis agrees with the naive model, also when two processes alternate."""

from hypothesis import settings

from scenarios_app.cluster.state import RedisState
from tests.cluster.stores import delete_keys, fresh_state
from tests.cluster.test_redis_state import AlternatingState
from tests.engine.test_memory_model import StoreMachine
from tests.support.hypothesis_profiles import example_count


class RedisMachine(StoreMachine):
    def make_store(self) -> RedisState:
        self.state = fresh_state()
        return AlternatingState(self.state)

    def teardown(self) -> None:
        delete_keys(self.state)
        self.runner.run(self.state._connections.release_loop())
        super().teardown()


RedisMachine.TestCase.settings = settings(
    max_examples=example_count(200), stateful_step_count=30, deadline=None
)
TestRedis = RedisMachine.TestCase
