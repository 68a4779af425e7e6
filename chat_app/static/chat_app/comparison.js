// Shows two answers side by side under blind labels, and the vote on them.

import { AnswerView } from "./answer.js";
import { getJson, postForEvents, postJson, resumeRun } from "./api.js";
import { createElement } from "./dom.js";
import { runOrShowError, showError } from "./errors.js";
import { page, scrollToEnd } from "./page.js";

const BRANCHES = ["a", "b"];
const CHOICES = [["a", "A is better"], ["tie", "Tie"], ["b", "B is better"]];

// Sends a message to two profiles and shows both answers. `onStarted` gets the first event of each.
export async function streamComparison(body, { signal, answerOptions, onStarted }) {
  const pair = createPair();
  const views = {};
  let comparisonId = null;
  try {
    for await (const event of postForEvents("/api/ab/stream", body, signal)) {
      if (!event.branch) {
        comparisonId = event.comparison_id ?? comparisonId;
        if (event.type === "error") showError(event);
        continue;
      }
      if (!pair.isConnected) page.messages.append(pair);
      const view = (views[event.branch] ??= addToPair(pair, event.branch, new AnswerView({ ...answerOptions, label: labelOf(event.branch) })));
      if (event.type === "started") onStarted(event);
      view.applyEvent(event);
      // Events have ids of the comparison here; a run numbers its own events from 1.
      view.lastEventId += 1;
      scrollToEnd();
    }
    // The stream's time limit may end it before its runs end.
    if (!comparisonId) await Promise.all(Object.values(views).map((view) => followRun(view, signal)));
  } finally {
    for (const view of Object.values(views)) if (view.status === "running") view.finish("failed", "The connection was lost.");
  }
  if (comparisonId) showVote(pair, comparisonId, BRANCHES.every((branch) => views[branch]?.status === "complete"));
  else await showVoteIfPending(pair);
  scrollToEnd();
}

async function followRun(view, signal) {
  while (view.status === "running") {
    for await (const event of resumeRun(view.traceId, view.lastEventId, signal)) {
      view.applyEvent(event);
      view.lastEventId = event.id;
      scrollToEnd();
    }
  }
  if (view.messageId) view.element.dataset.message = view.messageId;
}

// Shows a stored answer of a comparison, beside the other one if that is shown already.
export function addStoredBranch(message, answerOptions) {
  let pair = page.messages.lastElementChild;
  const hasRoom = pair?.classList.contains("pair") && !pair.querySelector(`[data-branch="${message.branch}"]`);
  if (!hasRoom) {
    const newPair = createPair();
    page.messages.append(newPair);
    runOrShowError(() => showVoteIfPending(newPair));
    pair = newPair;
  }
  const view = AnswerView.fromMessage(message, { ...answerOptions, label: labelOf(message.branch) });
  view.element.dataset.message = message.message_id;
  addToPair(pair, message.branch, view);
}

const createPair = () => createElement("section", { class: "pair", "aria-label": "Two answers" });

// Adds a view to its pair, A before B, and returns it.
function addToPair(pair, branch, view) {
  view.element.dataset.branch = branch;
  if (branch === BRANCHES[0]) pair.prepend(view.element);
  else pair.append(view.element);
  return view;
}

async function showVoteIfPending(pair) {
  const { comparisons } = await getJson("/api/ab/pending");
  const messageIds = [...pair.querySelectorAll("[data-message]")].map((element) => element.dataset.message);
  const pending = comparisons.find((comparison) => messageIds.includes(comparison.message_id_a) || messageIds.includes(comparison.message_id_b));
  if (pending) showVote(pair, pending.comparison_id, true);
}

function showVote(pair, comparisonId, canVote) {
  const bar = createElement("div", { class: "vote", role: "group", "aria-label": "Which answer is better?" });
  if (canVote) {
    for (const [preference, text] of CHOICES) {
      const button = createElement("button", { type: "button", "data-vote": preference }, text);
      button.addEventListener("click", () => runOrShowError(() => sendVote(pair, bar, comparisonId, preference)));
      bar.append(button);
    }
    bar.append(createElement("small", { class: "faint" }, "Voting reveals the profiles and counts in the ", createElement("a", { href: "/chat/leaderboard/" }, "leaderboard"), "."));
  } else {
    bar.append(createElement("span", { class: "faint" }, "One answer failed, so there is nothing to vote on."));
  }
  pair.append(bar);
}

async function sendVote(pair, bar, comparisonId, preference) {
  const vote = await postJson("/api/ab/vote", { comparison_id: comparisonId, preference });
  for (const branch of BRANCHES) {
    const heading = pair.querySelector(`[data-branch="${branch}"] .branch`);
    if (heading && vote.profiles) heading.textContent = `${labelOf(branch)}: ${vote.profiles[branch]}`;
  }
  const text = vote.preference === "tie" ? "You called it a tie." : `You preferred ${vote.preference.toUpperCase()}.`;
  bar.replaceChildren(createElement("span", { class: "tag good" }, text), createElement("a", { href: "/chat/leaderboard/" }, "Leaderboard"));
}

const labelOf = (branch) => `Answer ${branch.toUpperCase()}`;
