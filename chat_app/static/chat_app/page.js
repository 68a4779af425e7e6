// The elements of the playground and its state, which the other scripts of the page share.

export const byId = (id) => document.getElementById(id);

export const page = {
  conversations: byId("conversations"), messages: byId("messages"), empty: byId("empty"), title: byId("title"),
  composer: byId("composer"), textBox: byId("message"), send: byId("send"), stop: byId("stop"),
  profile: byId("profile"), profileB: byId("profile-b"), compare: byId("compare"),
  errorBanner: byId("error-banner"), errorText: byId("error-text"), retry: byId("error-retry"), stepForm: byId("error-step"),
  editingNote: byId("editing"), search: byId("search"), resultCount: byId("found"),
};

// `run` is the run that the page follows: {abortController, traceId, isStopRequested}. `isComparing`
// is true once a comparison has started. `retryAction` is what the button Retry does.
export const state = { conversationId: null, run: null, isComparing: false, retryAction: null, editedMessage: null };

// Further up than this, the user reads older messages.
const NEAR_END_PX = 160;

// Scrolls to the last message, unless the user reads older ones during a run.
export function scrollToEnd() {
  const box = page.messages.parentElement;
  const isNearEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
  if (isNearEnd || !state.run) box.scrollTop = box.scrollHeight;
}
