// Starts the server of a run, and stops it at the end.
import { startServer } from "./server.mjs";

const WARM_UP = "mockllm-warm-up";

export default async function setup(project) {
  const options = project.config.provide?.mockllmOptions ?? {};
  const url = options.url ?? process.env.MOCKLLM_URL;
  if (url) {
    project.provide("mockllmServer", { url: url.replace(/\/+$/, ""), shared: true });
    return undefined;
  }
  const server = await startServer(project.config.root, options);
  await warmUp(server.url);
  project.provide("mockllmServer", { url: server.url, shared: false });
  return server.stop;
}

/** Send the calls of one test, because the first calls of a server load more code. */
async function warmUp(url) {
  const send = (method, path, body) =>
    fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${WARM_UP}` },
      body: JSON.stringify(body),
    }).then((response) => response.text());
  const steps = [{ produce: { text: WARM_UP } }];
  const messages = [{ role: "user", content: WARM_UP }];
  const scenario = `/control/scenarios/${WARM_UP}?session=${WARM_UP}`;
  await send("PUT", scenario, { name: WARM_UP, steps });
  await send("POST", "/v1/chat/completions", { model: WARM_UP, messages });
  // This also resets the session.
  await send("POST", "/control/verdict", { session: WARM_UP });
}
