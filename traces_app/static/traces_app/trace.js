// The page of one trace: reloads while the run goes on. Makes a scenario of the run, which the page
// shows as JSON or saves as a draft in the admin.

const RELOAD_MS = 1500;

const byId = (id) => document.getElementById(id);
const trace = byId("trace");
const banner = byId("error-banner");

if (trace.dataset.running === "true") setTimeout(() => location.reload(), RELOAD_MS);

function showError(message) {
  byId("error-text").textContent = message;
  banner.hidden = false;
}

// Returns the name and the JSON text of the scenario that replays the run. If there is none, shows
// the reason and returns null.
async function makeScenario() {
  banner.hidden = true;
  let response, body;
  try {
    response = await fetch(`/api/trace/${trace.dataset.id}/scenario`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value,
      },
      body: "{}",
    });
    body = await response.json();
  } catch {
    showError("The server cannot be reached.");
    return null;
  }
  if (!response.ok) {
    showError(body.message);
    return null;
  }
  return { name: body.name, text: JSON.stringify(body, null, 2) };
}

async function showScenario() {
  const scenario = await makeScenario();
  if (!scenario) return;
  byId("document").textContent = scenario.text;
  byId("copy").dataset.copy = scenario.text;
  const download = byId("download");
  download.href = URL.createObjectURL(new Blob([scenario.text], { type: "application/json" }));
  download.download = `${scenario.name}.json`;
  byId("scenario").hidden = false;
  byId("scenario").scrollIntoView({ behavior: "smooth" });
}

async function saveAsDraft(event) {
  event.preventDefault();
  const form = event.target;
  const button = form.querySelector("button");
  button.disabled = true;
  const scenario = await makeScenario();
  button.disabled = false;
  if (!scenario) return;
  form.elements.document.value = scenario.text;
  form.submit();
}

byId("make").addEventListener("click", showScenario);
byId("draft")?.addEventListener("submit", saveAsDraft);
