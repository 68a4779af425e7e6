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
    row.querySelector(".sc-body select, .sc-body input").focus({ preventScroll: true });
    row.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  /* The fields of a row that came without them. */
  async function fill(row) {
    const url = details(row).dataset.fields;
    if (!url) return;
    delete details(row).dataset.fields;
    const body = row.querySelector(".sc-body");
    body.textContent = "…";
    try {
      const answer = await fetch(url, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) throw new Error(`the server answered ${answer.status}`);
      body.innerHTML = await answer.text();
      body.dispatchEvent(new CustomEvent("steps:filled", { bubbles: true }));
    } catch (error) {
      body.textContent = `The fields could not be loaded: ${error.message}. Close and open the step to try again.`;
      details(row).dataset.fields = url;
    }
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

  list.addEventListener("end", (event) => {
    if (event.oldIndex === event.newIndex) return;
    renumber();
    touch(event.item);
  });
  list.addEventListener("toggle", (event) => {
    const row = event.target.parentElement;
    if (event.target.open && row.classList.contains("sc-step")) fill(row);
  }, true);
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
  steps.querySelector(".sc-add")?.addEventListener("click", add);

  /* A line of the summary leads to its row or field. */
  document.querySelector(".sc-page").addEventListener("click", (event) => {
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

  form.addEventListener("submit", () => { changed = false; });
  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  list.querySelectorAll(".sc-trash input:checked").forEach((box) => box.closest(".sc-step").classList.add("sc-deleted"));
})();
