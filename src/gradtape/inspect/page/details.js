// What is known of the selected item; and the findings.

const details = {
  element: document.getElementById("details"),

  show(it) {
    const parts = [];
    const heading = make("h2");
    const where = make("p", "where");
    if (it.kind === GROUP) {
      heading.textContent = data.groups[it.index].title;
      where.textContent = data.groups[it.index].detail;
    } else {
      const row = data.rows[it.kind === LINE ? it.index : it.parent.index];
      if (it.kind === OP) heading.textContent = opNames[it.index];
      else codeInto(heading.appendChild(make("code")), codeLine(it) || "line " + row.line);
      where.textContent = data.files[row.file].path ? shortPath(row.file) + ":" + row.line + ", in " + row.function : "no source line";
      where.title = data.files[row.file].path;
    }
    parts.push(heading, where, this.facts(it));
    for (const [title, links] of [["from", this.from(it)], ["used by", this.usedBy(it)]])
      if (links.length) parts.push(this.links(title, links));
    const kept = this.kept(it);
    if (kept) parts.push(kept);
    this.element.replaceChildren(...parts);
    this.element.scrollTop = 0;
  },

  showSources() {
    const table = make("table", "sources");
    const most = 400;
    for (const source of data.sources.slice(0, most)) {
      const row = table.insertRow();
      row.insertCell().textContent = source.name;
      row.insertCell().textContent = source.shape;
      const none = source.why ? "no gradient: " + source.why : totals.seed === null ? "" : "no gradient";
      const norm = source.norm === null ? none : normText(source.norm);
      row.insertCell().append(make("em", tone(source.norm), norm));
      if (!source.users.length) continue;
      row.className = "used";
      row.addEventListener("click", () => select(opItems[source.users[0]], true));
    }
    const parts = [make("h2", "", countText(data.sources.length, "source")), make("p", "where", "what the tape watches, with the norm of each gradient"), table];
    if (data.sources.length > most) parts.push(make("p", "dim", "and " + (data.sources.length - most) + " more"));
    this.element.replaceChildren(...parts);
    this.element.scrollTop = 0;
  },

  facts(it) {
    const facts = make("dl");
    const add = (name, text, kind = "") => { if (text) facts.append(make("dt", "", name), make("dd", kind, text)); };
    const { sums } = it;
    if (it.kind === OP) add("gives", opShapes[it.index]);
    else add("ops", this.counts(it));
    if (sums.norms) {
      const seed = Number(totals.seed), range = sums.low === sums.high ? normText(sums.high) : normText(sums.low) + " to " + normText(sums.high);
      let text = sums.high === null ? normText(firstWrong(it)) : range + (sums.wrong ? ", and " + normText(firstWrong(it)) : "");
      if (it.kind === OP && sums.high && Number.isFinite(seed) && seed > 0 && sums.high !== seed) text += ", " + normText(sums.high / seed) + " × that at the target";
      add("gradient norm", text, toneOf(it));
    } else if (totals.seed !== null) add("gradient norm", "none: no gradient comes here");
    if (sums.bytes + sums.shared)
      add("keeps alive", bytesText(sums.bytes + sums.shared) + (sums.shared ? ", of which " + bytesText(sums.shared) + " have other holders too" : ""));
    if (sums.time) add("time", timesText(sums.time));
    return facts;
  },

  counts(it) {
    const counts = new Map();
    for (const op of it.ops) counts.set(opNames[op], (counts.get(opNames[op]) || 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const text = sorted.slice(0, 8).map(([name, count]) => (count > 1 ? count + " × " + name : name)).join(", ");
    return text + (sorted.length > 8 ? ", and " + (sorted.length - 8) + " more kinds" : "");
  },

  from(it) {
    const own = new Set(it.ops), found = new Set();
    for (const op of it.ops) for (const parent of data.ops.parents[op]) if (!own.has(parent)) found.add(parent);
    return [...found];
  },

  usedBy(it) {
    const own = new Set(it.ops), found = new Set();
    for (const op of it.ops) for (const user of consumers[op]) if (!own.has(user)) found.add(user);
    return [...found];
  },

  links(title, ops) {
    const line = make("p", "links");
    line.append(make("span", "label", title));
    for (const op of ops.slice(0, 10)) {
      if (op < 0) {
        const source = data.sources[-1 - op];
        const chip = make("span", "source", source.name + " " + source.shape);
        if (source.norm !== null) chip.append(make("em", tone(source.norm), " " + normText(source.norm)));
        chip.title = source.norm === null ? (source.why ? "no gradient: " + source.why : "no gradient") : "the norm of its gradient is " + normText(source.norm);
        line.append(chip);
        continue;
      }
      const button = line.appendChild(make("button", "link", opNames[op]));
      const row = data.rows[data.ops.row[op]];
      button.append(make("em", "", " " + fileName(row.file) + ":" + row.line));
      button.addEventListener("click", () => select(opItems[op], true));
    }
    if (ops.length > 10) line.append(make("span", "dim", "and " + (ops.length - 10) + " more"));
    return line;
  },

  // What the rules at these lines asked for.
  kept(it) {
    if (it.kind === GROUP) return null;
    const row = data.rows[it.kind === LINE ? it.index : it.parent.index];
    const found = data.buffers.filter((kept) => kept.file === row.file && kept.line === row.line &&
      (it.kind === LINE || kept.op === opNames[it.index]));
    if (!found.length) return null;
    const table = make("table");
    for (const kept of found.slice(0, 8)) {
      const line = table.insertRow();
      const cells = [bytesText(kept.bytes + kept.shared), kept.array + (kept.count > 1 ? " × " + kept.count : ""), kept.op + (kept.asked ? " needs " + kept.asked : "")];
      for (const text of cells) line.insertCell().textContent = text;
    }
    // Which of several layers keeps which of them is not told apart.
    const together = sharers.get(placeKey(row.file, row.line)) > 1 ? ", all layers together" : "";
    const what = it.kind === LINE ? "the line keeps" + together : "all calls of " + opNames[it.index] + " at this line keep" + together;
    const box = make("div", "kept-arrays");
    box.append(make("span", "label", what), table);
    return box;
  },
};

function showFindings() {
  const box = document.getElementById("findings");
  data.findings.forEach((finding, i) => {
    const card = make("button", "finding " + finding.kind);
    card.append(make("span", "mark " + finding.kind, finding.mark));
    const words = card.appendChild(make("span", "words"));
    words.append(make("b", "", finding.title));
    words.append(make("span", "text", finding.text));
    card.addEventListener("click", () => showFinding(i));
    box.append(card);
  });
}

// A line with more ops than this is not unfolded to show one of them.
const MANY_OPS = 60;

function lineAt(place) {
  return place && lines.find((it) => data.rows[it.index].file === place.file && data.rows[it.index].line === place.line);
}

function showFinding(i) {
  state.finding = i;
  const finding = data.findings[i];
  [...document.querySelectorAll(".finding")].forEach((card, at) => card.classList.toggle("current", at === i));
  const last = opItems[finding.ops[finding.ops.length - 1]];
  if (last) select(last.parent.ops.length > MANY_OPS ? last.parent : last, true);
  else if (lineAt(finding.place)) select(lineAt(finding.place), true);
  else if (finding.source !== null && data.sources[finding.source].users.length)
    select(opItems[data.sources[finding.source].users[0]], true);
  if (finding.place) code.open(finding.place.file, finding.place.line);
}
