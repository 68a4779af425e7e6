// The chat API as this page uses it: JSON in, JSON or server-sent events out, one kind of error.

export class ApiError extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }

  // Whether the same thing may work when it is tried again.
  get retryable() {
    return ["NETWORK_ERROR", "RATE_LIMITED", "SERVICE_UNAVAILABLE", "INTERNAL_ERROR"].includes(this.code);
  }
}

export function clientId() {
  const known = localStorage.getItem("mockllm-client");
  if (known) return known;
  const made = crypto.randomUUID();
  localStorage.setItem("mockllm-client", made);
  return made;
}

const csrf = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("NETWORK_ERROR", "The server cannot be reached.");
  }
  if (response.ok) return response;
  let told = {};
  try {
    told = await response.json();
  } catch {
    // Not ours: a proxy's page, for instance.
  }
  const message = told.message ?? `The server answered ${response.status}.`;
  throw new ApiError(told.code ?? "SERVICE_UNAVAILABLE", message, response.status);
}

function posted(body, signal) {
  return {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf() },
    body: JSON.stringify(body),
  };
}

export async function post(path, body) {
  return (await ask(path, posted({ client_id: clientId(), ...body }))).json();
}

export async function get(path, query = {}) {
  const search = new URLSearchParams({ client_id: clientId(), ...query });
  return (await ask(`${path}?${search}`)).json();
}

// Sends a message; gives its events as they come.
export async function* send(path, body, signal) {
  const response = await ask(path, posted({ client_id: clientId(), ...body }, signal));
  yield* events(response);
}

// The events of a run after a number: what is missing first, then what comes.
export async function* resume(traceId, after, signal) {
  const search = new URLSearchParams({ client_id: clientId(), after: String(after) });
  const response = await ask(`/api/stream/${encodeURIComponent(traceId)}?${search}`, { signal });
  if (response.status !== 204) yield* events(response);
}

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
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
      waiting += piece.value;
      const blocks = waiting.split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  let id = 0;
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("id:")) id = Number(line.slice(3).trim());
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { id, ...JSON.parse(data.join("\n")) } : null;
}
