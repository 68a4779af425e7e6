// The like and dislike buttons of an answer, and the comment on them.

import { postJson } from "./api.js";
import { createElement } from "./dom.js";
import { runOrShowError } from "./errors.js";

const CHOICES = [["like", "Like", "A good answer"], ["dislike", "Dislike", "A bad answer"]];

export function createFeedbackButtons(view) {
  return CHOICES.map(([value, text, title]) => {
    const button = createElement("button", { class: "plain", type: "button", title, "aria-pressed": String(view.feedback === value), "data-feedback": value }, text);
    button.addEventListener("click", () => runOrShowError(() => toggleFeedback(view, value)));
    return button;
  });
}

async function toggleFeedback(view, value) {
  const feedback = view.feedback === value ? null : value;
  const saved = await postJson("/api/feedback", { message_id: view.messageId, feedback });
  view.feedback = saved.feedback;
  updateCommentForm(view);
  for (const button of view.footer.querySelectorAll("[data-feedback]")) {
    button.setAttribute("aria-pressed", String(button.dataset.feedback === saved.feedback));
  }
}

// Shows an empty comment form, or none if the answer has no feedback.
function updateCommentForm(view) {
  view.footer.querySelector(".comment")?.remove();
  if (!view.feedback) return;
  const text = createElement("input", { type: "text", maxlength: "10000", "aria-label": "Comment on your feedback", placeholder: "Comment (optional)" });
  const form = createElement("form", { class: "comment", autocomplete: "off" }, text, createElement("button", { type: "submit" }, "Save comment"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    runOrShowError(async () => {
      await postJson("/api/feedback", { message_id: view.messageId, feedback: view.feedback, comment: text.value.trim() });
      form.replaceChildren(createElement("small", { role: "status" }, text.value.trim() ? "Comment saved." : "No comment."));
    });
  });
  view.footer.append(form);
}
