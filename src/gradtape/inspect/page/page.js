// What the reader does: selecting, folding, searching, zooming; by mouse and by keyboard.

const state = { selected: null, terms: [], found: [], finding: -1 };

function select(it, reveal, keepCode) {
  if (reveal && folds.reveal(it)) refresh();
  const earlier = state.selected;
  state.selected = it;
  const row = folds.rowOf(it);
  graph.list.show(row, reveal && (row < graph.list.range()[0] || row >= graph.list.range()[1] - 5));
  for (const changed of [earlier, it]) {
    const element = changed && graph.list.rows.get(folds.rowOf(changed));
    if (!element) continue;
    element.classList.toggle("selected", changed === it);
    element.setAttribute("aria-selected", changed === it);
  }
  graph.list.scroller.setAttribute("aria-activedescendant", "row-" + it.key);
  graph.drawWires(...graph.list.range());
  details.show(it);
  chart.draw();
  const at = data.rows[it.kind === GROUP ? it.children[0].index : it.kind === LINE ? it.index : it.parent.index];
  if (data.files[at.file].path) code.open(at.file, at.line);
  document.getElementById("function").textContent = at.function;
}

function fold(it, open) {
  if (it.kind === OP) return;
  folds.toggle(it, open);
  refresh();
}

function refresh() {
  // A profile knows lines, not single ops.
  document.body.classList.toggle("timed", data.times.length > 0 && !folds.flat);
  graph.refresh();
  document.getElementById("order").textContent = folds.flat ? "every op, in the order of recording" : "layers and functions, lines, ops";
}

function foldTo(level) {
  let kept = state.selected;
  folds.level(level);
  if (kept && folds.flat && kept.kind !== OP) kept = opItems[kept.ops[0]];
  while (kept && folds.rowOf(kept) < 0) kept = kept.parent;
  refresh();
  for (const button of document.querySelectorAll("#levels button"))
    button.classList.toggle("current", Number(button.dataset.level) === level);
  if (kept) select(kept);
  if (kept) graph.list.show(folds.rowOf(kept), true);
}

function move(by) {
  const row = state.selected ? folds.rowOf(state.selected) + by : 0;
  select(folds.shown[Math.max(0, Math.min(folds.shown.length - 1, row))]);
}

function search(text) {
  state.terms = text.toLowerCase().split(/\s+/).filter((term) => term);
  state.found = [];
  const look = (it) => {
    let inside = 0;
    it.isMatch = false;
    if (state.terms.length) {
      it.text = it.text || textOf(it).toLowerCase();
      it.isMatch = state.terms.every((term) => it.text.includes(term));
      if (it.isMatch) state.found.push(it);
    }
    for (const child of it.children) inside += look(child);
    it.matches = inside;
    return inside + (it.isMatch ? 1 : 0);
  };
  groups.forEach(look);
  graph.refresh();
  if (code.file >= 0) code.list.refresh();
  tellMatches();
}

function tellMatches() {
  const box = document.getElementById("matches");
  if (!state.terms.length) box.textContent = "";
  else {
    const at = state.found.indexOf(state.selected);
    box.textContent = (at >= 0 ? at + 1 + " of " : "") + (state.found.length || "nothing");
  }
}

function nextMatch(by) {
  if (!state.found.length) return;
  const at = state.found.indexOf(state.selected);
  const next = at < 0 ? (by > 0 ? 0 : state.found.length - 1) : (at + by + state.found.length) % state.found.length;
  select(state.found[next], true);
  tellMatches();
}

function nextFinding(by) {
  const count = data.findings.length;
  if (count) showFinding((state.finding + by + count) % count);
}

function changeTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  chart.draw();
}

const HELP = [
  ["↑ ↓, j k", "move"], ["← →", "fold, unfold"], ["Enter", "fold or unfold"], ["1 2 3 4", "layers, lines, ops, all in order"],
  ["/", "search"], ["n N", "next, previous match"], ["f F", "next, previous finding"], ["s", "sources"], ["+ − 0", "zoom"],
  ["Home End", "first, last"], ["t", "light or dark"], ["?", "these keys"],
];

function help() {
  const box = document.getElementById("help");
  if (box.open) box.close();
  else box.showModal();
}

function arrowLeft(it) {
  if (it.kind !== OP && folds.isOpen(it)) fold(it, false);
  else if (it.parent) select(it.parent, true);
}

function arrowRight(it) {
  if (it.kind === OP) return;
  if (folds.isOpen(it)) move(1);
  else fold(it, true);
}

const KEYS = {
  ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
  PageDown: () => move(20), PageUp: () => move(-20), Home: () => move(-1e9), End: () => move(1e9),
  ArrowLeft: () => arrowLeft(state.selected), ArrowRight: () => arrowRight(state.selected),
  Enter: () => fold(state.selected), " ": () => fold(state.selected),
  1: () => foldTo(1), 2: () => foldTo(2), 3: () => foldTo(3), 4: () => foldTo(4), s: () => details.showSources(),
  n: () => nextMatch(1), N: () => nextMatch(-1), f: () => nextFinding(1), F: () => nextFinding(-1),
  "+": () => graph.zoomTo(graph.zoom + 1), "=": () => graph.zoomTo(graph.zoom + 1),
  "-": () => graph.zoomTo(graph.zoom - 1), 0: () => graph.zoomTo(USUAL_HEIGHT),
  t: changeTheme, "?": help, "/": () => { query.focus(); query.select(); },
};

const query = document.getElementById("query");

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
  if (event.target === query) {
    if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") { query.value = ""; search(""); graph.list.scroller.focus(); }
    else if (event.key === "ArrowDown") graph.list.scroller.focus();
    else return;
    event.preventDefault();
    return;
  }
  if (event.target.tagName === "SELECT" || (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " "))) return;
  if (!Object.hasOwn(KEYS, event.key) || !state.selected) return;
  KEYS[event.key]();
  event.preventDefault();
}

function showTotals() {
  const list = document.getElementById("totals");
  const add = (text, title) => { const entry = list.appendChild(make("li", "", text)); entry.title = title || ""; };
  add(countText(totals.ops, "op"));
  const sources = list.appendChild(make("li")).appendChild(make("button", "link", countText(data.sources.length, "source")));
  sources.id = "sources";
  sources.addEventListener("click", () => details.showSources());
  add(bytesText(totals.bytes) + " kept alive" + (totals.shared ? ", " + bytesText(totals.shared) + " shared" : ""),
    "What ends with the tape, and what has other holders too");
  if (totals.seconds !== null) add(timeText(totals.seconds), "What the profile measured, in all");
  if (data.findings.length) add(countText(data.findings.length, "finding"));
}

function start() {
  showTotals();
  showFindings();
  const box = document.getElementById("help"), table = box.appendChild(make("table"));
  for (const [keys, does] of HELP) {
    const row = table.insertRow();
    row.insertCell().append(make("kbd", "", keys));
    row.insertCell().textContent = does;
  }
  box.addEventListener("click", () => box.close());
  document.getElementById("keys").addEventListener("click", help);
  document.getElementById("theme").addEventListener("click", changeTheme);
  document.getElementById("closer").addEventListener("click", () => graph.zoomTo(graph.zoom + 1));
  document.getElementById("farther").addEventListener("click", () => graph.zoomTo(graph.zoom - 1));
  for (const button of document.querySelectorAll("#levels button"))
    button.addEventListener("click", () => foldTo(Number(button.dataset.level)));
  query.addEventListener("input", () => search(query.value));
  document.addEventListener("keydown", onKey);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.draw());
  folds.level(1);
  graph.start();
  code.start();
  graph.list.scroller.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    graph.zoomTo(graph.zoom + (event.deltaY < 0 ? 1 : -1));
  }, { passive: false });
  chart.start();
  if (!opNames.length) {
    refresh();
    graph.list.scroller.append(make("p", "empty", "This tape has recorded no op so far."));
    return;
  }
  foldTo(groups.length + lines.length <= 80 ? 2 : 1);
  select(folds.shown[0]);
  if (data.findings.length) showFinding(0);
  graph.list.scroller.focus({ preventScroll: true });
}

start();
