// The playground: conversations at the side, one of them in the middle, the message box below.

import { AnswerView } from "./answer.js";
import { ApiError, get, post, resume, send } from "./api.js";
import { Comparing } from "./comparing.js";
import { make, when } from "./dom.js";

const $ = (id) => document.getElementById(id);
const page = {
  list: $("conversations"), log: $("messages"), empty: $("empty"), title: $("title"),
  form: $("composer"), text: $("message"), send: $("send"), stop: $("stop"),
  profile: $("profile"), other: $("profile-b"), compare: $("compare"),
  banner: $("error-banner"), said: $("error-text"), retry: $("error-retry"), step: $("error-step"),
  about: $("about"), editing: $("editing"), search: $("search"), found: $("found"),
};
const state = { conversation: null, running: null, comparing: false, again: null, editing: null };
const PROFILES = JSON.parse($("profiles").textContent);

// ── Errors ──

// How the mock begins when no step answers.
const UNMATCHED = "no_scenario_matched";

function complain(error, again = null) {
  if (error.name === "AbortError") return;
  page.said.textContent = error.message;
  page.banner.dataset.code = error.code ?? "";
  page.banner.hidden = false;
  page.step.hidden = !(error.message.includes(UNMATCHED) && state.conversation);
  page.step.elements.session.value = `chat-${state.conversation}`;
  state.again = again;
  page.retry.hidden = !(again && error.retryable);
}

function settle() {
  page.banner.hidden = true;
  state.again = null;
}

page.retry.addEventListener("click", () => {
  const again = state.again;
  settle();
  again?.();
});
$("error-close").addEventListener("click", settle);

// ── Conversations ──

const MAX_LISTED = 200;
const SEARCH_AFTER_MS = 200;

async function refreshList() {
  const q = page.search.value.trim();
  const { conversations } = await get("/api/list_conversations", { limit: MAX_LISTED, ...(q && { q }) });
  // A slow answer to an earlier search says nothing of what is searched for now.
  if (q !== page.search.value.trim()) return;
  page.list.replaceChildren(...conversations.map(entry));
  page.found.textContent = told(conversations.length, q);
}

function told(count, q) {
  if (!q) return count ? "" : "No conversations yet.";
  if (!count) return `No results for “${q}”.`;
  return count === 1 ? "1 conversation found." : `${count} conversations found.`;
}

let searching = 0;
page.search.addEventListener("input", () => {
  clearTimeout(searching);
  searching = setTimeout(() => guarded(refreshList), SEARCH_AFTER_MS);
});

function entry(conversation) {
  const id = conversation.conversation_id;
  const link = make(
    "a",
    { href: `?c=${id}`, "aria-current": id === state.conversation ? "page" : undefined },
    make("span", { class: "name" }, conversation.title || "New conversation"),
    make("small", {}, when(conversation.last_message_at)),
  );
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    guarded(() => open(id));
  });
  return make("li", {}, link);
}

async function open(id, { push = true } = {}) {
  const found = await get("/api/load_conversation", { conversation_id: id });
  leave();
  state.conversation = id;
  if (push) history.pushState({ id }, "", `?c=${id}`);
  show(found);
  await refreshList();
  await follow(found);
}

function show(found) {
  page.title.textContent = found.title || "New conversation";
  $("rename").hidden = $("delete").hidden = false;
  page.log.replaceChildren();
  const pairs = new Map();
  for (const message of found.messages) {
    if (message.sender === "user") {
      addUser(message.content, message.message_id);
    } else if (message.branch) {
      if (!pairs.has(message.branch) || pairs.size === 2) pairs.clear();
      pairs.set(message.branch, message);
      comparing.addStored(message, page.log, answerOptions());
    } else {
      page.log.append(AnswerView.of(message, answerOptions()).element);
    }
  }
  page.empty.hidden = found.messages.length > 0;
  down();
}

// A run that goes on: this page follows it from its beginning, another tab may too.
async function follow(found) {
  const last = found.messages.at(-1);
  // Another tab may have seen it end, after this one had looked.
  const run = remembered(found.conversation_id) ?? (last?.sender === "user" ? last.trace_id : null);
  if (!run || (last && last.sender === "assistant" && last.trace_id === run)) {
    forgetRun(found.conversation_id);
    return;
  }
  const view = new AnswerView(answerOptions());
  page.log.append(view.element);
  down();
  const ended = await read(resume(run, 0, begin(run)), view);
  if (ended && view.status === "running" && view.traceId) await rejoin(view);
  else if (view.status === "running") view.element.remove();
}

function newConversation() {
  leave();
  settle();
  stopEditing();
  state.conversation = null;
  history.pushState({}, "", location.pathname);
  page.title.textContent = "New conversation";
  $("rename").hidden = $("delete").hidden = true;
  page.log.replaceChildren();
  page.empty.hidden = false;
  for (const link of page.list.querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
  page.text.focus();
}

function leave() {
  state.running?.stop.abort();
  state.running = null;
  busy(false);
}

$("new").addEventListener("click", newConversation);
$("rename").addEventListener("click", () =>
  guarded(async () => {
    const title = prompt("Title of this conversation", page.title.textContent);
    if (!title?.trim()) return;
    const renamed = await post("/api/rename_conversation", { conversation_id: state.conversation, title });
    page.title.textContent = renamed.title;
    await refreshList();
  }),
);
$("delete").addEventListener("click", () =>
  guarded(async () => {
    if (!confirm("Delete this conversation with its traces?")) return;
    await post("/api/delete_conversation", { conversation_id: state.conversation });
    newConversation();
    await refreshList();
  }),
);
addEventListener("popstate", () => guarded(start));

// ── Messages ──

function addUser(content, id = "") {
  page.empty.hidden = true;
  const edit = make("button", { class: "plain edit", type: "button", title: "Edit message", "aria-label": "Edit message" });
  const element = make("article", { class: "message user", "aria-label": "You", "data-message": id }, make("div", { class: "text" }, content), edit);
  edit.addEventListener("click", () => startEditing(element, content));
  page.log.append(element);
  return element;
}

// An answer of a comparison has a label; the server lets none of these be asked for again.
function answerOptions() {
  const actions = (view) => [
    ...(view.label ? [] : [regenerate(view)]),
    ...(view.messageId ? feedback(view) : []),
  ];
  return { actions };
}

// ── Asking anew ──

const lastAsked = (element) => {
  let before = element.previousElementSibling;
  while (before && !before.classList.contains("user")) before = before.previousElementSibling;
  return before;
};

function regenerate(view) {
  const button = make("button", { class: "plain", type: "button", title: "Regenerate (deletes later messages)" }, "Regenerate");
  button.addEventListener("click", () => {
    const user = lastAsked(view.element);
    if (!state.running && user) guarded(() => askAnew(user, user.querySelector(".text").textContent));
  });
  return button;
}

function startEditing(element, content) {
  if (state.running) return;
  state.editing = element;
  page.editing.hidden = false;
  page.text.value = content;
  grow();
  page.text.focus();
}

function stopEditing() {
  state.editing = null;
  page.editing.hidden = true;
}

// Takes a message back with all that came after it, and sends it, maybe in other words.
async function askAnew(user, text) {
  const id = user.dataset.message;
  if (id) await post("/api/rewind_conversation", { conversation_id: state.conversation, message_id: id });
  while (user.nextElementSibling) user.nextElementSibling.remove();
  user.remove();
  stopEditing();
  await submit(text);
}

$("editing-stop").addEventListener("click", () => {
  stopEditing();
  page.text.value = "";
  grow();
});

function feedback(view) {
  return [["like", "Like", "A good answer"], ["dislike", "Dislike", "A bad answer"]].map(([value, sign, title]) => {
    const button = make("button", { class: "plain", type: "button", title, "aria-pressed": view.feedback === value ? "true" : "false", "data-feedback": value }, sign);
    button.addEventListener("click", () =>
      guarded(async () => {
        const wanted = view.feedback === value ? null : value;
        const kept = await post("/api/feedback", { message_id: view.messageId, feedback: wanted });
        view.feedback = kept.feedback;
        offerComment(view);
        for (const one of view.foot.querySelectorAll("[data-feedback]")) {
          one.setAttribute("aria-pressed", String(one.dataset.feedback === kept.feedback));
        }
      }),
    );
    return button;
  });
}

// A line for what was good or bad, as long as there is a feedback that it explains.
function offerComment(view) {
  view.foot.querySelector(".comment")?.remove();
  if (!view.feedback) return;
  const text = make("input", { type: "text", maxlength: "10000", "aria-label": "Comment on your feedback", placeholder: "Comment (optional)" });
  const form = make("form", { class: "comment", autocomplete: "off" }, text, make("button", { type: "submit" }, "Save comment"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(async () => {
      await post("/api/feedback", { message_id: view.messageId, feedback: view.feedback, comment: text.value.trim() });
      form.replaceChildren(make("small", { role: "status" }, text.value.trim() ? "Comment saved." : "No comment."));
    });
  });
  view.foot.append(form);
}

async function submit(text, id = crypto.randomUUID()) {
  settle();
  const comparison = page.compare?.getAttribute("aria-pressed") === "true";
  if (comparison && page.profile.value === page.other.value) {
    complain(new ApiError("VALIDATION_ERROR", "Choose two different profiles to compare."));
    return;
  }
  const user = addUser(text);
  const waiting = page.text.value;
  page.text.value = "";
  grow();
  down();
  const again = () => {
    user.remove();
    submit(text, id);
  };
  try {
    await (comparison ? compare(text, user) : answer(text, id, { again, user }));
  } catch (error) {
    // Refused before it was stored: the chat is as it was, and the text is still there to send.
    user.remove();
    page.empty.hidden = page.log.children.length > 0;
    page.text.value ||= waiting;
    grow();
    complain(error, again);
  }
  await refreshList().catch(() => {});
}

async function answer(text, id, { again, user }) {
  const view = new AnswerView(answerOptions());
  page.log.append(view.element);
  const events = send(
    "/api/get_chat_response_stream",
    { conversation_id: state.conversation, message: text, profile: page.profile.value || null, client_message_id: id },
    begin(null),
  );
  try {
    await read(events, view, () => submit(text), user);
  } catch (error) {
    view.element.remove();
    throw error;
  }
  if (view.status === "running" && view.traceId) await rejoin(view, again);
}

// The stream has ended or broke, the run did not: go on where it stopped, as often as it ends.
async function rejoin(view, again) {
  try {
    let ended = true;
    while (ended && view.status === "running") {
      ended = await read(resume(view.traceId, view.last, begin(view.traceId)), view, again);
    }
  } catch (error) {
    complain(error, () => guarded(() => rejoin(view, again)));
  }
}

async function compare(text, user) {
  const signal = begin(null);
  busy(true);
  try {
    const started = (event) => {
      state.comparing = true;
      user.dataset.message = event.message_id;
      took(event.conversation_id, null);
    };
    await comparing.run(
      { conversation_id: state.conversation, message: text, profile_a: page.profile.value || null, profile_b: page.other.value || null },
      { signal, log: page.log, options: answerOptions(), started, down },
    );
  } finally {
    busy(false);
    state.running = null;
    state.comparing = false;
  }
}

// Reads events into a view until the stream ends; false if the connection broke before.
async function read(events, view, again = null, user = null) {
  const mine = state.running;
  busy(true);
  try {
    for await (const event of events) {
      view.last = event.id;
      if (event.type === "started") {
        if (user) user.dataset.message = event.message_id;
        took(event.conversation_id, event.trace_id);
      }
      const ended = view.take(event);
      down();
      if (event.type === "error") complain(new ApiError(event.code, event.message, event.status), again);
      if (ended) {
        forgetRun(event.conversation_id ?? state.conversation);
        tellSteps(view);
      }
    }
    return true;
  } catch (error) {
    if (error.name === "AbortError" || (view.traceId && error.code === "NETWORK_ERROR")) return false;
    throw error;
  } finally {
    if (state.running === mine) {
      state.running = null;
      busy(false);
    }
  }
}

// Who answered stands in the trace, which is written by now.
function tellSteps(view) {
  if (!view.traceId) return;
  get(`/api/trace/${view.traceId}`)
    .then(({ model_calls: calls }) => view.tellSteps(calls.filter((call) => call.purpose === "answer" && call.answered_by).map((call) => call.answered_by)))
    .catch(() => {});
}

function begin(traceId) {
  const stop = new AbortController();
  state.running = { stop, traceId };
  return stop.signal;
}

function took(conversation, traceId) {
  const unwanted = state.running?.stopping && !state.running.traceId;
  if (state.running) state.running.traceId = traceId ?? state.running.traceId;
  if (unwanted) queueMicrotask(stop);
  if (traceId) localStorage.setItem(`mockllm-run-${conversation}`, traceId);
  if (state.conversation === conversation) return;
  state.conversation = conversation;
  history.replaceState({ id: conversation }, "", `?c=${conversation}`);
  page.title.textContent = "New conversation";
  $("rename").hidden = $("delete").hidden = false;
  get("/api/load_conversation", { conversation_id: conversation })
    .then((found) => {
      if (state.conversation === conversation) page.title.textContent = found.title;
      return refreshList();
    })
    .catch(() => {});
}

const remembered = (conversation) => localStorage.getItem(`mockllm-run-${conversation}`);
const forgetRun = (conversation) => localStorage.removeItem(`mockllm-run-${conversation}`);

page.stop.addEventListener("click", stop);
async function stop() {
  if (!state.running?.traceId && !state.comparing) {
    // It has not begun yet: it is stopped as soon as it has.
    if (state.running) state.running.stopping = true;
    return;
  }
  try {
    await post("/api/cancel_stream", { conversation_id: state.conversation });
  } catch (error) {
    // It was faster: what came is what there is.
    if (error.code !== "CONFLICT") complain(error);
  }
}

// ── The message box ──

function busy(is) {
  page.stop.hidden = !is;
  page.send.hidden = is;
  page.form.setAttribute("aria-busy", String(is));
}

function grow() {
  page.text.style.height = "auto";
  page.text.style.height = `${Math.min(page.text.scrollHeight + 2, 220)}px`;
}

function down() {
  const box = page.log.parentElement;
  if (box.scrollHeight - box.scrollTop - box.clientHeight < 160 || !state.running) box.scrollTop = box.scrollHeight;
}

page.text.addEventListener("input", grow);
page.text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    page.form.requestSubmit();
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !page.stop.hidden && event.target !== page.search) stop();
});
page.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (state.running) return;
  if (state.editing) guarded(() => askAnew(state.editing, page.text.value));
  else submit(page.text.value);
});
page.compare?.addEventListener("click", () => {
  const on = page.compare.getAttribute("aria-pressed") !== "true";
  page.compare.setAttribute("aria-pressed", String(on));
  $("second").hidden = !on;
  tellProfile();
});

// ── The profile ──

function tellProfile() {
  const both = page.compare?.getAttribute("aria-pressed") === "true";
  const names = both ? [page.profile.value, page.other.value] : [page.profile.value];
  if (both) for (const option of page.other.options) option.disabled = option.value === page.profile.value;
  if (both && page.other.value === page.profile.value) {
    page.other.value = [...page.other.options].find((option) => !option.disabled)?.value ?? page.other.value;
    names[1] = page.other.value;
  }
  const shown = names.map((name) => PROFILES.find((one) => one.name === name)).filter(Boolean);
  const prompted = shown.some((one) => one.system_prompt);
  const tools = shown.some((one) => one.tools.length);
  $("about-short").textContent = [prompted ? "System prompt" : "No system prompt", tools ? "tools on" : "no tools"].join(" · ");
  $("about-long").replaceChildren(...shown.map((one) =>
    make("div", {},
      make("b", {}, `${one.name}: ${one.provider_id}, ${one.model_id}`),
      make("pre", { class: "prompt", tabindex: "0" }, one.system_prompt || "No system prompt."),
      make("p", { class: "faint" }, one.tools.length ? `Tools of ${one.tools.join(", ")}` : "No tools."),
    ),
  ));
}

page.profile.addEventListener("change", tellProfile);
page.other?.addEventListener("change", tellProfile);

async function guarded(action) {
  try {
    await action();
  } catch (error) {
    complain(error, () => guarded(action));
  }
}

const comparing = new Comparing({ complain, guarded });

async function start() {
  const id = new URLSearchParams(location.search).get("c");
  await refreshList();
  if (id) await open(id, { push: false });
  else page.text.focus();
}

grow();
tellProfile();
guarded(start);
