/* Lint while one writes: a moment after a change the form is sent to be looked at, not saved, and
   the notes above it say what came of it. The line beside the buttons says how many there are. */
"use strict";

(() => {
  const WAIT_MS = 500;
  const form = document.querySelector("form[data-check]");
  const notes = document.getElementById("notes");
  if (!form || !notes) return;
  const told = document.getElementById("told");
  const line = document.createElement("a");
  let waiting = 0;
  let asked = null;

  line.id = "checked";
  line.href = "#notes";
  line.setAttribute("role", "status");
  const buttons = [...document.querySelectorAll("#submit-row button")].at(-1)?.parentElement;
  (buttons ?? form).append(line);

  function say(text, tone = "") {
    // The same words again would be read aloud again.
    if (line.textContent !== text) line.textContent = text;
    line.title = text;
    line.dataset.tone = tone;
  }

  /* What is above the field that has the focus may grow; the field stays where it is. */
  function show(html) {
    const field = form.contains(document.activeElement) ? document.activeElement : null;
    const before = field?.getBoundingClientRect().top;
    notes.innerHTML = html;
    told?.classList.add("sc-past");
    mark();
    const moved = field ? field.getBoundingClientRect().top - before : 0;
    if (moved) scroller(field).scrollBy({ top: moved, behavior: "instant" });
  }

  /* Errors stand beside their fields too. Those that the page came with go: all was looked at. */
  function mark() {
    form.querySelectorAll(".sc-wrong > .sc-error, .sc-step .sc-bad").forEach((one) => one.remove());
    form.querySelectorAll(".sc-wrong").forEach((cell) => cell.classList.remove("sc-wrong"));
    for (const link of notes.querySelectorAll(".sc-note-bad a")) {
      const cell = document.getElementById(link.hash.slice(1))?.closest(".sc-cell");
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
    const first = note.querySelector("li").textContent;
    const count = note.querySelectorAll("li").length;
    return count > 1 ? `${first} (and ${count - 1} more)` : first;
  }

  async function check() {
    asked?.abort();
    const mine = (asked = new AbortController());
    try {
      const sent = { method: "POST", body: new FormData(form), signal: mine.signal };
      const answer = await fetch(form.dataset.check, sent);
      if (!answer.ok || answer.redirected) throw new Error(`the server answered ${answer.status}`);
      const html = await answer.text();
      if (mine.signal.aborted) return;
      show(html);
      const note = notes.querySelector(".sc-note");
      const bad = note?.classList.contains("sc-note-bad");
      say(note ? sentence(note) : "Nothing suspicious", note ? (bad ? "bad" : "warn") : "good");
    } catch (error) {
      if (error.name !== "AbortError") say("This could not be checked just now; saving checks it.", "warn");
    }
  }

  form.addEventListener("scenario:changed", () => {
    clearTimeout(waiting);
    waiting = setTimeout(check, WAIT_MS);
  });
})();
