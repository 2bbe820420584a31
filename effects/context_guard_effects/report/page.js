"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const list = $("list"), detail = $("detail"), search = $("search"), order = $("order"), status = $("status");
  const options = [...list.querySelectorAll("[role=option]")];
  const filters = [...document.querySelectorAll(".kinds button")];
  const SVG = "http://www.w3.org/2000/svg";
  const outputs = new Map(), texts = new Map();
  let shown = options, chosen = null, waiting = 0;

  const number = (option) => Number(option.id.slice(1));
  const output = (option) => {
    if (!outputs.has(option)) outputs.set(option, JSON.parse($("d" + number(option)).textContent));
    return outputs.get(option);
  };
  const p = (value) => (value === null || value === undefined ? "?" : value.toFixed(2).replace(/^0/, ""));
  const count = (value) => value.toLocaleString("en");

  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  }
  function shape(tag, attributes, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  /* The chunks of a large output, as wide as they are long and as high as they are probable. */
  function votes(it) {
    const found = new Map();
    for (const row of it.rows) {
      const chunk = found.get(row.chunk) ?? { id: row.chunk, probability: row.probability, first: row.first, kept: false, chars: 0 };
      chunk.kept ||= row.kept;
      chunk.last = row.last;
      chunk.chars += row.text.length + (row.hidden ?? 0) + (row.tail ?? "").length + 1;
      found.set(row.chunk, chunk);
    }
    const chunks = [...found.values()];
    const total = chunks.reduce((sum, chunk) => sum + chunk.chars, 0);
    const raw = new Map(it.raw);
    const svg = shape("svg", { viewBox: "0 0 1000 84", preserveAspectRatio: "none", role: "img",
      "aria-label": `${count(chunks.length)} chunks by probability; threshold ${p(it.threshold)}` });
    let x = 0;
    for (const chunk of chunks) {
      const width = chunk.chars / total * 1000, gap = Math.min(1.5, width / 4);
      const height = (chunk.probability ?? 1) * 80;
      const said = raw.has(chunk.id) ? `, ${raw.get(chunk.id).toFixed(2)} before it was mapped onto the thresholds` : "";
      const title = shape("title", {}, `${chunk.id}, lines ${chunk.first}–${chunk.last}: ${p(chunk.probability)}${said}`);
      svg.append(shape("rect", { class: "back", x, y: 4, width: width - gap, height: 80 }),
        shape("rect", { class: chunk.probability === undefined ? "unsaid" : chunk.kept ? "kept" : "gone", x, y: 84 - Math.max(1, height), width: width - gap, height: Math.max(1, height) }, title));
      x += width;
    }
    const least = 84 - it.threshold * 80;
    svg.append(shape("line", { x1: 0, x2: 1000, y1: least, y2: least }));
    const mark = (name, text) => make("span", "", make("i", name), text);
    const box = make("section", "votes", make("h3", "", "What the judge said"));
    const answered = chunks.filter((chunk) => chunk.probability !== undefined).length;
    if (answered) {
      const key = make("p", "key", mark("kept", "stays"), mark("gone", "goes"), mark("least", `${it.thresholdName} ${p(it.threshold)}`));
      if (answered < chunks.length) key.append(mark("unsaid", "no answer: stays"));
      box.append(svg, key);
    }
    const lines = parts(it).map((line) => make("p", "more", line));
    if (lines.length <= 3) box.append(...lines);
    else box.append(make("details", "more", make("summary", "", `in ${count(it.segments.length)} requests`), ...lines));
    return box;
  }

  /* A line for each request, neighbours that say the same together. */
  function parts(it) {
    const found = [];
    for (const segment of it.segments) {
      const said = segment.keepWhole === null && !segment.focus ? segment.step
        : `all of it needed ${p(segment.keepWhole)} (keepWholeThreshold ${p(it.wholeThreshold)}), focus ${segment.focus || "?"} ${p(segment.focusProbability)}; ${segment.step}`;
      const before = found.at(-1);
      if (before?.said === said) before.last = segment.id;
      else found.push({ said, first: segment.id, last: segment.id });
    }
    return found.map((part) => `${part.first}${part.last === part.first ? "" : ` to ${part.last}`}: ${part.said}`);
  }

  function rows(it) {
    const box = make("div", "rows");
    box.append(make("div", "row first", make("span", "", "lines, P"), make("span", "", "The output"), make("span", "read", "What the model reads")));
    if (it.header) {
      box.append(make("div", "row", make("span", "side-note", "the model reads"), make("pre", "head", it.header)));
    }
    for (const row of it.rows) {
      const lines = row.first ? (row.first === row.last ? `${count(row.first)}` : `${count(row.first)}–${count(row.last)}`) : "";
      const note = make("span", "side-note", make("b", "", lines), row.chunk ? row.chunk.replace("_", " ") : "");
      const chance = row.probability ?? it.probability;
      const said = make("pre", "said", row.text), node = make("div", row.kept ? "row" : "row gone", note, said);
      if (chance !== null && chance !== undefined) {
        node.style.setProperty("--p", chance);
        note.append(make("span", "chance", `P ${p(chance)}`));
        const bar = make("span", "bar", make("span"), make("i"));
        bar.style.setProperty("--least", it.threshold);
        note.append(bar);
      }
      if (row.hidden) said.append(make("span", "cut", `[${count(row.hidden)} characters in between are not on this page]`), row.tail);
      const read = make("pre", "read");
      if (row.kept && row.hidden) read.append(make("span", "cut", "[the same]"));
      else read.append(row.kept ? row.text : row.note || "");
      node.append(read);
      box.append(node);
    }
    return box;
  }

  function show(option) {
    const it = output(option);
    const sizes = it.afterChars === it.beforeChars ? count(it.beforeChars) : `${count(it.beforeChars)} → ${count(it.afterChars)}`;
    const parts = [make("h2", "title", it.label),
      make("p", "meta", make("b", "", it.reason ? `${it.outcome} (${it.reason})` : it.outcome), make("span", "", it.kind ? `${it.kind} item` : "no item of this pass"),
        make("span", "", `${sizes} characters`), make("span", "mono", it.id)),
      make("p", "rule", it.rule)];
    for (const cost of it.costs) parts.push(make("p", "more", `Cost: ${cost}`));
    for (const old of it.earlier) {
      const where = old.exchange ? ` with the exchange of ${old.exchange}` : "";
      parts.push(make("p", "more", `Record ${old.recordId} (${old.phase}): ${old.outcome} (${old.reason})${where}, ${count(old.beforeChars)} → ${count(old.afterChars)} characters. ${old.traces.join("; ")}`));
    }
    if (it.recall) parts.push(make("p", "more", "The original: ", make("code", "", it.recall)));
    if (it.kind) parts.push(make("p", "more", "If this is wrong: ", make("code", "", `context-guard case SESSION ${it.id} -o DIR`), " makes a test of it."));
    if (it.segments.length) parts.push(votes(it));
    parts.push(rows(it));
    detail.replaceChildren(...parts);
    detail.scrollTop = 0;
    mark();
  }

  /* What the search found, without touching the text. */
  function mark() {
    if (!globalThis.CSS?.highlights) return;
    CSS.highlights.delete("found");
    const wanted = search.value.trim().toLowerCase();
    if (!wanted) return;
    const ranges = [], walker = document.createTreeWalker(detail, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && ranges.length < 2000) {
      const node = walker.currentNode, text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (let at = text.indexOf(wanted); at >= 0 && ranges.length < 2000; at = text.indexOf(wanted, at + wanted.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        ranges.push(range);
      }
    }
    if (!ranges.length) return;
    CSS.highlights.set("found", new Highlight(...ranges));
    const first = ranges.find((range) => range.startContainer.parentElement.closest(".rows"));
    if (first) first.startContainer.parentElement.closest(".row").scrollIntoView({ block: "nearest" });
  }

  function choose(option) {
    if (!option) return;
    chosen?.setAttribute("aria-selected", "false");
    chosen = option;
    option.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", option.id);
    const top = option.offsetTop - list.offsetTop;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + option.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + option.offsetHeight - list.clientHeight;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => show(option));
  }

  function text(option) {
    if (!texts.has(option)) {
      const it = output(option);
      texts.set(option, [it.id, it.label, it.outcome, it.kind ?? "", it.reason, it.rule, it.header,
        ...it.rows.flatMap((row) => [row.text, row.tail ?? "", row.note ?? ""])].join("\n").toLowerCase());
    }
    return texts.get(option);
  }

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    const on = new Set(filters.filter((it) => it.getAttribute("aria-pressed") === "true").map((it) => it.dataset.outcome));
    shown = [];
    for (const option of list.children) {
      option.hidden = !on.has(option.dataset.outcome) || (wanted !== "" && !text(option).includes(wanted));
      if (!option.hidden) shown.push(option);
    }
    const all = `${count(options.length)} ${options.length === 1 ? "output" : "outputs"}`;
    status.textContent = shown.length === options.length ? all : `${count(shown.length)} of ${all}`;
    if (!shown.includes(chosen)) choose(shown[0]);
    else mark();
  }

  /* The distance of the nearest probability to its threshold. */
  function doubt(option) {
    const it = output(option);
    const chances = [it.probability, ...it.rows.map((row) => row.probability)];
    return Math.min(...chances.filter((chance) => chance !== null && chance !== undefined).map((chance) => Math.abs(chance - it.threshold)));
  }

  function sort() {
    const keys = { session: number, saved: (option) => -option.dataset.saved, unsure: doubt };
    const key = new Map(options.map((option) => [option, keys[order.value](option)]));
    list.append(...[...options].sort((a, b) => (key.get(a) === key.get(b) ? number(a) - number(b) : key.get(a) < key.get(b) ? -1 : 1)));
    filter();
    if (chosen) choose(chosen);
  }

  const moves = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  list.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in moves && shown.length) {
      const at = Math.max(0, Math.min(shown.length - 1, shown.indexOf(chosen) + moves[event.key]));
      choose(shown[at]);
    } else if (event.key === "Enter") detail.focus();
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => choose(event.target.closest("[role=option]")));
  for (const button of filters) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  }
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      clearTimeout(timer);
      filter();
      list.focus();
      event.preventDefault();
    }
  });
  order.addEventListener("change", sort);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== search && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && (event.target === search || event.target === detail)) {
      if (event.target === search && search.value) {
        search.value = "";
        filter();
      }
      list.focus();
    }
  });
  /* A browser may have kept what a form held before. */
  search.value = "";
  order.value = "session";
  if (options.length) {
    const changed = options.filter((option) => ["distilled", "removed"].includes(option.dataset.outcome));
    choose(changed.reduce((best, option) => (Number(option.dataset.saved) > Number(best.dataset.saved) ? option : best), changed[0] ?? options[0]));
  }
})();
