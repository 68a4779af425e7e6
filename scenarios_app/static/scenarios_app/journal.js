// The journal: a click on a row opens its request, and the list is live. A WebSocket announces new
// rows; htmx then loads the list again with its filters, search and order.

const RECONNECT_MS = 1500;
// The server's close code for a user without permission.
const NOT_ALLOWED = 4403;

const live = document.getElementById("live");
const pauseButton = document.getElementById("pause");
let isPaused = false;
let hasNewRows = false;

function showState(text, tone) {
  const state = document.getElementById("state");
  state.textContent = text;
  state.dataset.tone = tone;
}

const showLiveOrPaused = () => showState(isPaused ? "paused" : "live", isPaused ? "warn" : "good");

function refreshUnlessPaused() {
  hasNewRows = isPaused;
  if (!isPaused) live.dispatchEvent(new CustomEvent("journal:new"));
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws/journal/`);
  socket.addEventListener("open", showLiveOrPaused);
  // The first message announces the rows that were written while the page was loading.
  socket.addEventListener("message", refreshUnlessPaused);
  socket.addEventListener("close", ({ code }) => {
    showState(code === NOT_ALLOWED ? "not allowed" : "connection lost, trying again", "bad");
    if (code !== NOT_ALLOWED) setTimeout(connect, RECONNECT_MS);
  });
}

// Returns the link of the row that was clicked, or null for a click on a control of its own.
function findRowLink(event) {
  if (event.target.closest("a, button, input, label")) return null;
  return event.target.closest("#result_list tbody tr")?.querySelector("a") ?? null;
}

document.addEventListener("click", (event) => {
  const link = findRowLink(event);
  // A selection of text ends with a click too.
  if (!link || !getSelection().isCollapsed) return;
  const { ctrlKey, metaKey, shiftKey } = event;
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
});

document.addEventListener("auxclick", (event) => {
  const link = event.button === 1 ? findRowLink(event) : null;
  if (link) open(link.href, "_blank", "noopener");
});

// htmx replaces the rows, and with them the link that has the focus.
function keepFocusedRow() {
  let href = null;
  document.addEventListener("htmx:beforeSwap", () => {
    href = document.activeElement.closest("#result_list") && document.activeElement.getAttribute("href");
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (href) document.querySelector(`#result_list a[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true, focusVisible: true });
  });
}

if (live) {
  keepFocusedRow();
  pauseButton.addEventListener("click", () => {
    isPaused = !isPaused;
    pauseButton.setAttribute("aria-pressed", String(isPaused));
    showLiveOrPaused();
    if (hasNewRows) refreshUnlessPaused();
  });
  connect();
}
