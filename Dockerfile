# Serves the provider APIs, the admin and the control API; the chat's SDKs are not installed.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md CONTRIBUTING.md CHANGELOG.md LICENSE constraints.txt ./
COPY mockllm_site mockllm_site
COPY scenarios_app scenarios_app
COPY chat_app chat_app
COPY traces_app traces_app
COPY fixtures fixtures
COPY docs docs
COPY examples/scenarios examples/scenarios
RUN python -m venv /opt/mockllm \
    && /opt/mockllm/bin/pip install --no-cache-dir -c constraints.txt '.[server,postgres,redis]'

FROM python:3.12-slim
LABEL org.opencontainers.image.title="mockllm" \
    org.opencontainers.image.description="A deterministic LLM server for tests" \
    org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/mockllm /opt/mockllm
RUN useradd --create-home --uid 10001 mockllm \
    && mkdir /data \
    && chown mockllm /data
# The server writes its address to the file, for the health check: any --port works.
ENV PATH=/opt/mockllm/bin:$PATH PYTHONUNBUFFERED=1 MOCKLLM_READY_FILE=/tmp/mockllm.address
# A numeric user, so that every host can verify that it is not root.
USER 10001
# The database, and scenarios that you mount.
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
    CMD ["mockllm", "healthcheck"]
ENTRYPOINT ["mockllm"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
