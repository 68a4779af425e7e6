// Two answers side by side under blind labels, and the vote on them.

import { AnswerView } from "./answer.js";
import { get, post, resume, send } from "./api.js";
import { make } from "./dom.js";

const BRANCHES = ["a", "b"];

export class Comparing {
  constructor({ complain, guarded }) {
    this.complain = complain;
    this.guarded = guarded;
  }

  // Asks for both answers and shows them as they come.
  async run(body, { signal, log, options, started, down }) {
    const box = make("section", { class: "pair", "aria-label": "Two answers" });
    const views = {};
    let comparison = null;
    try {
      for await (const event of send("/api/ab/stream", body, signal)) {
        if (!event.branch) {
          comparison = event.comparison_id ?? comparison;
          if (event.type === "error") this.complain(event);
          continue;
        }
        if (!views[event.branch]) {
          if (!box.isConnected) log.append(box);
          views[event.branch] = this.column(box, event.branch, options);
        }
        if (event.type === "started") started(event);
        views[event.branch].take(event);
        views[event.branch].last += 1;
        down();
      }
      // A stream may end before its runs do.
      if (!comparison) await Promise.all(Object.values(views).map((view) => this.rest(view, signal, down)));
    } finally {
      for (const view of Object.values(views)) if (view.status === "running") view.end("failed", "the connection was lost");
    }
    if (comparison) this.ballot(box, comparison, BRANCHES.every((branch) => views[branch]?.status === "complete"));
    else await this.pending(box);
    down();
  }

  // What a run still says, by its own numbers: an event of a branch is one of its run, in order.
  async rest(view, signal, down) {
    while (view.status === "running") {
      for await (const event of resume(view.traceId, view.last, signal)) {
        view.take(event);
        view.last = event.id;
        down();
      }
    }
    if (view.messageId) view.element.dataset.message = view.messageId;
  }

  // An answer of a comparison that is stored: beside its sibling, if that is there.
  addStored(message, log, options) {
    let box = log.lastElementChild;
    const free = box?.classList.contains("pair") && !box.querySelector(`[data-branch="${message.branch}"]`);
    if (!free) {
      box = make("section", { class: "pair", "aria-label": "Two answers" });
      log.append(box);
      this.guarded(() => this.pending(box));
    }
    const view = AnswerView.of(message, { ...options, label: label(message.branch) });
    view.element.dataset.branch = message.branch;
    view.element.dataset.message = message.message_id;
    place(box, view);
  }

  column(box, branch, options) {
    const view = new AnswerView({ ...options, label: label(branch) });
    view.element.dataset.branch = branch;
    view.last = 0;
    place(box, view);
    return view;
  }

  // Whether a stored comparison still waits for its vote.
  async pending(box) {
    const { comparisons } = await get("/api/ab/pending");
    const shown = [...box.querySelectorAll("[data-message]")].map((element) => element.dataset.message);
    const found = comparisons.find((one) => shown.includes(one.message_id_a) || shown.includes(one.message_id_b));
    if (found) this.ballot(box, found.comparison_id, true);
  }

  ballot(box, comparison, open) {
    box.dataset.comparison = comparison;
    const bar = make("div", { class: "vote", role: "group", "aria-label": "Which answer is better?" });
    if (!open) {
      bar.append(make("span", { class: "faint" }, "One answer failed, so there is nothing to vote on."));
    } else {
      const choices = [["a", "A is better"], ["tie", "Tie"], ["b", "B is better"]];
      bar.append(make("small", { class: "faint" }, "Voting reveals the profiles and counts in the ", make("a", { href: "/chat/leaderboard/" }, "leaderboard"), "."));
      bar.prepend(...choices.map(([preference, text]) => {
        const button = make("button", { type: "button", "data-vote": preference }, text);
        button.addEventListener("click", () => this.guarded(() => this.vote(box, bar, comparison, preference)));
        return button;
      }));
    }
    box.append(bar);
  }

  async vote(box, bar, comparison, preference) {
    const kept = await post("/api/ab/vote", { comparison_id: comparison, preference });
    for (const branch of BRANCHES) {
      const head = box.querySelector(`[data-branch="${branch}"] .branch`);
      if (head && kept.profiles) head.textContent = `${label(branch)}: ${kept.profiles[branch]}`;
    }
    const said = kept.preference === "tie" ? "You called it a tie." : `You preferred ${kept.preference.toUpperCase()}.`;
    bar.replaceChildren(make("span", { class: "tag good" }, said), make("a", { href: "/chat/leaderboard/" }, "Leaderboard"));
  }
}

// A stands before B, whichever came first.
function place(box, view) {
  if (view.element.dataset.branch === BRANCHES[0]) box.prepend(view.element);
  else box.append(view.element);
}

const label = (branch) => `Answer ${branch.toUpperCase()}`;
