/* The scenario page: adds, opens, moves and deletes the rows of steps. All changes are in fields of
   the form, so nothing is saved before the form is. */
"use strict";

(() => {
  const steps = document.querySelector(".sc-steps");
  if (!steps) return;
  const form = steps.closest("form");
  const list = steps.querySelector(".sc-list");
  const rowTemplate = document.getElementById("new-step");
  const totalField = form.elements[`${steps.dataset.prefix}-TOTAL_FORMS`];

  const listRows = () => [...list.querySelectorAll(":scope > .sc-step")];
  const detailsOf = (row) => row.querySelector(":scope > details");
  /* The id of the row with a field, by the id or the name of the field. */
  const rowOf = (field) => field.replace(/^id_/, "").slice(0, field.replace(/^id_/, "").lastIndexOf("-"));
  const isDeleted = (row) => row.querySelector(".sc-trash input")?.checked;

  function renumber() {
    let number = 0;
    listRows().forEach((row, index) => {
      row.querySelector("input[name$='-order']").value = index + 1;
      row.querySelector(".sc-number").textContent = isDeleted(row) ? "" : (number += 1);
    });
  }

  function markChanged(row) {
    row?.classList.add("sc-changed");
    form.dispatchEvent(new CustomEvent("scenario:changed"));
  }

  function addRow() {
    const number = Number(totalField.value);
    const holder = document.createElement("div");
    holder.innerHTML = rowTemplate.innerHTML.replaceAll("__prefix__", String(number));
    const row = holder.firstElementChild;
    list.append(row);
    totalField.value = number + 1;
    detailsOf(row).open = true;
    renumber();
    markChanged(row);
    row.dispatchEvent(
      new CustomEvent("formset:added", { bubbles: true, detail: { formsetName: steps.dataset.prefix } })
    );
    row.querySelector(".sc-body textarea").focus({ preventScroll: true });
    row.scrollIntoView({ block: "start", behavior: "smooth" });
    return row;
  }

  /* Adds a step before another one, fills in some fields, and shows its empty answer. */
  function addFilledRow(values, nextRowId) {
    const row = addRow();
    document.getElementById(nextRowId).before(row);
    renumber();
    for (const [name, value] of Object.entries(values)) {
      const field = form.elements[`${row.id}-${name}`];
      if (field.type === "checkbox") field.checked = value;
      else field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    showField(form.elements[`${row.id}-produce.text`]);
  }

  /* Opens all details around an element. */
  function openAround(element) {
    for (let parent = element.closest("details"); parent; parent = parent.parentElement.closest("details")) parent.open = true;
  }

  function showField(field) {
    openAround(field);
    field.scrollIntoView({ block: "center" });
    field.focus({ preventScroll: true });
    field.select?.();
  }

  function moveRow(row, offset) {
    const rows = listRows();
    const other = rows[rows.indexOf(row) + offset];
    if (!other) return;
    if (offset < 0) other.before(row);
    else other.after(row);
    renumber();
    markChanged(row);
  }

  /* Applies the fix of a finding, or of several with their targets in one text: adds a step, moves a row before another, or sets or shows a field. */
  function applyFix({ target, value, before, was, does }) {
    const targets = target.split(" ");
    if (targets.length > 1) return targets.forEach((one) => applyFix({ target: one, value, before, was, does }));
    if (does === "add") return value ? addFilledRow(JSON.parse(value), before) : addRow();
    if (before) {
      const row = document.getElementById(target);
      document.getElementById(before).before(row);
      renumber();
      return markChanged(row);
    }
    const field = form.elements[target];
    if (field && does === "show") return showField(field);
    if (field) {
      field.value = was ? field.value.replaceAll(was, value) : value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      return field.dispatchEvent(new Event("change", { bubbles: true }));
    }
    // htmx loads the fields of a row when it is opened.
    const row = document.getElementById(rowOf(target));
    row.addEventListener("htmx:load", () => applyFix({ target, value, before, was, does }), { once: true });
    detailsOf(row).open = true;
  }

  list.addEventListener("end", (event) => {
    if (event.oldIndex === event.newIndex) return;
    renumber();
    markChanged(event.item);
  });
  list.addEventListener("htmx:responseError", ({ detail }) => {
    detail.target.textContent = "The fields could not be loaded. Close and open the step to try again.";
  });
  list.addEventListener("click", (event) => {
    if (event.target.closest(".sc-handle")) event.preventDefault();
  });
  list.addEventListener("keydown", (event) => {
    const offset = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const summary = event.target.closest(".sc-step > details > summary");
    if (!offset || !event.altKey || !summary || !steps.querySelector(".sc-handle")) return;
    event.preventDefault();
    moveRow(summary.closest(".sc-step"), offset);
    summary.focus();
  });
  form.addEventListener("input", (event) => markChanged(event.target.closest(".sc-step")));
  form.addEventListener("change", (event) => {
    const row = event.target.closest(".sc-step");
    if (!event.target.closest(".sc-trash")) return;
    row.classList.toggle("sc-deleted", event.target.checked);
    if (event.target.checked) detailsOf(row).open = false;
    renumber();
  });
  steps.querySelector(".sc-add")?.addEventListener("click", () => addRow());

  /* A click on an error or warning applies its fix, or shows its row or field. */
  document.querySelector(".sc-page").addEventListener("click", (event) => {
    const button = event.target.closest(".sc-mend");
    if (button) return applyFix(button.dataset);
    if (!event.target.closest("#told a, #notes a")) return;
    const id = decodeURIComponent(event.target.closest("a")?.hash.slice(1) || "-");
    // The fields of a closed step may not be loaded; then its row is shown.
    const target = document.getElementById(id) ?? document.getElementById(rowOf(id));
    if (!target) return;
    event.preventDefault();
    openAround(target);
    let field = target;
    if (target.matches(".sc-step")) field = target.querySelector(".sc-wrong :is(input, select, textarea)");
    // tool_calls.js hides this field and shows lines.
    else if (target.hidden) field = target.parentElement.querySelector(".sc-calls :is(input, textarea, button)");
    if (target.matches(".sc-step")) detailsOf(target).open = true;
    (field || target).scrollIntoView({ block: "center" });
    (field || target).focus({ preventScroll: true });
  });

  list.querySelectorAll(".sc-trash input:checked").forEach((box) => box.closest(".sc-step").classList.add("sc-deleted"));
})();
