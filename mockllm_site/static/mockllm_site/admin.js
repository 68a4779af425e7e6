/* On every page of the admin: Ctrl+S saves, J and K move in lists, and screen readers get a name for each icon button and
   choice, and none for decorative icons. */
"use strict";

(() => {
  const ICON_NAMES = { theater_comedy: "mockllm", more_horiz: "More", more_vert: "More", search: "Search" };
  const ICON_SELECTOR = ".material-symbols-outlined:not([aria-hidden])";

  function addAccessibleNames() {
    // An icon's text is the name of its glyph.
    for (const icon of document.querySelectorAll(ICON_SELECTOR)) {
      if (!icon.matches("button, a, [x-on\\:click], [tabindex]")) icon.setAttribute("aria-hidden", "true");
    }
    // A button with only an icon has no other name.
    for (const control of document.querySelectorAll("a:not([aria-label], [title]), button:not([aria-label], [title])")) {
      const icon = control.querySelector(".material-symbols-outlined");
      if (icon && control.textContent.trim() === icon.textContent.trim()) {
        control.setAttribute("aria-label", ICON_NAMES[icon.textContent.trim()] ?? icon.textContent.trim().replaceAll("_", " "));
      }
    }
    // A link without an address acts as a button; the keydown listener below makes Enter press it.
    for (const link of document.querySelectorAll("a[x-on\\:click]:not([href], [role])")) {
      link.setAttribute("role", "button");
      link.tabIndex = 0;
    }
    // Select2 names its box by the chosen value alone, which may be empty.
    for (const box of document.querySelectorAll(".select2-selection[role=combobox]:not([aria-labelledby*=' '])")) {
      const label = box.closest(".select2").parentElement.querySelector("select").labels[0];
      if (!label) continue;
      label.id ||= `label_${label.htmlFor}`;
      box.setAttribute("aria-labelledby", `${label.id} ${box.getAttribute("aria-labelledby")}`);
      box.querySelector("[role=textbox]")?.setAttribute("aria-labelledby", label.id);
    }
    for (const icon of document.querySelectorAll(".help-tooltip[aria-label]:not([role])")) {
      icon.setAttribute("role", "img");
    }
    for (const box of document.querySelectorAll(".sc-scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
    for (const nav of document.querySelectorAll("nav:not([aria-label])")) {
      nav.setAttribute("aria-label", nav.id === "nav-sidebar-inner" ? "Admin" : "More");
    }
    document.querySelectorAll(".simplebar-content-wrapper").forEach((box, index) => {
      // The theme makes it a focusable region, so screen readers announce its name.
      box.setAttribute("aria-label", box.closest("#nav-sidebar-inner") ? "Navigation" : `Table ${index + 1}`);
    });
  }

  // Names the cells of lists by their columns, for cards on narrow screens.
  function addCellLabels() {
    for (const table of document.querySelectorAll("#result_list:not([data-labelled])")) {
      const labels = [...table.tHead.rows[0].cells].map((cell) => (cell.querySelector("a") ?? cell).textContent.trim());
      if (table.querySelector("#action-toggle")) labels[0] = "Select";
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, index) => (cell.dataset.label = labels[index]));
      table.dataset.labelled = "";
    }
  }

  function addNames() {
    addCellLabels();
    addAccessibleNames();
  }

  addEventListener("load", () => {
    addNames();
    new MutationObserver(addNames).observe(document.body, { childList: true, subtree: true });
    document.addEventListener("toggle", addNames, true);
    // The theme hides the page until its scripts run, so the browser could not focus the field.
    if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();
  });

  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("a[role=button]:not([href])")) return;
    event.preventDefault();
    event.target.click();
  });

  const LIST_ROWS = "#result_list tbody tr, table[data-rows] tbody tr";
  const TEXT_FIELDS = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true], [role=dialog] *";

  // Focuses the link of the next row (J) or the previous one (K); Enter then opens it.
  addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches(TEXT_FIELDS)) return;
    const links = [...document.querySelectorAll(LIST_ROWS)].map((row) => row.querySelector("a[href]")).filter(Boolean);
    const current = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
    const next = links[current === -1 ? (step === 1 ? 0 : links.length - 1) : current + step];
    if (!next) return;
    event.preventDefault();
    next.focus({ focusVisible: true });
  });

  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const save = document.querySelector("#submit-row [name=_save], [name=_save], .sc-at-hand [name=keep]");
    if (!save) return;
    event.preventDefault();
    save.click();
  });
})();
