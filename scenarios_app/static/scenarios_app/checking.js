/* Lints the scenario while the user edits it. A moment after a change htmx sends the form to be
   checked, not saved, and swaps the notes above the form. This script shows their errors beside the
   fields, and hides the errors of fields that the user has not edited yet. */
"use strict";

(() => {
  const form = document.querySelector("form[hx-post]");
  const notes = document.getElementById("notes");
  if (!form || !notes) return;
  // The errors of a save that was refused.
  const saveErrors = document.getElementById("told");
  const editedCells = new WeakSet();
  const statusLink = document.createElement("a");
  const MAX_CHECKED_CHARS = 50_000;
  let focusPosition = null;
  let isSwapHeldBack = false;

  const status = document.createElement("span");
  statusLink.id = "checked";
  statusLink.href = "#notes";
  statusLink.hidden = true;
  status.setAttribute("role", "status");
  status.append(statusLink);
  const buttonRow = [...document.querySelectorAll("#submit-row button")].at(-1)?.parentElement;
  (buttonRow ?? form).append(status);

  function showStatus(text, tone = "") {
    // Screen readers would read the same text again.
    if (statusLink.textContent !== text) statusLink.textContent = text;
    statusLink.hidden = !text;
    statusLink.title = text;
    statusLink.dataset.tone = tone;
  }

  const cellOf = (link) => document.getElementById(decodeURIComponent(link.hash.slice(1)) || "-")?.closest(".sc-cell");

  /* True for a field of a stored step that the user has not changed: the server has its value. */
  function isStored(name) {
    const [, rowId, key] = name.match(/^(steps-\d+)-(.+)$/) ?? [];
    const row = rowId && !["id", "order", "DELETE"].includes(key) && document.getElementById(rowId);
    return Boolean(row) && !row.matches(".sc-changed, .sc-fresh");
  }

  /* A refused save counts as an edit of all cells. */
  function isUnedited(cell) {
    if (!cell || saveErrors || editedCells.has(cell)) return false;
    return Boolean(cell.closest(".sc-fresh")) || ("new" in form.dataset && !cell.closest(".sc-step"));
  }

  /* Removes the errors of unedited cells and returns the name of the first such cell, or "". */
  function removeUneditedErrors() {
    const lines = [...notes.querySelectorAll(".sc-note-bad li")];
    const unedited = lines.filter((line) => isUnedited(cellOf(line.querySelector("a"))));
    unedited.forEach((line) => line.remove());
    if (unedited.length && unedited.length === lines.length) notes.querySelector(".sc-note-bad").remove();
    return unedited.length ? unedited[0].querySelector("b")?.textContent.replace(/:\s*$/, "") ?? "a field" : "";
  }

  /* Replaces the errors beside the fields with those in the notes. */
  function markFields() {
    form.querySelectorAll(".sc-wrong > .sc-error, .sc-step .sc-bad").forEach((element) => element.remove());
    form.querySelectorAll(".sc-wrong").forEach((cell) => cell.classList.remove("sc-wrong"));
    for (const link of notes.querySelectorAll(".sc-note-bad a")) {
      const cell = cellOf(link);
      if (!cell) continue;
      const error = document.createElement("p");
      error.className = "sc-error";
      error.textContent = link.lastChild.textContent.trim();
      cell.classList.add("sc-wrong");
      cell.insertBefore(error, cell.querySelector(":scope > .sc-help"));
    }
    for (const row of form.querySelectorAll(".sc-step")) {
      row.classList.toggle("sc-has-errors", Boolean(row.querySelector(".sc-wrong")));
    }
  }

  function findScroller(element) {
    for (let parent = element.parentElement; parent; parent = parent.parentElement) {
      const canScroll = ["auto", "scroll"].includes(getComputedStyle(parent).overflowY);
      if (canScroll && parent.scrollHeight > parent.clientHeight) return parent;
    }
    return document.scrollingElement;
  }

  function summarize(note) {
    const first = note.querySelector("li > a").textContent;
    const count = note.querySelectorAll(":scope > ul > li, :scope > details > ul > li").length;
    return count > 1 ? `${first} (and ${count - 1} more)` : first;
  }

  // `kept_forms.js` says that the user is logged out or the server does not answer.
  const showUnreachable = () => showStatus("Not checked", "warn");

  function showResult(uneditedField) {
    const note = notes.querySelector(".sc-note");
    if (note) showStatus(summarize(note), note.classList.contains("sc-note-bad") ? "bad" : "warn");
    else if (uneditedField) showStatus(`Still to fill in: ${uneditedField}`);
    else showStatus("No warnings", "good");
  }

  form.addEventListener("input", (event) => {
    const cell = event.target.closest(".sc-cell");
    if (cell) editedCells.add(cell);
  });
  /* Sends only what was changed. Long texts wait for the save: each check would read all of them. */
  form.addEventListener("htmx:configRequest", (event) => {
    const { target, detail } = event;
    if (target !== form) return;
    // htmx would use the address of the button that was clicked last.
    detail.path = form.getAttribute("hx-post");
    const fields = [...detail.formData].filter(([name]) => !isStored(name));
    [...detail.formData.keys()].filter(isStored).forEach((name) => detail.formData.delete(name));
    if (fields.reduce((sum, [, value]) => sum + value.length, 0) <= MAX_CHECKED_CHARS) return;
    event.preventDefault();
    showStatus("Long text: it is checked when you save", "warn");
  });
  notes.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // New notes would move the rows while the user drags one.
    isSwapHeldBack = Boolean(form.querySelector(".sortable-chosen"));
    if (isSwapHeldBack) {
      detail.shouldSwap = false;
      return;
    }
    // After a session's end the response is the login page.
    const isLogin = detail.xhr.responseURL.includes("/login/");
    detail.shouldSwap = detail.xhr.status === 200 && !isLogin;
    if (isLogin) showUnreachable();
    else if (!detail.shouldSwap) showStatus("This could not be checked just now; saving checks it.", "warn");
    const field = form.contains(document.activeElement) ? document.activeElement : null;
    focusPosition = field && { field, top: field.getBoundingClientRect().top };
  });
  /* Scrolls by what the notes grew, so the field with the focus stays where it was. */
  notes.addEventListener("htmx:afterSwap", () => {
    saveErrors?.classList.add("sc-past");
    const uneditedField = removeUneditedErrors();
    markFields();
    showResult(uneditedField);
    const movedPx = focusPosition ? focusPosition.field.getBoundingClientRect().top - focusPosition.top : 0;
    if (movedPx) findScroller(focusPosition.field).scrollBy({ top: movedPx, behavior: "instant" });
  });
  form.addEventListener("htmx:sendError", showUnreachable);
  document.addEventListener("session:back", () => form.dispatchEvent(new CustomEvent("scenario:changed")));
  form.addEventListener("unchoose", () => {
    if (isSwapHeldBack) form.dispatchEvent(new CustomEvent("scenario:changed"));
    isSwapHeldBack = false;
  });
})();
