/* Lint while one writes. A moment after a change the form is sent to be looked at, not saved (htmx
   does that), and the notes above it say what came of it; here that is taken to the fields. What
   nobody has touched yet is not wrong: it is only not written yet. */
"use strict";

(() => {
  const form = document.querySelector("form[hx-post]");
  const notes = document.getElementById("notes");
  if (!form || !notes) return;
  const told = document.getElementById("told");
  const touched = new WeakSet();
  const line = document.createElement("a");
  let place = null;
  let heldBack = false;

  const status = document.createElement("span");
  line.id = "checked";
  line.href = "#notes";
  line.hidden = true;
  status.setAttribute("role", "status");
  status.append(line);
  const buttons = [...document.querySelectorAll("#submit-row button")].at(-1)?.parentElement;
  (buttons ?? form).append(status);

  function say(text, tone = "") {
    // The same words again would be read aloud again.
    if (line.textContent !== text) line.textContent = text;
    line.hidden = !text;
    line.title = text;
    line.dataset.tone = tone;
  }

  const cellOf = (link) => document.getElementById(link.hash.slice(1) || "-")?.closest(".sc-cell");

  /* After a save that was refused, all of it has been tried. */
  function isUntouched(cell) {
    if (!cell || told || touched.has(cell)) return false;
    return Boolean(cell.closest(".sc-fresh")) || ("new" in form.dataset && !cell.closest(".sc-step"));
  }

  /* Takes out what is only not written yet, and returns the place of the first of it, or "". */
  function sift() {
    const lines = [...notes.querySelectorAll(".sc-note-bad li")];
    const waiting = lines.filter((one) => isUntouched(cellOf(one.querySelector("a"))));
    waiting.forEach((one) => one.remove());
    if (waiting.length && waiting.length === lines.length) notes.querySelector(".sc-note-bad").remove();
    return waiting.length ? waiting[0].querySelector("b")?.textContent.replace(/:\s*$/, "") ?? "a field" : "";
  }

  /* Errors stand beside their fields too. Those that the page came with go: all was looked at. */
  function mark() {
    form.querySelectorAll(".sc-wrong > .sc-error, .sc-step .sc-bad").forEach((one) => one.remove());
    form.querySelectorAll(".sc-wrong").forEach((cell) => cell.classList.remove("sc-wrong"));
    for (const link of notes.querySelectorAll(".sc-note-bad a")) {
      const cell = cellOf(link);
      if (!cell) continue;
      const said = document.createElement("p");
      said.className = "sc-error";
      said.textContent = link.lastChild.textContent.trim();
      cell.classList.add("sc-wrong");
      cell.insertBefore(said, cell.querySelector(":scope > .sc-help"));
    }
    for (const row of form.querySelectorAll(".sc-step")) {
      row.classList.toggle("sc-has-errors", Boolean(row.querySelector(".sc-wrong")));
    }
  }

  function scroller(element) {
    for (let up = element.parentElement; up; up = up.parentElement) {
      const grows = ["auto", "scroll"].includes(getComputedStyle(up).overflowY);
      if (grows && up.scrollHeight > up.clientHeight) return up;
    }
    return document.scrollingElement;
  }

  function sentence(note) {
    const first = note.querySelector("li > a").textContent;
    const count = note.querySelectorAll("li").length;
    return count > 1 ? `${first} (and ${count - 1} more)` : first;
  }

  const fail = () => say("This could not be checked just now; saving checks it.", "warn");

  function conclude(waiting) {
    const note = notes.querySelector(".sc-note");
    if (note) say(sentence(note), note.classList.contains("sc-note-bad") ? "bad" : "warn");
    else if (waiting) say(`Still to fill in: ${waiting}`);
    else say("No warnings", "good");
  }

  form.addEventListener("input", (event) => {
    const cell = event.target.closest(".sc-cell");
    if (cell) touched.add(cell);
  });
  // The button clicked last may lead elsewhere; what is checked is not sent there.
  form.addEventListener("htmx:configRequest", ({ target, detail }) => {
    if (target === form) detail.path = form.getAttribute("hx-post");
  });
  notes.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // Notes above a row that is held would push it and all places for it away from the hand.
    heldBack = Boolean(form.querySelector(".sortable-chosen"));
    if (heldBack) {
      detail.shouldSwap = false;
      return;
    }
    // A login page is no answer.
    detail.shouldSwap = detail.xhr.status === 200 && !detail.xhr.responseURL.includes("/login/");
    if (!detail.shouldSwap) fail();
    const field = form.contains(document.activeElement) ? document.activeElement : null;
    place = field && { field, top: field.getBoundingClientRect().top };
  });
  /* What is above the field that has the focus may grow; the field stays where it is. */
  notes.addEventListener("htmx:afterSwap", () => {
    told?.classList.add("sc-past");
    const waiting = sift();
    mark();
    conclude(waiting);
    const moved = place ? place.field.getBoundingClientRect().top - place.top : 0;
    if (moved) scroller(place.field).scrollBy({ top: moved, behavior: "instant" });
  });
  form.addEventListener("htmx:sendError", fail);
  form.addEventListener("unchoose", () => {
    if (heldBack) form.dispatchEvent(new CustomEvent("scenario:changed"));
    heldBack = false;
  });
})();
