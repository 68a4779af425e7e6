// The page of one trace: looks again while the run goes on, and makes a scenario of it, which is
// shown as JSON or becomes a draft in the admin.

const trace = document.getElementById("trace");
const banner = document.getElementById("error-banner");
const LOOK_AGAIN_MS = 1500;

if (trace.dataset.running === "true") setTimeout(() => location.reload(), LOOK_AGAIN_MS);

function complain(message) {
  document.getElementById("error-text").textContent = message;
  banner.hidden = false;
}

/* The document that plays the run again, by name and text; null where there is none, which is said then. */
async function scenario() {
  banner.hidden = true;
  const response = await fetch(`/api/trace/${trace.dataset.id}/scenario`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value,
    },
    body: "{}",
  });
  const answer = await response.json();
  if (!response.ok) {
    complain(answer.message);
    return null;
  }
  return { name: answer.name, text: JSON.stringify(answer, null, 2) };
}

async function show() {
  const made = await scenario();
  if (!made) return;
  const { name, text } = made;
  document.getElementById("document").textContent = text;
  const download = document.getElementById("download");
  download.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  download.download = `${name}.json`;
  document.getElementById("scenario").hidden = false;
  document.getElementById("scenario").scrollIntoView({ behavior: "smooth" });
}

const fail = () => complain("The server cannot be reached.");

document.getElementById("make").addEventListener("click", () => show().catch(fail));
document.getElementById("draft")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  const made = await scenario().catch(fail);
  button.disabled = false;
  if (!made) return;
  form.elements.document.value = made.text;
  form.submit();
});
document.getElementById("copy").addEventListener("click", async ({ target }) => {
  await navigator.clipboard.writeText(document.getElementById("document").textContent);
  target.textContent = "Copied";
});
