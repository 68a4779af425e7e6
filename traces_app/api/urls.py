"""The routes of traces."""

from mockllm_site.kit.api.views import either
from traces_app.api.views import OneTrace, ScenarioOfTrace, TraceOfMessage

urlpatterns = [
    *either("trace/by_message/<str:message_id>", TraceOfMessage),
    *either("trace/<str:trace_id>", OneTrace),
    *either("trace/<str:trace_id>/scenario", ScenarioOfTrace),
]
