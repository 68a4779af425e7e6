// The journal: a row opens its request, and the list grows. Over a WebSocket comes word of new rows,
// and htmx gets the list anew, with the filters, the search and the order that it has.

const AGAIN_MS = 1500;
const NOT_ALLOWED = 4403;

const live = document.getElementById("live");
const pause = document.getElementById("pause");
let paused = false;
let missed = false;

function say(text, tone) {
  const state = document.getElementById("state");
  state.textContent = text;
  state.dataset.tone = tone;
}

const sayHow = () => say(paused ? "paused" : "live", paused ? "warn" : "good");

function refresh() {
  missed = paused;
  if (!paused) live.dispatchEvent(new CustomEvent("journal:new"));
}

function listen() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws/journal/`);
  // The first message has the rows that are there already; what came while the page was on its way
  // is among them.
  socket.addEventListener("open", sayHow);
  socket.addEventListener("message", refresh);
  socket.addEventListener("close", ({ code }) => {
    say(code === NOT_ALLOWED ? "not allowed" : "connection lost, trying again", "bad");
    if (code !== NOT_ALLOWED) setTimeout(listen, AGAIN_MS);
  });
}

// A click anywhere on a row does what a click on its link does; text can still be selected.
function rowLink(event) {
  if (event.target.closest("a, button, input, label")) return null;
  return event.target.closest("#result_list tbody tr")?.querySelector("a") ?? null;
}

document.addEventListener("click", (event) => {
  const link = rowLink(event);
  if (!link || !getSelection().isCollapsed) return;
  const { ctrlKey, metaKey, shiftKey } = event;
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
});

document.addEventListener("auxclick", (event) => {
  const link = event.button === 1 ? rowLink(event) : null;
  if (link) open(link.href, "_blank", "noopener");
});

if (live) {
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    sayHow();
    if (missed) refresh();
  });
  listen();
}
