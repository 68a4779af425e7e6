// The reference page of an API: sends the requests of its forms and shows the responses below them.

const token = document.getElementById("token");

function readCsrfToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
}

/* Returns the URL and the fetch options of a form's request, without its empty parameters. */
function buildRequest(form) {
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
  const csrf = readCsrfToken();
  if (csrf) headers.set("X-CSRFToken", csrf);
  const body = form.querySelector("[data-body]")?.value;
  if (body !== undefined) headers.set("Content-Type", "application/json");
  return [`${path}${query.size ? `?${query}` : ""}`, { method: form.dataset.method, headers, body }];
}

/* Indents JSON and leaves other text as it is. */
function formatIfJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function showResponse(box, status, text) {
  const statusLine = document.createElement("p");
  statusLine.className = "faint";
  statusLine.textContent = status;
  const body = document.createElement("pre");
  body.tabIndex = 0;
  body.textContent = text;
  box.replaceChildren(statusLine, ...(text ? [body] : []));
}

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const box = form.nextElementSibling;
    const [url, options] = buildRequest(form);
    showResponse(box, "Waiting for the answer …", "");
    try {
      const response = await fetch(url, options);
      showResponse(box, `${response.status} ${response.statusText} · ${options.method} ${url}`, formatIfJson(await response.text()));
    } catch {
      showResponse(box, "The server cannot be reached.", "");
    }
  });
}

/* Opens the operation or schema that the URL's fragment names. */
function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
