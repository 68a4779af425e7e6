// The playground: the list of conversations, the open conversation and the message box.

import { AnswerView } from "./answer.js";
import { ApiError, getJson, postForEvents, postJson, resumeRun } from "./api.js";
import { addStoredBranch, streamComparison } from "./comparison.js";
import { createElement, formatTime } from "./dom.js";
import { clearError, runOrShowError, showError } from "./errors.js";
import { createFeedbackButtons } from "./feedback.js";
import { byId, page, scrollToEnd, state } from "./page.js";
import { isComparisonOn } from "./profiles.js";

// ── The list of conversations ──

const PAGE_SIZE = 200;
const SEARCH_DELAY_MS = 200;

// The number of pages that the list shows of the present query.
let pageCount = 1;

async function refreshList() {
  const query = page.search.value.trim();
  const found = [];
  let next = null;
  for (let number = 0; number < pageCount && (next || !number); number++) {
    const list = await getJson("/api/list_conversations", { limit: PAGE_SIZE, ...(query && { q: query }), ...(next && { after: next }) });
    found.push(...list.conversations);
    next = list.next;
    // The user has typed another query in the meantime.
    if (query !== page.search.value.trim()) return;
  }
  page.conversations.replaceChildren(...found.map(createListItem), ...(next ? [createMoreItem()] : []));
  page.resultCount.textContent = describeResultCount(found.length, query, next);
}

function describeResultCount(count, query, next) {
  if (!query) return count || next ? "" : "No conversations yet.";
  const where = next ? " among the latest conversations" : "";
  if (!count) return `No results for “${query}”${where}.`;
  return `${count} conversation${count === 1 ? "" : "s"} found${where}.`;
}

function createMoreItem() {
  const button = createElement("button", { type: "button", class: "plain" }, "Show older");
  button.addEventListener("click", () => runOrShowError(showOlder));
  return createElement("li", {}, button);
}

// The focus moves to the first conversation that was not listed before.
async function showOlder() {
  const firstNew = page.conversations.childElementCount - 1;
  pageCount += 1;
  await refreshList();
  page.conversations.children[firstNew]?.firstElementChild.focus();
}

let searchTimer = 0;
page.search.addEventListener("input", () => {
  clearTimeout(searchTimer);
  pageCount = 1;
  searchTimer = setTimeout(() => runOrShowError(refreshList), SEARCH_DELAY_MS);
});

function createListItem(conversation) {
  const id = conversation.conversation_id;
  const link = createElement(
    "a",
    { href: `?c=${id}`, "aria-current": id === state.conversationId ? "page" : undefined },
    createElement("span", { class: "name" }, conversation.title || "New conversation"),
    createElement("small", {}, formatTime(conversation.last_message_at)),
  );
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    runOrShowError(() => openConversation(id));
  });
  return createElement("li", {}, link);
}

// ── The open conversation ──

const loadConversation = (id) => getJson("/api/load_conversation", { conversation_id: id });

async function openConversation(id, { addToHistory = true } = {}) {
  const conversation = await loadConversation(id);
  clearError();
  detachFromRun();
  state.conversationId = id;
  if (addToHistory) history.pushState({ id }, "", `?c=${id}`);
  showConversation(conversation);
  await refreshList();
  await followLiveRun(conversation);
}

function showConversation({ title, messages }) {
  showTitle(title);
  showConversationButtons(true);
  page.messages.replaceChildren();
  for (const message of messages) {
    if (message.sender === "user") addUserMessage(message.content, message.message_id);
    else if (message.branch) addStoredBranch(message, ANSWER_OPTIONS);
    else page.messages.append(createStoredAnswer(message).element);
  }
  page.empty.hidden = messages.length > 0;
  scrollToEnd();
}

function createStoredAnswer(message) {
  const view = AnswerView.fromMessage(message, ANSWER_OPTIONS);
  if (view.status === "failed") loadFailure(view);
  return view;
}

// Follows the conversation's run from its first event, if it has not ended.
async function followLiveRun({ conversation_id: conversationId, messages }) {
  const last = messages.at(-1);
  // No run is stored if another tab saw the run end after this page had loaded the conversation.
  const traceId = getStoredRun(conversationId) ?? (last?.sender === "user" ? last.trace_id : null);
  if (!traceId || (last?.sender === "assistant" && last.trace_id === traceId)) {
    forgetRun(conversationId);
    return;
  }
  const view = addAnswer();
  scrollToEnd();
  const isConnected = await applyEvents(resumeRun(traceId, 0, startRun(traceId)), view);
  if (isConnected && view.status === "running" && view.traceId) await followToEnd(view);
  else if (view.status === "running") view.element.remove();
}

function startNewConversation() {
  detachFromRun();
  clearError();
  stopEditing();
  state.conversationId = null;
  history.pushState({}, "", location.pathname);
  showTitle();
  showConversationButtons(false);
  page.messages.replaceChildren();
  page.empty.hidden = false;
  for (const link of page.conversations.querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
  page.textBox.focus();
}

function showTitle(title) {
  page.title.textContent = title || "New conversation";
}

function showConversationButtons(isStored) {
  byId("rename").hidden = byId("delete").hidden = !isStored;
}

async function renameConversation() {
  const title = prompt("Title of this conversation", page.title.textContent);
  if (!title?.trim()) return;
  const renamed = await postJson("/api/rename_conversation", { conversation_id: state.conversationId, title });
  showTitle(renamed.title);
  await refreshList();
}

async function deleteConversation() {
  if (!confirm("Delete this conversation with its traces?")) return;
  await postJson("/api/delete_conversation", { conversation_id: state.conversationId });
  startNewConversation();
  await refreshList();
}

async function openFromUrl() {
  const id = new URLSearchParams(location.search).get("c");
  await refreshList();
  if (id) await openConversation(id, { addToHistory: false });
  else page.textBox.focus();
}

byId("new").addEventListener("click", startNewConversation);
byId("rename").addEventListener("click", () => runOrShowError(renameConversation));
byId("delete").addEventListener("click", () => runOrShowError(deleteConversation));
addEventListener("popstate", () => runOrShowError(openFromUrl));

// ── Messages ──

function addUserMessage(content, id = "") {
  page.empty.hidden = true;
  const editButton = createElement("button", { class: "plain edit", type: "button", title: "Edit message", "aria-label": "Edit message" });
  const message = createElement("article", { class: "message user", "aria-label": "You", "data-message": id }, createElement("div", { class: "text" }, content), editButton);
  editButton.addEventListener("click", () => startEditing(message, content));
  page.messages.append(message);
  return message;
}

// The server rejects a regeneration of a comparison's answers, which are those with a label.
const ANSWER_OPTIONS = {
  createActions: (view) => [
    ...(view.label || view.status === "failed" ? [] : [createRegenerateButton(view, "Regenerate")]),
    ...(view.messageId ? createFeedbackButtons(view) : []),
  ],
  createRetry: (view) => (view.label ? [] : [createRegenerateButton(view, "Retry")]),
};

function addAnswer() {
  const view = new AnswerView(ANSWER_OPTIONS);
  page.messages.append(view.element);
  return view;
}

// ── Edited and regenerated messages ──

function findUserMessageBefore(element) {
  let before = element.previousElementSibling;
  while (before && !before.classList.contains("user")) before = before.previousElementSibling;
  return before;
}

// Creates a button that sends the message of an answer again, in its place.
function createRegenerateButton(view, label) {
  const attributes = { type: "button", title: `${label} (deletes later messages)` };
  const button = createElement("button", { ...(label === "Regenerate" && { class: "plain" }), ...attributes }, label);
  button.addEventListener("click", () => {
    const userMessage = findUserMessageBefore(view.element);
    if (state.run || !userMessage) return;
    if (view.resend) view.resend();
    else runOrShowError(() => replaceFrom(userMessage, userMessage.querySelector(".text").textContent));
  });
  return button;
}

function startEditing(userMessage, content) {
  if (state.run) return;
  state.editedMessage = userMessage;
  page.editingNote.hidden = false;
  setText(content);
  page.textBox.focus();
}

function stopEditing() {
  state.editedMessage = null;
  page.editingNote.hidden = true;
}

// Deletes a message with all later ones, and sends a text in its place.
async function replaceFrom(userMessage, text) {
  const id = userMessage.dataset.message;
  if (id) await postJson("/api/rewind_conversation", { conversation_id: state.conversationId, message_id: id });
  while (userMessage.nextElementSibling) userMessage.nextElementSibling.remove();
  userMessage.remove();
  stopEditing();
  await sendMessage(text);
}

byId("editing-stop").addEventListener("click", () => {
  stopEditing();
  setText("");
});

// ── Sending ──

async function sendMessage(text, clientMessageId = crypto.randomUUID()) {
  clearError();
  removeUnsentMessage();
  const isComparison = isComparisonOn();
  if (isComparison && page.profile.value === page.profileB.value) {
    showError(new ApiError("VALIDATION_ERROR", "Choose two different profiles to compare."));
    return;
  }
  const userMessage = addUserMessage(text);
  // Another text was typed while this one was answered.
  if (page.textBox.value === text) setText("");
  scrollToEnd();
  try {
    await (isComparison ? compareAnswers(text, userMessage) : streamAnswer(text, clientMessageId, userMessage));
  } catch (error) {
    // The server stored nothing, or nothing that this page knows of: the text goes back to its box.
    setText(page.textBox.value || text);
    const resend = () => sendMessage(text, clientMessageId);
    if (error.isRetryable && !isComparison) showUnsentMessage(userMessage, error, resend);
    else userMessage.remove();
    page.empty.hidden = page.messages.children.length > 0;
    showError(error, resend);
  }
  await refreshList().catch(() => {});
}

// Shows the error below the message. The same message can be sent again, or another one instead.
function showUnsentMessage(userMessage, error, resend) {
  const view = addAnswer();
  view.resend = resend;
  view.finish("failed", error.message);
  for (const element of [userMessage, view.element]) element.dataset.unsent = "";
  scrollToEnd();
}

function removeUnsentMessage() {
  for (const element of page.messages.querySelectorAll("[data-unsent]")) element.remove();
}

async function streamAnswer(text, clientMessageId, userMessage) {
  const view = addAnswer();
  const retry = () => runOrShowError(() => replaceFrom(userMessage, text));
  const events = postForEvents(
    "/api/get_chat_response_stream",
    { conversation_id: state.conversationId, message: text, profile: page.profile.value || null, client_message_id: clientMessageId },
    startRun(),
  );
  try {
    await applyEvents(events, view, { retry, userMessage });
  } catch (error) {
    view.element.remove();
    throw error;
  }
  if (view.status === "running" && view.traceId) await followToEnd(view, retry);
}

// Resumes a run as often as its stream ends before the run does.
async function followToEnd(view, retry) {
  try {
    let isConnected = true;
    while (isConnected && view.status === "running") {
      isConnected = await applyEvents(resumeRun(view.traceId, view.lastEventId, startRun(view.traceId)), view, { retry });
    }
  } catch (error) {
    showError(error, () => runOrShowError(() => followToEnd(view, retry)));
  }
}

async function compareAnswers(text, userMessage) {
  const signal = startRun();
  const onStarted = (event) => {
    state.isComparing = true;
    userMessage.dataset.message = event.message_id;
    adoptRun(event.conversation_id);
  };
  setBusy(true);
  try {
    await streamComparison(
      { conversation_id: state.conversationId, message: text, profile_a: page.profile.value || null, profile_b: page.profileB.value || null },
      { signal, answerOptions: ANSWER_OPTIONS, onStarted },
    );
  } finally {
    setBusy(false);
    state.run = null;
    state.isComparing = false;
  }
}

// Shows the events of a stream until it ends. Returns false if the connection broke before.
async function applyEvents(events, view, { retry = null, userMessage = null } = {}) {
  const { run } = state;
  setBusy(true);
  try {
    for await (const event of events) {
      view.lastEventId = event.id;
      if (event.type === "started") {
        if (userMessage) userMessage.dataset.message = event.message_id;
        adoptRun(event.conversation_id, event.trace_id);
      }
      const hasEnded = view.applyEvent(event);
      scrollToEnd();
      if (event.type === "error") showError(new ApiError(event.code, event.message, event.status), retry);
      if (hasEnded) {
        forgetRun(event.conversation_id ?? state.conversationId);
        loadAnsweringSteps(view);
      }
    }
    return true;
  } catch (error) {
    if (error.name === "AbortError" || (view.traceId && error.code === "NETWORK_ERROR")) return false;
    throw error;
  } finally {
    if (state.run === run) {
      state.run = null;
      setBusy(false);
    }
  }
}

// The trace names the steps that answered; it is complete when the run ends.
async function loadAnsweringSteps(view) {
  if (!view.traceId) return;
  const trace = await getJson(`/api/trace/${view.traceId}`).catch(() => null);
  const answers = (trace?.model_calls ?? []).filter((call) => call.purpose === "answer" && call.answered_by);
  if (trace) view.showAnsweringSteps(answers.map((call) => call.answered_by));
}

// A stored answer has no reason of its own; the trace of its run has.
async function loadFailure(view) {
  if (!view.traceId) return;
  const trace = await getJson(`/api/trace/${view.traceId}`).catch(() => null);
  if (trace?.error) view.showFailure(trace.error.message);
}

// ── The run that the page follows ──

// Makes a run the one that the page follows, and returns the signal that detaches the page from it.
function startRun(traceId = null) {
  const abortController = new AbortController();
  state.run = { abortController, traceId };
  return abortController.signal;
}

function detachFromRun() {
  state.run?.abortController.abort();
  state.run = null;
  setBusy(false);
}

// Notes the run's id and its conversation, which the server may have created for this message.
function adoptRun(conversationId, traceId = null) {
  const { run } = state;
  const mustCancel = run?.isStopRequested && !run.traceId;
  if (run) run.traceId = traceId ?? run.traceId;
  if (mustCancel) queueMicrotask(cancelRun);
  if (traceId) localStorage.setItem(runKey(conversationId), traceId);
  if (state.conversationId === conversationId) return;
  state.conversationId = conversationId;
  history.replaceState({ id: conversationId }, "", `?c=${conversationId}`);
  showTitle();
  showConversationButtons(true);
  loadTitle(conversationId).catch(() => {});
}

async function loadTitle(conversationId) {
  const { title } = await loadConversation(conversationId);
  if (state.conversationId === conversationId) showTitle(title);
  await refreshList();
}

const runKey = (conversationId) => `mockllm-run-${conversationId}`;
const getStoredRun = (conversationId) => localStorage.getItem(runKey(conversationId));
const forgetRun = (conversationId) => localStorage.removeItem(runKey(conversationId));

async function cancelRun() {
  if (!state.run?.traceId && !state.isComparing) {
    // The run has no id yet; `adoptRun` cancels it.
    if (state.run) state.run.isStopRequested = true;
    return;
  }
  try {
    await postJson("/api/cancel_stream", { conversation_id: state.conversationId });
  } catch (error) {
    // CONFLICT: the run has ended before.
    if (error.code !== "CONFLICT") showError(error);
  }
}

// ── The message box ──

const MAX_TEXT_BOX_PX = 220;

function setBusy(isBusy) {
  page.stop.hidden = !isBusy;
  page.send.hidden = isBusy;
  page.composer.setAttribute("aria-busy", String(isBusy));
}

function setText(text) {
  page.textBox.value = text;
  resizeTextBox();
}

function resizeTextBox() {
  page.textBox.style.height = "auto";
  page.textBox.style.height = `${Math.min(page.textBox.scrollHeight + 2, MAX_TEXT_BOX_PX)}px`;
}

page.stop.addEventListener("click", cancelRun);
page.textBox.addEventListener("input", resizeTextBox);
page.textBox.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    page.composer.requestSubmit();
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !page.stop.hidden && event.target !== page.search) cancelRun();
});
page.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  if (state.run) return;
  if (state.editedMessage) runOrShowError(() => replaceFrom(state.editedMessage, page.textBox.value));
  else sendMessage(page.textBox.value);
});

resizeTextBox();
runOrShowError(openFromUrl);
