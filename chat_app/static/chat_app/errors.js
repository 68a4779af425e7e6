// The error banner of the playground.

import { byId, page, state } from "./page.js";

// The mock begins its message so if no step matches a request.
const UNMATCHED = "no_scenario_matched";

// Shows an error. `retryAction` runs on a click on Retry, if the error is one that a retry may fix.
export function showError(error, retryAction = null) {
  if (error.name === "AbortError") return;
  page.errorText.textContent = error.message;
  page.errorBanner.dataset.code = error.code ?? "";
  page.errorBanner.hidden = false;
  page.stepForm.hidden = !(error.message.includes(UNMATCHED) && state.conversationId);
  page.stepForm.elements.session.value = `chat-${state.conversationId}`;
  state.retryAction = retryAction;
  page.retry.hidden = !(retryAction && error.isRetryable);
}

export function clearError() {
  page.errorBanner.hidden = true;
  state.retryAction = null;
}

// Runs an action. If it fails, shows the error and offers to run it again.
export async function runOrShowError(action) {
  try {
    await action();
  } catch (error) {
    showError(error, () => runOrShowError(action));
  }
}

page.retry.addEventListener("click", () => {
  const { retryAction } = state;
  clearError();
  retryAction?.();
});
byId("error-close").addEventListener("click", clearError);
