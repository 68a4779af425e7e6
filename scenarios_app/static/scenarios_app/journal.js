// The journal as it grows: rows come over a WebSocket, the newest stands on top.

const MOST = 500;
const AGAIN_MS = 1500;
const NOT_ALLOWED = 4403;

const page = Object.fromEntries(
  ["rows", "none", "state", "filter", "unmatched", "pause"].map((id) => [id, document.getElementById(id)]),
);
const known = new Set();
let waiting = [];
let paused = false;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter(Boolean));
  return element;
}

const small = (text) => (text ? make("small", { class: "faint" }, text) : null);

function element(row) {
  const tone = !row.matched ? "bad" : row.outcome === "complete" ? "good" : "warn";
  const answered = row.scenario
    ? [row.scenario, small(`step ${row.step}${row.fallback ? ", catch-all" : ""}`)]
    : ["–", small(row.near)];
  const told = [row.fault && `fault ${row.fault}`, ...row.violations].filter(Boolean).join("; ");
  const made = make(
    "tr",
    { "data-id": row.id },
    make("td", {}, new Date(row.at).toLocaleTimeString([], { hour12: false })),
    make("td", {}, make("a", { href: row.url }, row.request), small([row.provider, row.model, row.streamed && "streamed"].filter(Boolean).join(", "))),
    make("td", {}, ...answered),
    make("td", {}, make("span", { class: `tag ${tone}` }, `${row.status} ${row.outcome.replace("_", " ")}`), small(told)),
    make("td", { class: "number" }, `${Math.round(row.duration_ms).toLocaleString()} ms`),
    make("td", {}, row.session),
  );
  made.dataset.text = made.textContent.toLowerCase();
  made.dataset.matched = row.matched && !row.fallback;
  return made;
}

function wanted(made) {
  const text = page.filter.value.trim().toLowerCase();
  return (!text || made.dataset.text.includes(text)) && (!page.unmatched.checked || made.dataset.matched === "false");
}

function show(rows, fresh) {
  for (const row of rows) {
    if (known.has(row.id)) continue;
    known.add(row.id);
    const made = element(row);
    made.hidden = !wanted(made);
    if (fresh) made.classList.add("new");
    page.rows.prepend(made);
  }
  while (page.rows.children.length > MOST) {
    known.delete(Number(page.rows.lastElementChild.dataset.id));
    page.rows.lastElementChild.remove();
  }
  sift();
}

function sift() {
  let shown = 0;
  for (const made of page.rows.children) {
    made.hidden = !wanted(made);
    shown += !made.hidden;
  }
  page.none.hidden = shown > 0;
  page.none.textContent = page.rows.children.length ? "No request is like that." : "Nothing has been asked yet.";
}

function state(text, tone = "") {
  page.state.textContent = text;
  page.state.className = `tag ${tone}`;
}

function listen() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws/journal/`);
  let first = true;
  socket.addEventListener("open", () => state(paused ? "paused" : "live", paused ? "warn" : "good"));
  socket.addEventListener("message", ({ data }) => {
    const { rows } = JSON.parse(data);
    if (paused) waiting.push(...rows);
    else show(rows, !first);
    first = false;
  });
  socket.addEventListener("close", ({ code }) => {
    state(code === NOT_ALLOWED ? "not allowed" : "connection lost, trying again", "bad");
    if (code !== NOT_ALLOWED) setTimeout(listen, AGAIN_MS);
  });
}

page.filter.addEventListener("input", sift);
page.unmatched.addEventListener("change", sift);
page.pause.addEventListener("click", () => {
  paused = !paused;
  page.pause.setAttribute("aria-pressed", String(paused));
  state(paused ? "paused" : "live", paused ? "warn" : "good");
  if (!paused) {
    show(waiting, true);
    waiting = [];
  }
});
listen();
