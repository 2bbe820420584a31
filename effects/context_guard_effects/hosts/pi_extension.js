// context-guard's extension for Pi, written by `context-guard install pi` and removed by `context-guard uninstall pi`.
//
// It decides nothing. It tells a Python process what happened, as JSON lines over a pipe, and does what the replies say.
// Without that process Pi goes on unguarded, after one warning; `recall` then answers from the session itself.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";

const COMMAND = ["python3", "-P", "-m", "context_guard_effects.cli", "bridge"]; // install: the command

const KEY = "context-guard";
const PIN = "context-guard-pin";
const QUICK_MS = 2_000; // for what needs no judge
const SLACK_MS = 2_000; // over the judge's own budget
const STARTS = 3; // in a row without an answer, before it is given up
const PAGE_CHARS = 50_000;

export default function (pi) {
  let child, ctx, buffer = "", next = 0, failures = 0, warned = false, budgetMs = 8_000, lock, busy = 0;
  let sent = new Set(), classifiers, toldClassifiers = false;
  const waiting = new Map();
  const asked = new Map();

  // ── the pipe ──────────────────────────────────────────────────────────────────────────────────────────────────

  function start() {
    const started = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
    child = started;
    buffer = "";
    sent = new Set();
    toldClassifiers = false;
    let answered = false;
    started.stdout.setEncoding("utf8");
    started.stdout.on("data", (data) => {
      if (child !== started) return;
      buffer += data;
      for (let end = buffer.indexOf("\n"); end >= 0; end = buffer.indexOf("\n")) {
        const line = buffer.slice(0, end);
        buffer = buffer.slice(end + 1);
        answered = true;
        failures = 0;
        receive(line);
      }
    });
    const gone = () => {
      if (child !== started) return;
      child = undefined;
      for (const stop of asked.values()) stop.abort();
      if (!answered) failures += 1;
      for (const { fail } of waiting.values()) fail(new Error("its Python process has ended"));
      waiting.clear();
    };
    started.stdin.on("error", () => {});
    started.on("error", gone);
    started.on("exit", gone);
  }

  function receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (message.event === "status") show(message.status, message.working);
    else if (message.event === "notice") notify(message.text, "warning");
    else if (message.event === "classify") classify(message);
    else if (message.event === "give up") asked.get(message.call)?.abort();
    const found = waiting.get(message.id);
    if (!found) return;
    waiting.delete(message.id);
    found.done(message);
  }

  function send(type, fields, ms) {
    if (!child) {
      if (failures >= STARTS) return Promise.reject(new Error("its Python process does not start"));
      start();
    }
    const id = ++next;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new Error("its Python process does not answer"));
      }, ms);
      const settle = (how) => (value) => {
        clearTimeout(timer);
        how(value);
      };
      waiting.set(id, { done: settle(resolve), fail: settle(reject) });
      child.stdin.write(JSON.stringify({ id, type, ...fields }) + "\n");
    });
  }

  // The reply, or undefined when there is none: then nothing is done.
  async function call(type, fields = {}, ms = QUICK_MS) {
    try {
      let reply = await send(type, { ...fields, sync: sync() }, ms);
      if (reply.need === "entries") reply = await send(type, { ...fields, sync: sync(true) }, ms);
      if (reply.error !== undefined && type !== "recall") warn(reply.error);
      return reply.need === undefined && (reply.error === undefined || type === "recall") ? reply : undefined;
    } catch (error) {
      warn(error.message);
      return undefined;
    }
  }

  // Once Pi has written the session to its file, every entry is in there: path and leaf say it all.
  function sync(whole = false) {
    const session = ctx.sessionManager;
    const file = session.getSessionFile();
    const model = ctx.model;
    const found = {
      session: session.getSessionId(),
      cwd: session.getCwd(),
      leaf: session.getLeafId(),
      model: model && { provider: model.provider, id: model.id, api: model.api, cost: prices(model.cost) },
    };
    if (classifiers && !toldClassifiers) {
      found.classifiers = classifiers;
      toldClassifiers = true;
    }
    if (!whole && file && existsSync(file)) return { ...found, file };
    const entries = session.getEntries().filter((entry) => whole || !sent.has(entry.id));
    for (const entry of entries) sent.add(entry.id);
    return { ...found, entries };
  }

  function prices(cost) {
    const names = ["input", "output", "cacheRead", "cacheWrite"];
    return Object.fromEntries(names.filter((name) => Number.isFinite(cost?.[name])).map((name) => [name, cost[name]]));
  }

  // ── a judge that Pi has a log-in for: its key stays with Pi ────────────────────────────────────────────────────────

  // Whether there are any. Only of the provider that is asked for: a log-in may be a command that Pi has to run.
  async function findClassifiers(provider) {
    const registry = ctx.modelRegistry;
    if (typeof registry?.classify !== "function" || typeof registry.getAvailableOfType !== "function") return false;
    try {
      const found = await registry.getAvailableOfType("classifier", provider);
      classifiers = found.map(({ provider, id, contextWindow }) => ({ provider, id, contextWindow: contextWindow ?? 0 }));
      toldClassifiers = false;
      return classifiers.length > 0;
    } catch {
      return false;
    }
  }

  async function classify({ call: number, provider, id, request }) {
    const python = child, stop = new AbortController();
    asked.set(number, stop);
    let result;
    try {
      const registry = ctx.modelRegistry;
      const model = registry.findOfType("classifier", provider, id);
      if (!model) throw new Error(`Pi knows no classifier ${provider}/${id}`);
      const options = { signal: stop.signal, timeoutMs: budgetMs, maxRetries: 1 };
      const { answers, usage, model: name, stopReason, errorMessage } = await registry.classify(model, request, options);
      result = { answers, usage, model: name, stopReason, errorMessage };
    } catch (error) {
      result = { stopReason: "error", errorMessage: error.message };
    }
    if (asked.get(number) === stop) asked.delete(number);
    if (child === python) python?.stdin.write(JSON.stringify({ type: "classified", call: number, result }) + "\n");
  }

  // ── what the user sees ────────────────────────────────────────────────────────────────────────────────────────

  // A context that outlived its session throws; then there is nobody to show anything to.
  function withUi(act) {
    try {
      if (ctx?.hasUI) act(ctx.ui);
    } catch {}
  }

  function show(parts, working) {
    const colour = (ui, [tone, text]) => {
      try {
        return ui.theme.fg(tone, text);
      } catch {
        return text;
      }
    };
    withUi((ui) => {
      if (parts) ui.setStatus(KEY, parts.map((part) => colour(ui, part)).join(""));
      if (working !== undefined && busy > 0) ui.setWorkingMessage?.(working ?? undefined);
    });
  }

  const notify = (text, level) => withUi((ui) => ui.notify(text, level));

  function warn(text) {
    if (warned) return;
    warned = true;
    notify(`context-guard: ${text}. Pi goes on without it; /guard reload tries again.`, "warning");
    withUi((ui) => ui.setStatus(KEY, "🛡 guard unavailable"));
  }

  async function redraw() {
    const reply = await call("status");
    if (reply) show(reply.status);
  }

  // ── boundaries ────────────────────────────────────────────────────────────────────────────────────────────────

  async function boundary(phase, event, canWait) {
    const drafts = event.entries.map(({ type, targetId }) => ({ type, targetId }));
    busy += 1;
    const fields = { phase, outcome: event.outcome, drafts, canWait };
    const reply = await call("boundary", fields, budgetMs + SLACK_MS);
    busy -= 1;
    if (!reply || (reply.drafts.length === 0 && reply.dropped.length === 0)) return { reply };
    // An invalid draft would make Pi refuse all of them.
    const others = event.entries.filter((_, place) => !reply.dropped.includes(place));
    return { reply, result: { entries: [...others, ...reply.drafts] } };
  }

  let isLate = false;

  // Not in Pi's documented interface; where it is missing, edits wait for the next boundary.
  const canAppend = () =>
    typeof ctx.sessionManager.appendContextEdit === "function" &&
    typeof ctx.sessionManager.appendCustomEntry === "function";

  // Whether the drafts were appended: only to an idle session that is still where it was.
  function append(drafts, leaf) {
    const session = ctx.sessionManager;
    if (!canAppend() || !ctx.isIdle() || session.getLeafId() !== leaf) return false;
    for (const draft of drafts) {
      if (draft.type === "context_edit") session.appendContextEdit(draft.targetId, draft.replacement);
      else session.appendCustomEntry(draft.customType, draft.data);
    }
    return true;
  }

  async function settleLate() {
    const leaf = ctx.sessionManager.getLeafId();
    const reply = await call("late", {}, budgetMs + SLACK_MS);
    try {
      if (reply && reply.drafts.length > 0) append(reply.drafts, leaf);
      await redraw();
    } catch {} // the session was left meanwhile
  }

  let restoring = []; // drafts of /guard restore that wait for the next boundary

  function withRestored(event, result) {
    if (restoring.length === 0) return result;
    const entries = [...(result?.entries ?? event.entries), ...restoring];
    restoring = [];
    return { entries };
  }

  // ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  const on = (name, handle) =>
    pi.on(name, (event, found) => {
      ctx = found;
      return handle(event);
    });

  on("session_start", () => {
    takeLock();
    begin(); // not awaited: Pi starts without waiting for Python
  });

  async function begin() {
    let reply = await call("hello", {}, 30_000);
    if (reply?.askPi && (await findClassifiers(reply.askPi))) reply = await call("hello", {}, 30_000);
    if (!reply) return;
    budgetMs = reply.budgetMs;
    show(reply.status);
    for (const text of reply.warnings) notify(`context-guard: ${text}`, "warning");
  }

  on("turn_end", async (event) => {
    if (event.toolResults.length === 0) return;
    const { result } = await boundary("mid-run", event, false);
    return withRestored(event, result);
  });

  on("agent_before_settle", async (event) => {
    const { reply, result } = await boundary("run-end", event, ctx.hasUI && canAppend());
    isLate = reply?.late === true;
    return withRestored(event, result);
  });

  on("agent_settled", () => {
    if (isLate) settleLate();
    else redraw();
    isLate = false;
  });

  on("session_tree", () => void redraw());
  on("session_compact", () => void redraw());

  on("message_end", (event) => {
    const { message } = event;
    if (message.role === "assistant" && message.api === "anthropic-messages") {
      call("answered", { usage: message.usage ?? {} });
    }
  });

  on("before_provider_request", async ({ payload }) => {
    // Not awaited: Python looks ahead while the model thinks.
    if (ctx.model?.api !== "anthropic-messages" || !Array.isArray(payload?.messages)) return void redraw();
    const reply = await call("outgoing", { skeleton: skeleton(payload) });
    for (const { path, control } of reply?.changes ?? []) mark(payload, path, control);
  });

  on("session_shutdown", () => {
    const ended = child;
    child = undefined;
    for (const stop of asked.values()) stop.abort();
    for (const { fail } of waiting.values()) fail(new Error("Pi ends"));
    waiting.clear();
    warned = true;
    ended?.stdin.end();
    dropLock();
  });

  // ── breakpoints ───────────────────────────────────────────────────────────────────────────────────────────────

  // The request as marks see it: kinds, ids and marks; of a text only whether it is blank.
  function skeleton(payload) {
    const text = (value) => (value.trim() ? "x" : "");
    const block = (value) => {
      if (typeof value !== "object" || value === null) return value;
      const { type, tool_use_id, cache_control } = value;
      const found = { type, tool_use_id, cache_control };
      if (typeof value.text === "string") found.text = text(value.text);
      if (Array.isArray(value.content)) found.content = value.content.map(block);
      if (Array.isArray(value.source?.content)) found.source = { content: value.source.content.map(block) };
      return found;
    };
    const content = (value) => (typeof value === "string" ? text(value) : Array.isArray(value) ? value.map(block) : value);
    const { thread, cache_control } = payload;
    return {
      thread: thread && { type: thread.type },
      cache_control,
      tools: payload.tools?.map(block),
      system: content(payload.system),
      messages: payload.messages.map((message) => ({ role: message.role, content: content(message.content) })),
    };
  }

  function mark(payload, path, control) {
    const last = path[path.length - 1];
    const holder = path.slice(0, -1).reduce((node, key) => node[key], payload);
    if (control === "") delete holder[last].cache_control;
    else if (typeof holder[last] === "string") {
      holder[last] = [{ type: "text", text: holder[last], cache_control: JSON.parse(control) }];
    } else holder[last].cache_control = JSON.parse(control);
  }

  // ── recall ────────────────────────────────────────────────────────────────────────────────────────────────────

  const number = (description) => ({ type: "number", description });
  pi.registerTool({
    name: "recall",
    label: "Recall",
    description:
      "Get back the original of a tool output or exchange that a [context-guard] note replaced: whole, only the lines " +
      "that match a pattern, or a range of lines.",
    parameters: {
      type: "object",
      properties: {
        entryId: { type: "string", description: "The id from the [context-guard] note." },
        pattern: { type: "string", description: "Only lines that match this regular expression (RE2), numbered." },
        offset: number("First line, from 1; with a pattern, of those that match."),
        limit: number("Most lines."),
        column: number("First character, from 1, of the line at offset."),
      },
      required: ["entryId"],
    },
    annotations: { readOnlyHint: true },
    async execute(_id, { entryId, pattern, offset, limit, column }, _signal, _onUpdate, found) {
      ctx = found ?? ctx;
      const reply = await call("recall", { entryId, pattern, offset, limit, column }, 10_000);
      if (reply?.error !== undefined) throw new Error(reply.error);
      if (!reply) return { content: [{ type: "text", text: plainRecall(entryId, offset, limit) }], details: { entryId } };
      const images = reply.images.map(({ entryId: id, index }) => blocks(id)[index]).filter((image) => image?.type === "image");
      return { content: [{ type: "text", text: reply.text }, ...images], details: { entryId } };
    },
  });

  function blocks(entryId) {
    const content = ctx.sessionManager.getEntry(entryId)?.message?.content;
    return Array.isArray(content) ? content : typeof content === "string" ? [{ type: "text", text: content }] : [];
  }

  // Without Python: the entry as Pi has it, by lines.
  function plainRecall(entryId, offset, limit) {
    const texts = blocks(entryId).filter(({ type }) => type === "text");
    if (texts.length === 0) throw new Error(`No tool result or prompt with entry id ${entryId}.`);
    const lines = texts.map(({ text }) => text).join("\n").split("\n");
    const first = Math.max(1, Math.floor(offset ?? 1));
    const text = lines.slice(first - 1, limit >= 1 ? first - 1 + Math.floor(limit) : undefined).join("\n");
    const note = "[context-guard's Python process is not there, so a pattern has no effect.";
    return text.length <= PAGE_CHARS
      ? `${text}\n\n${note}]`
      : `${text.slice(0, PAGE_CHARS)}\n\n${note} Cut after ${PAGE_CHARS} characters; use offset and limit.]`;
  }

  // ── /guard ────────────────────────────────────────────────────────────────────────────────────────────────────

  pi.registerCommand("guard", {
    description: "Context guard: status, on, off, reload, report; why, restore, pin or unpin ENTRY",
    async handler(args, found) {
      ctx = found;
      if (args.trim() === "reload") {
        failures = 0;
        warned = false;
      }
      const reply = await call("command", { text: args }, budgetMs + SLACK_MS);
      if (!reply) return notify("context-guard: its Python process does not answer; try /guard reload.", "warning");
      for (const pin of reply.pins ?? []) pi.appendEntry(PIN, pin);
      if (reply.restore) restore(reply.restore);
      notify(reply.text, reply.level);
      if (reply.askPi) await begin();
      else for (const text of reply.warnings ?? []) notify(`context-guard: ${text}`, "warning");
      await redraw();
    },
  });

  // An edit with the original's own content takes back every edit before it.
  function restore(ids) {
    const drafts = ids.map((targetId) => {
      const entry = ctx.sessionManager.getEntry(targetId);
      const content = entry.type === "custom_message" ? entry.content : entry.message.content;
      return { type: "context_edit", targetId, replacement: { content } };
    });
    if (!append(drafts, ctx.sessionManager.getLeafId())) restoring.push(...drafts);
  }

  // ── the lock beside the session, which keeps `context-guard distill --write` away ─────────────────────────────────

  function takeLock() {
    dropLock();
    const file = ctx.sessionManager.getSessionFile();
    if (!file) return;
    try {
      const path = `${existsSync(file) ? realpathSync(file) : file}.context-guard.lock`;
      if (existsSync(path) && isAlive(Number(readFileSync(path, "utf8")))) return; // another Pi has it open
      writeFileSync(path, String(process.pid));
      lock = path;
    } catch {} // a folder that cannot be written: nobody else writes there either
  }

  function dropLock() {
    try {
      if (lock && readFileSync(lock, "utf8") === String(process.pid)) rmSync(lock, { force: true });
    } catch {}
    lock = undefined;
  }

  function isAlive(pid) {
    if (!(pid > 0)) return false;
    try {
      process.kill(pid, 0);
      return pid !== process.pid;
    } catch (error) {
      return error.code === "EPERM";
    }
  }
}
