// A mockllm server in test mode as a child process that ends with this one.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";

const READY = "mockllm ready on ";
const START_MS = 60_000;
const STOP_MS = 15_000;
const COMMANDS = [join(".venv", "bin", "mockllm"), join(".venv", "Scripts", "mockllm.exe")];
// Variables of the tests that would change the server.
const NOT_INHERITED = new Set([
  "ALLOWED_HOSTS",
  "DATABASE_URL",
  "DEBUG",
  "DJANGO_SETTINGS_MODULE",
  "NODE_OPTIONS",
  "REDIS_URL",
  "SECRET_KEY",
]);

/** Return the command that starts mockllm, as a list of words. */
export function findCommand(root, command = process.env.MOCKLLM_COMMAND) {
  if (command) return Array.isArray(command) ? command : [command];
  for (let folder = resolve(root); ; folder = dirname(folder)) {
    const path = COMMANDS.map((name) => join(folder, name)).find(existsSync);
    if (path) return [path];
    if (dirname(folder) === folder) return ["mockllm"];
  }
}

/** Start a server; return its `url` and `stop()`. Rejects with the server's own error line. */
export async function startServer(root, options = {}) {
  const [program, ...words] = findCommand(root, options.command);
  const folder = mkdtempSync(join(tmpdir(), "mockllm-"));
  const paths = (options.scenarios ?? []).map((path) => resolve(root, path));
  const fixtures = (options.fixtures ?? []).flatMap((name) => ["--fixture", name]);
  const parent = ["--parent", String(process.pid)];
  const watched = paths.length ? ["--watch"] : [];
  // As the servers of pytest's plugin: without an extra of the package.
  const light = options.light === false ? [] : ["--light"];
  const child = spawn(
    program,
    [
      ...[...words, "serve", "--port", "0", "--no-catch-all"],
      ...[...light, ...parent, ...watched, ...fixtures],
    ],
    {
      // An empty folder, so that no `.env` of the project is read.
      cwd: folder,
      env: environment(paths, options.settings),
      stdio: ["ignore", "pipe", "pipe"],
      // Ctrl-C goes only to vitest, which stops the server after the last verdict.
      detached: true,
    },
  );
  const ended = new Promise((end) => child.once("close", end));
  const stop = async () => {
    const killing = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    if (child.exitCode === null && child.signalCode === null && child.pid) {
      child.kill("SIGTERM");
      await ended;
    }
    clearTimeout(killing);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { url: await readUrl(child, program, options.timeout ?? START_MS), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function environment(paths, settings = {}) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !NOT_INHERITED.has(name) && !name.startsWith("MOCKLLM_"),
  );
  return {
    ...Object.fromEntries(inherited),
    MOCKLLM_ENV: "test",
    MOCKLLM_DRAIN_SECONDS: "1",
    ...(paths.length ? { MOCKLLM_SCENARIOS: paths.join(delimiter) } : {}),
    ...settings,
  };
}

function readUrl(child, program, timeout) {
  return new Promise((resolveUrl, fail) => {
    let output = "";
    let errors = "";
    const late = setTimeout(
      () => fail(new Error(`mockllm: the server was not ready after ${timeout} ms`)),
      timeout,
    );
    const settle = (end, value) => {
      clearTimeout(late);
      end(value);
    };
    child.stderr.on("data", (data) => (errors = (errors + data).slice(-10_000)));
    child.stdout.on("data", (data) => {
      output += data;
      const lines = output.split("\n").slice(0, -1);
      const line = lines.find((one) => one.startsWith(READY));
      if (line) settle(resolveUrl, line.slice(READY.length).trim());
    });
    child.once("error", (error) => {
      const reason = error.code === "ENOENT" ? "no such command" : error.message;
      const hint = "install mockllm in a .venv of the project or on the PATH, or name it: ";
      const text = `mockllm: ${program}: ${reason}; ${hint}mockllm({ command }) or MOCKLLM_COMMAND`;
      settle(fail, new Error(text));
    });
    child.once("close", () => {
      const lines = errors.split("\n").filter((line) => line.trim());
      settle(fail, new Error(lines.at(-1) ?? "mockllm: the server ended before it was ready"));
    });
  });
}
