// Calls the chat API: sends JSON, reads JSON or server-sent events, throws ApiError.

export class ApiError extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }

  // True if the same request may succeed later.
  get isRetryable() {
    return ["NETWORK_ERROR", "RATE_LIMITED", "SERVICE_UNAVAILABLE", "INTERNAL_ERROR"].includes(this.code);
  }
}

function getOrCreateClientId() {
  const storedId = localStorage.getItem("mockllm-client");
  if (storedId) return storedId;
  const newId = crypto.randomUUID();
  localStorage.setItem("mockllm-client", newId);
  return newId;
}

const readCsrfToken = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

// Returns the response if its status is a success, else throws an ApiError.
async function fetchOrThrow(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("NETWORK_ERROR", "The server cannot be reached.");
  }
  if (response.ok) return response;
  let errorBody = {};
  try {
    errorBody = await response.json();
  } catch {
    // A proxy may answer with a page of its own.
  }
  const message = errorBody.message ?? `The server answered ${response.status}.`;
  throw new ApiError(errorBody.code ?? "SERVICE_UNAVAILABLE", message, response.status);
}

function fetchPost(path, body, signal) {
  return fetchOrThrow(path, {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", "X-CSRFToken": readCsrfToken() },
    body: JSON.stringify({ client_id: getOrCreateClientId(), ...body }),
  });
}

function fetchGet(path, query, signal) {
  const search = new URLSearchParams({ client_id: getOrCreateClientId(), ...query });
  return fetchOrThrow(`${path}?${search}`, { signal });
}

export async function postJson(path, body) {
  return (await fetchPost(path, body)).json();
}

export async function getJson(path, query = {}) {
  return (await fetchGet(path, query)).json();
}

// Sends a message and yields the events of its run.
export async function* postForEvents(path, body, signal) {
  yield* readEvents(await fetchPost(path, body, signal));
}

// Yields the events of a run after an event id: first the stored ones, then the new ones.
export async function* resumeRun(traceId, lastEventId, signal) {
  const response = await fetchGet(`/api/stream/${encodeURIComponent(traceId)}`, { after: lastEventId }, signal);
  if (response.status !== 204) yield* readEvents(response);
}

async function* readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let unparsed = "";
  try {
    for (;;) {
      let piece;
      try {
        piece = await reader.read();
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError("NETWORK_ERROR", "The connection was lost.");
      }
      if (piece.done) return;
      unparsed += piece.value;
      const blocks = unparsed.split("\n\n");
      unparsed = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Returns the event of a block of lines, or null if it holds only comments.
function parseEvent(block) {
  let id = 0;
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("id:")) id = Number(line.slice(3).trim());
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { id, ...JSON.parse(data.join("\n")) } : null;
}
