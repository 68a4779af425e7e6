/* Keeps what is typed into a form of the admin until the server has saved it. A copy in the browser's
   storage, by page and user, is offered after a login, a restart or a crash. A save is held back while
   the user is logged out or the server does not answer. The form has the field `kept_form`. */
"use strict";

(() => {
  const PREFIX = "mockllm:typed:";
  const MAX_AGE_MS = 7 * 24 * 3600 * 1000;
  const KEEP_DELAY_MS = 400;
  const RETRY_MS = 3000;
  const MAX_ANSWER_MS = 10000;
  // While the user types, the session is asked for again after this time.
  const SESSION_AGE_MS = 15000;
  // A second click on Save within this time is part of a double click.
  const DOUBLE_CLICK_MS = 2000;
  const TOKEN = "csrfmiddlewaretoken";
  const OWN_FIELDS = [TOKEN, "kept_form", "restore_kept"];
  // Posted again, but no part of the row: the time at which the page was opened.
  const OPENED_AT = "seen_at";

  /* ── Storage: {user, paths, at, base, fields} of a form by its id; {at, saved: path} once it is saved ── */

  function readEntries() {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    const entries = keys.map((key) => ({ ...JSON.parse(localStorage.getItem(key)), key }));
    const [fresh, old] = [true, false].map((isFresh) => entries.filter(({ at }) => Date.now() - at < MAX_AGE_MS === isFresh));
    old.forEach(({ key }) => localStorage.removeItem(key));
    return fresh.sort((one, other) => other.at - one.at);
  }

  const readEntry = (id) => readEntries().find(({ key }) => key === PREFIX + id);

  /* Stores an entry; the oldest others make room for it. */
  function writeEntry(key, entry) {
    for (;;) {
      try {
        localStorage.setItem(key, JSON.stringify(entry));
        return;
      } catch {
        const oldest = readEntries().filter((other) => other.key !== key).at(-1);
        if (!oldest) return;
        localStorage.removeItem(oldest.key);
      }
    }
  }

  /* Holds a lock with the entry's key while this page is open, so that other tabs do not offer what is
     typed here. Browsers have locks on HTTPS and on this machine only. */
  function holdLock(key) {
    let release;
    const isLeft = new Promise((resolve) => { release = resolve; });
    navigator.locks?.request(key, { mode: "shared" }, () => isLeft);
    return release;
  }

  const readLocks = async () => new Set((await navigator.locks?.query())?.held.map(({ name }) => name));

  /* The server names each saved form in a cookie, with the path of the saved row. */
  function noteSaves() {
    for (const [, id, page] of document.cookie.matchAll(/(?:^|; )saved-([a-z0-9]+)=([^;]*)/g)) {
      writeEntry(PREFIX + id, { at: Date.now(), saved: decodeURIComponent(page.replaceAll('"', "")) });
      document.cookie = `saved-${id}=; path=/admin/; max-age=0; samesite=lax`;
    }
  }

  /* ── Fields ── */

  const isSecret = (field) => ["password", "file"].includes(field.type) || field.autocomplete?.endsWith("-password");

  /* Returns the [name, value] pairs that the form would post, without passwords and files. */
  function readFields(form) {
    const elements = [...form.elements].filter((element) => element.name);
    // A choice between two lists is selected only when the form is submitted.
    const chosen = elements.filter((element) => element.matches("select[multiple][id$='_to']"));
    const offered = elements.filter((element) => element.matches("select[multiple][id$='_from']"));
    const hidden = new Set([...elements.filter(isSecret), ...chosen, ...offered].map(({ name }) => name));
    OWN_FIELDS.forEach((name) => hidden.add(name));
    const fields = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !hidden.has(name));
    return [...fields, ...chosen.flatMap(({ name, options }) => [...options].map(({ value }) => [name, value]))];
  }

  const textOf = (fields) => JSON.stringify(fields.filter(([name]) => name !== OPENED_AT).map(([name, value]) => [name, value.replaceAll("\r\n", "\n")]));

  function hash(text) {
    let sum = text.length;
    for (let index = 0; index < text.length; index += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(index)) | 0;
    return sum;
  }

  /* ── Notes ── */

  function createElement(tag, className, text, onClick) {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    if (onClick) element.addEventListener("click", onClick);
    if (tag === "button") element.type = "button";
    return element;
  }

  const formatTime = (ms) => new Date(ms).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

  /* ── Session: whether a save would arrive ── */

  /* Returns a function that asks the server whether the user of the form is logged in, shows a banner
     until this is so, and resolves to true if it is. */
  function createSessionCheck({ user, session: url, login }) {
    const loginLink = createElement("a", "sc-link", "Log in in another tab");
    Object.assign(loginLink, { href: login, target: "_blank", rel: "noopener" });
    const banner = createElement("div", "", "");
    banner.setAttribute("role", "alert");
    let [isHeld, isGone, pending, retryTimer, askedAt] = [false, false, null, 0, Date.now()];

    function show(tone, ...parts) {
      const text = parts.map((part) => part.textContent ?? part).join("");
      // Screen readers would read the same text again.
      if (banner.isConnected && banner.textContent === text) return;
      banner.className = `sc-note sc-note-${tone} sc-held`;
      banner.replaceChildren(...parts);
      const buttons = document.getElementById("submit-row");
      if (buttons) buttons.before(banner);
      else (document.querySelector("main") ?? document.body).append(banner);
    }

    async function fetchSession() {
      try {
        const response = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(MAX_ANSWER_MS) });
        return response.ok ? await response.json() : null;
      } catch {
        return null;
      }
    }

    /* A login replaces the token that a post must have. */
    function renewTokens(token) {
      document.querySelectorAll(`input[name=${TOKEN}]`).forEach((input) => { input.value = token; });
      document.querySelectorAll("[hx-headers*=X-CSRFToken]").forEach((element) => element.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": token })));
    }

    async function ask() {
      const answer = await fetchSession();
      askedAt = Date.now();
      if (isGone) return false;
      const wasHeld = isHeld;
      isHeld = String(answer?.user) !== user;
      if (!answer) show("bad", "The server does not answer. Do not leave this page, and go on when it answers.");
      else if (answer.user === null) show("bad", "You have been logged out. ", loginLink, ", then go on here.");
      else if (isHeld) show("bad", "Somebody else is logged in now. ", loginLink, " as before, then go on here.");
      clearTimeout(retryTimer);
      if (isHeld) retryTimer = setTimeout(check, RETRY_MS);
      else renewTokens(answer.csrf_token);
      if (wasHeld && !isHeld) {
        show("good", "You are logged in, and the server answers. You can go on.");
        document.dispatchEvent(new CustomEvent("session:back"));
      }
      return !isHeld;
    }

    function check() {
      pending ??= ask().finally(() => { pending = null; });
      return pending;
    }

    const checkOldAnswer = () => { if (isHeld || Date.now() - askedAt > SESSION_AGE_MS) check(); };

    document.addEventListener("visibilitychange", () => { if (!document.hidden) checkOldAnswer(); });
    document.addEventListener("htmx:sendError", check);
    document.addEventListener("htmx:responseError", check);
    document.addEventListener("htmx:beforeSwap", (event) => {
      // After the session's end the response is the login page.
      if (!event.detail.xhr.responseURL.includes(login)) return;
      event.detail.shouldSwap = false;
      check();
    });
    addEventListener("pagehide", () => { isGone = true; });
    addEventListener("pageshow", () => { isGone = false; });
    return { check, checkOldAnswer, hideGoodNews: () => { if (!isHeld) banner.remove(); } };
  }

  /* ── The form ── */

  function keepForm(input) {
    const { form } = input;
    const { user } = input.dataset;
    const page = location.pathname;
    const isAnswer = Boolean(input.value);
    const posted = isAnswer ? readEntry(input.value) : undefined;
    // Shown again after a refused save, or restored.
    const shown = posted?.paths?.includes(page) ? posted : undefined;
    const id = shown ? input.value : Date.now().toString(36) + Math.random().toString(36).slice(2, 12);
    const key = PREFIX + id;
    const paths = new Set([page, ...(shown?.paths ?? [])]);
    const session = createSessionCheck(input.dataset);
    let baseline = textOf(readFields(form));
    const base = shown?.base ?? hash(baseline);
    let [isDirty, isLeaving, isPassing, keepTimer] = [Boolean(shown), false, false, 0];
    let releaseLock = holdLock(key);

    function keep() {
      clearTimeout(keepTimer);
      const fields = readFields(form);
      isDirty = Boolean(shown) || textOf(fields) !== baseline;
      if (isDirty) writeEntry(key, { user, paths: [...paths], at: Date.now(), base, fields });
      else localStorage.removeItem(key);
    }

    function keepSoon() {
      clearTimeout(keepTimer);
      keepTimer = setTimeout(() => {
        keep();
        if (isDirty) session.checkOldAnswer();
      }, KEEP_DELAY_MS);
    }

    /* Posts what was typed, so that the server shows it in this page again, with all of its rows. */
    async function restore(entry) {
      if (!(await session.check())) return;
      writeEntry(entry.key, { ...entry, isOlder: entry.base !== base });
      const post = document.createElement("form");
      Object.assign(post, { method: "post", action: location.pathname + location.search, hidden: true });
      const token = [TOKEN, form.elements[TOKEN].value];
      for (const [name, value] of [...entry.fields, token, ["kept_form", entry.key.slice(PREFIX.length)], ["restore_kept", "1"]]) {
        post.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
      }
      document.body.append(post);
      isLeaving = true;
      post.submit();
    }

    function createNote(tone, text) {
      const note = createElement("div", `sc-note sc-note-${tone}`, "");
      note.id = "typed";
      note.setAttribute("role", "status");
      note.append(createElement("p", "", text));
      (document.querySelector("#content-main, .sc-page") ?? form).prepend(note);
      return note;
    }

    async function offerTyped() {
      const locks = await readLocks();
      const entry = readEntries().find((one) => one.user === user && one.key !== key && !locks.has(one.key) && one.paths?.includes(page) && textOf(one.fields) !== baseline);
      if (!entry) return;
      const older = entry.base === base ? "" : " What is stored has changed since then: compare before you save.";
      const note = createNote("warn", `What you typed here on ${formatTime(entry.at)} was not saved.${older}`);
      const buttons = createElement("div", "sc-buttons", "");
      buttons.append(
        createElement("button", "sc-button sc-primary", "Restore what you typed", () => restore(entry)),
        createElement("button", "sc-button", "Discard it", () => { localStorage.removeItem(entry.key); note.remove(); offerTyped(); }),
      );
      note.append(buttons);
    }

    function noteRestored() {
      const secrets = [...form.elements].some(isSecret) ? " Passwords and files were not kept." : "";
      const older = shown.isOlder ? " What is stored has changed since then: compare before you save." : "";
      createNote("warn", `This is what you typed. It is not saved yet.${secrets}${older}`);
    }

    async function submit(event) {
      const { submitter } = event;
      if (isPassing) {
        isPassing = false;
        return;
      }
      event.preventDefault();
      event.stopImmediatePropagation();
      if (isLeaving) return;
      // A form that opens in another tab saves nothing, but needs the session.
      if (!submitter?.formTarget) {
        const target = submitter?.getAttribute("formaction") || form.getAttribute("action") || page;
        paths.add(new URL(target, location.href).pathname);
        keep();
        isLeaving = true;
      }
      const isHeld = !(await session.check());
      if (isLeaving) setTimeout(() => { isLeaving = false; }, isHeld ? 0 : DOUBLE_CLICK_MS);
      if (isHeld) return;
      isPassing = true;
      form.requestSubmit(submitter);
    }

    input.value = id;
    // Read when Back leads here.
    history.replaceState({ ...history.state, keptForm: id }, "");
    // The browser would fill in the fields after Back, but not add the rows.
    form.autocomplete = "off";
    form.addEventListener("submit", submit, true);
    for (const name of ["input", "change", "click", "keyup", "scenario:changed"]) form.addEventListener(name, keepSoon);
    form.addEventListener("input", session.hideGoodNews);
    // htmx loads the fields of a row when it is opened.
    form.addEventListener("htmx:load", () => { if (!isDirty) baseline = textOf(readFields(form)); });
    addEventListener("beforeunload", (event) => {
      if (isLeaving) return;
      keep();
      if (isDirty && !("quiet" in input.dataset)) event.preventDefault();
    });
    addEventListener("pagehide", () => {
      if (!isLeaving) keep();
      releaseLock();
    });
    addEventListener("pageshow", ({ persisted }) => {
      if (!persisted) return;
      releaseLock = holdLock(key);
      noteSaves();
      const saved = readEntry(id)?.saved;
      if (saved !== undefined) location.replace(saved || page);
    });
    if ("restored" in input.dataset && shown) noteRestored();
    // The answer to a post shows what was posted, such as a file; nothing else is offered there.
    else if (!isAnswer) offerTyped();
  }

  noteSaves();
  addEventListener("load", () => {
    const input = document.querySelector("input[name=kept_form]");
    if (!input) return;
    // Back to a form that is saved already, such as one that added a row.
    const saved = [history.state?.keptForm, input.value].map((id) => id && readEntry(id)?.saved).find(Boolean);
    if (saved && saved !== location.pathname) location.replace(saved);
    // After Alpine, which sets the values of fields when the page is loaded.
    else setTimeout(() => keepForm(input), 0);
  });
})();
