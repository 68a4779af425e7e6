/* The scenario page: rows that are added, opened, moved and deleted. Everything it does to the
   form is in fields of the form; without a change of theirs nothing is saved. */
"use strict";

(() => {
  const steps = document.querySelector(".sc-steps");
  if (!steps) return;
  const form = steps.closest("form");
  const list = steps.querySelector(".sc-list");
  const blank = document.getElementById("new-step");
  const total = form.elements[`${steps.dataset.prefix}-TOTAL_FORMS`];
  let changed = false;

  const rows = () => [...list.querySelectorAll(":scope > .sc-step")];
  const details = (row) => row.querySelector(":scope > details");
  const isDeleted = (row) => row.querySelector(".sc-trash input")?.checked;

  function renumber() {
    let number = 0;
    rows().forEach((row, index) => {
      row.querySelector("input[name$='-order']").value = index + 1;
      row.querySelector(".sc-number").textContent = isDeleted(row) ? "" : (number += 1);
    });
  }

  function touch(row) {
    changed = true;
    row?.classList.add("sc-changed");
    form.dispatchEvent(new CustomEvent("scenario:changed"));
  }

  function add() {
    const number = Number(total.value);
    const holder = document.createElement("div");
    holder.innerHTML = blank.innerHTML.replaceAll("__prefix__", String(number));
    const row = holder.firstElementChild;
    list.append(row);
    total.value = number + 1;
    details(row).open = true;
    renumber();
    touch(row);
    row.dispatchEvent(
      new CustomEvent("formset:added", { bubbles: true, detail: { formsetName: steps.dataset.prefix } })
    );
    row.querySelector(".sc-body textarea").focus({ preventScroll: true });
    row.scrollIntoView({ block: "start", behavior: "smooth" });
    return row;
  }

  /* A step with some of its columns filled in; its answer is left to be written. */
  function addFilled(columns, before) {
    const row = add();
    document.getElementById(before).before(row);
    renumber();
    for (const [column, value] of Object.entries(columns)) {
      const field = form.elements[`${row.id}-${column}`];
      if (field.type === "checkbox") field.checked = value;
      else field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    show(form.elements[`${row.id}-answer_text`]);
  }

  function show(field) {
    for (let up = field.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    field.scrollIntoView({ block: "center" });
    field.focus({ preventScroll: true });
    field.select?.();
  }

  function move(row, by) {
    const all = rows();
    const other = all[all.indexOf(row) + by];
    if (!other) return;
    if (by < 0) other.before(row);
    else other.after(row);
    renumber();
    touch(row);
  }

  /* What a finding offers: to put a row before another, a value into a field, to add a step, or to
     show the field to correct. */
  function mend({ target, value, before, was, does }) {
    if (does === "add") return value ? addFilled(JSON.parse(value), before) : add();
    if (before) {
      const row = document.getElementById(target);
      document.getElementById(before).before(row);
      renumber();
      return touch(row);
    }
    const field = form.elements[target];
    if (field && does === "show") return show(field);
    if (field) {
      field.value = was ? field.value.replaceAll(was, value) : value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      return field.dispatchEvent(new Event("change", { bubbles: true }));
    }
    // Its fields come when the row is opened.
    const row = document.getElementById(target.slice(0, target.lastIndexOf("-")));
    row.addEventListener("htmx:load", () => mend({ target, value, before, was, does }), { once: true });
    details(row).open = true;
  }

  list.addEventListener("end", (event) => {
    if (event.oldIndex === event.newIndex) return;
    renumber();
    touch(event.item);
  });
  list.addEventListener("htmx:responseError", ({ detail }) => {
    detail.target.textContent = "The fields could not be loaded. Close and open the step to try again.";
  });
  list.addEventListener("click", (event) => {
    if (event.target.closest(".sc-handle")) event.preventDefault();
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const summary = event.target.closest(".sc-step > details > summary");
    if (!by || !event.altKey || !summary || !steps.querySelector(".sc-handle")) return;
    event.preventDefault();
    move(summary.closest(".sc-step"), by);
    summary.focus();
  });
  form.addEventListener("input", (event) => touch(event.target.closest(".sc-step")));
  form.addEventListener("change", (event) => {
    const row = event.target.closest(".sc-step");
    if (!event.target.closest(".sc-trash")) return;
    row.classList.toggle("sc-deleted", event.target.checked);
    if (event.target.checked) details(row).open = false;
    renumber();
  });
  steps.querySelector(".sc-add")?.addEventListener("click", () => add());

  /* A line of the summary leads to its row or field. */
  document.querySelector(".sc-page").addEventListener("click", (event) => {
    const button = event.target.closest(".sc-mend");
    if (button) return mend(button.dataset);
    if (!event.target.closest("#told a, #notes a")) return;
    const target = document.getElementById(event.target.closest("a")?.hash.slice(1) || "-");
    if (!target) return;
    event.preventDefault();
    for (let up = target.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    let field = target;
    if (target.matches(".sc-step")) field = target.querySelector(".sc-wrong :is(input, select, textarea)");
    // Tool calls are edited as lines in place of it.
    else if (target.hidden) field = target.parentElement.querySelector(".sc-calls :is(input, textarea, button)");
    if (target.matches(".sc-step")) details(target).open = true;
    (field || target).scrollIntoView({ block: "center" });
    (field || target).focus({ preventScroll: true });
  });

  // What is tried in another tab is not saved by it.
  form.addEventListener("submit", ({ submitter }) => { if (!submitter?.formTarget) changed = false; });
  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  list.querySelectorAll(".sc-trash input:checked").forEach((box) => box.closest(".sc-step").classList.add("sc-deleted"));
})();
