// Sends requests of global `fetch` for a provider's real host to a mockllm server instead.
//
// `mockllm run` preloads this file into each Node process (NODE_OPTIONS), since some clients read no
// variable for their base URL. The npm package mockllm-vitest has the same file.
"use strict";

const ORIGINAL = Symbol.for("mockllm.fetch");

/**
 * The URL on the server at `base` for a request to `url`; null if the request is not for it.
 *
 * `hosts` has the path prefix on the server by host; a host that begins with a dot stands for all
 * names below it.
 */
function serverUrl(url, base, hosts) {
  const server = new URL(base);
  if (url.origin === server.origin) {
    // The AI SDK expects `/v1` in ANTHROPIC_BASE_URL, Anthropic's own SDK adds it.
    const isBare = url.pathname === "/messages" || url.pathname.startsWith("/messages/");
    return isBare ? new URL(`/v1${url.pathname}${url.search}`, server) : url;
  }
  const below = Object.keys(hosts).find((host) => host.startsWith(".") && url.host.endsWith(host));
  const prefix = hosts[url.host] ?? hosts[below];
  return prefix === undefined ? null : new URL(`${prefix}${url.pathname}${url.search}`, server);
}

/**
 * Replace global `fetch`, and return the original. `prepare`, if given, gets the headers and the URL
 * of each request to the server before it is sent, and may change both; it may return a promise.
 */
function patchFetch(base, hosts, prepare) {
  const original = globalThis.fetch[ORIGINAL] ?? globalThis.fetch;

  async function fetch(input, init) {
    const request = typeof input === "object" && "url" in input ? input : null;
    const requested = request ? request.url : String(input);
    const url = URL.canParse(requested) ? serverUrl(new URL(requested), base, hosts) : null;
    if (url === null) return original(input, init);
    let options = init;
    if (prepare) {
      const headers = new Headers(init?.headers ?? request?.headers);
      await prepare(headers, url);
      options = { ...init, headers };
    }
    return original(request ? new Request(url, request) : url, options);
  }

  fetch[ORIGINAL] = original;
  globalThis.fetch = fetch;
  return original;
}

module.exports = { patchFetch, serverUrl };

const { MOCKLLM_URL, MOCKLLM_HOSTS } = process.env;
if (MOCKLLM_URL && MOCKLLM_HOSTS && typeof globalThis.fetch === "function") {
  patchFetch(MOCKLLM_URL, JSON.parse(MOCKLLM_HOSTS));
}
