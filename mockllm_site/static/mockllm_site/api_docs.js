// The page of an API: its forms send their requests, and what comes back is shown below them.

const token = document.getElementById("token");

function csrfToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
}

/* The request that a form describes. A parameter that is left empty is not sent. */
function request(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const field of form.querySelectorAll("[data-place]")) {
    if (!field.value) continue;
    if (field.dataset.place === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    else if (field.dataset.place === "query") query.append(field.name, field.value);
    else headers.set(field.name, field.value);
  }
  if (token.value) headers.set("Authorization", `Bearer ${token.value}`);
  const csrf = csrfToken();
  if (csrf) headers.set("X-CSRFToken", csrf);
  const body = form.querySelector("[data-body]")?.value;
  if (body !== undefined) headers.set("Content-Type", "application/json");
  return [`${path}${query.size ? `?${query}` : ""}`, { method: form.dataset.method, headers, body }];
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function show(box, status, text) {
  const head = document.createElement("p");
  head.className = "faint";
  head.textContent = status;
  const body = document.createElement("pre");
  body.tabIndex = 0;
  body.textContent = text;
  box.replaceChildren(head, ...(text ? [body] : []));
}

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const box = form.nextElementSibling;
    const [url, options] = request(form);
    show(box, "Waiting for the answer …", "");
    try {
      const response = await fetch(url, options);
      show(box, `${response.status} ${response.statusText} · ${options.method} ${url}`, readable(await response.text()));
    } catch {
      show(box, "The server cannot be reached.", "");
    }
  });
}

/* A link to an operation or a schema opens it. */
function open() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", open);
open();
