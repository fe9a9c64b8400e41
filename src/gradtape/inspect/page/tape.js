// The tape: what was collected, as a tree of groups (layers and functions), lines and ops.

const data = JSON.parse(document.getElementById("tape").textContent);
const totals = data.totals;
const opNames = data.ops.name.map((i) => data.ops.names[i]);
const opShapes = data.ops.shape.map((i) => data.ops.shapes[i]);
const opNorms = data.ops.norm.map((norm) => (norm === null ? null : Number(norm)));
const consumers = data.ops.parents.map(() => []);
data.ops.parents.forEach((parents, op) => {
  for (const parent of parents) if (parent >= 0) consumers[parent].push(op);
});
for (const source of data.sources) {
  source.norm = source.norm === null ? null : Number(source.norm);
  source.users = [];
}
data.ops.parents.forEach((parents, op) => {
  for (const parent of parents) if (parent < 0) data.sources[-1 - parent].users.push(op);
});

const placeKey = (file, line) => file + ":" + line;
const codeOf = new Map();
data.files.forEach((file, i) => {
  for (const [line, text] of file.lines) codeOf.set(placeKey(i, line), text);
});
const timeOf = new Map(data.times.map((time) => [placeKey(time.file, time.line), time]));
// A library is known by its own name, wherever it is installed.
const shortPath = (file) => data.files[file].path.split(/[\\/](?:site|dist)-packages[\\/]/).pop();
const fileName = (file) => data.files[file].path.split(/[\\/]/).pop() || "?";

const GROUP = 0, LINE = 1, OP = 2;

function item(kind, index, parent, ops) {
  const key = "glo"[kind] + index;
  return { kind, index, parent, ops, key, children: [], matches: 0, isMatch: false, findings: [] };
}

const groups = data.groups.map((_, i) => item(GROUP, i, null, []));
const lines = data.rows.map((row, i) => item(LINE, i, groups[row.group], []));
const opItems = opNames.map((_, i) => item(OP, i, lines[data.ops.row[i]], [i]));
for (const op of opItems) {
  op.parent.ops.push(op.index);
  op.parent.children.push(op);
  op.parent.parent.ops.push(op.index);
}
for (const line of lines) line.parent.children.push(line);

// How many groups share the time of a line: a profile knows lines, not layers.
const sharers = new Map();
for (const line of lines) {
  const row = data.rows[line.index];
  const key = placeKey(row.file, row.line);
  sharers.set(key, (sharers.get(key) || 0) + 1);
}

function sum(it) {
  const found = { bytes: 0, shared: 0, low: null, high: null, wrong: 0, norms: 0, time: null };
  for (const op of it.ops) {
    found.bytes += data.ops.bytes[op];
    found.shared += data.ops.shared[op];
    const norm = opNorms[op];
    if (norm === null) continue;
    found.norms += 1;
    if (!Number.isFinite(norm)) found.wrong += 1;
    else {
      if (found.low === null || norm < found.low) found.low = norm;
      if (found.high === null || norm > found.high) found.high = norm;
    }
  }
  found.time = timeFor(it);
  return found;
}

function timeFor(it) {
  if (it.kind === LINE) {
    const row = data.rows[it.index];
    const key = placeKey(row.file, row.line);
    const time = timeOf.get(key);
    if (!time) return null;
    return { ...time, total: time.forward + time.backward + time.compiling, sharers: sharers.get(key) };
  }
  if (it.kind !== GROUP) return null;
  const parts = it.children.map(timeFor).filter((time) => time);
  if (!parts.length) return null;
  const all = { forward: 0, backward: 0, compiling: 0, calls: 0, pulls: 0, total: 0, sharers: 1 };
  for (const part of parts) {
    for (const name of ["forward", "backward", "compiling", "calls", "pulls", "total"]) all[name] += part[name];
    all.sharers = Math.max(all.sharers, part.sharers);
  }
  return all;
}

for (const it of [...groups, ...lines, ...opItems]) it.sums = sum(it);

// What an item is about, for the reader and for the search.
function codeLine(it) {
  const row = data.rows[it.index];
  return (codeOf.get(placeKey(row.file, row.line)) || "").trim();
}

function sourcesOf(it) {
  const found = new Set();
  for (const op of it.ops) for (const parent of data.ops.parents[op]) if (parent < 0) found.add(-1 - parent);
  return [...found];
}

function textOf(it) {
  if (it.kind === GROUP) return data.groups[it.index].title + " " + data.groups[it.index].detail;
  if (it.kind === LINE) {
    const row = data.rows[it.index];
    return [codeLine(it), row.function, fileName(row.file) + ":" + row.line].join(" ");
  }
  return [opNames[it.index], opShapes[it.index], ...sourcesOf(it).map((i) => data.sources[i].name)].join(" ");
}

// Findings stand at their ops, and at everything around them.
data.findings.forEach((finding, i) => {
  const marked = new Set();
  for (const op of finding.ops) for (let it = opItems[op]; it; it = it.parent) marked.add(it);
  if (finding.place && !finding.ops.length)
    for (const line of lines) {
      const row = data.rows[line.index];
      if (row.file === finding.place.file && row.line === finding.place.line)
        for (let it = line; it; it = it.parent) marked.add(it);
    }
  for (const it of marked) it.findings.push(i);
});

// How large a gradient is, against that at the target.
const FAR = 1e5;
function tone(norm) {
  if (norm === null) return "none";
  if (!Number.isFinite(norm)) return "wrong";
  if (norm === 0) return "zero";
  const seed = Number(totals.seed);
  if (!(seed > 0) || !Number.isFinite(seed)) return "usual";
  if (norm < seed / FAR) return "vanishing";
  return norm > seed * FAR ? "exploding" : "usual";
}
function toneOf(it) {
  const { wrong, norms, low, high } = it.sums;
  if (wrong) return "wrong";
  if (!norms) return "none";
  const tones = [tone(high), tone(low)];
  return tones.find((found) => found === "exploding") || tones.find((found) => found === "vanishing") ||
    (high === 0 ? "zero" : "usual");
}
