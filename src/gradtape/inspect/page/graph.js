// The graph: a row for each item that is shown, with wires between rows, and its figures.

const HEIGHTS = [3, 5, 9, 15, 21, 27, 34];
const USUAL_HEIGHT = 5;

const graph = {
  zoom: USUAL_HEIGHT,
  list: null,
  wiring: null,
  most: { bytes: 1, time: 1 },

  start() {
    this.list = new LongList(document.getElementById("rows"), HEIGHTS[this.zoom], (i) => this.row(i));
    this.wiring = svg("svg", { class: "wires", "aria-hidden": "true" });
    this.list.content.append(this.wiring);
    this.list.after = (first, end) => this.drawWires(first, end);
    this.axis();
  },

  // Norms stand on one scale: decades around that of the target.
  axis() {
    const seed = Number(totals.seed) || 1;
    const sizes = [...opNorms, ...data.sources.map((source) => source.norm)];
    let low = Math.log10(seed), high = low;
    for (const norm of sizes) {
      if (norm === null || !Number.isFinite(norm) || norm === 0) continue;
      low = Math.min(low, Math.log10(norm));
      high = Math.max(high, Math.log10(norm));
    }
    const spare = Math.max(0, 4 - (high - low)) / 2 + 0.3;
    this.low = low - spare;
    this.high = high + spare;
    this.seedAt = this.place(seed);
  },

  place(norm) {
    return (100 * (Math.log10(norm) - this.low)) / (this.high - this.low);
  },

  refresh() {
    const ends = folds.shown.filter((it) => it.kind !== OP || folds.shown.length === opItems.length);
    const counted = ends.length ? ends : folds.shown;
    this.most.bytes = Math.max(1, ...maxima(counted, (it) => it.sums.bytes + it.sums.shared));
    this.most.time = Math.max(1e-12, ...maxima(counted, (it) => (it.sums.time ? it.sums.time.total : 0)));
    this.list.height = HEIGHTS[this.zoom];
    this.list.scroller.classList.toggle("far", HEIGHTS[this.zoom] < 13);
    this.spacing = Math.max(2, Math.min(14, 150 / folds.wires.lanes));
    this.left = folds.wires.loops.length || folds.wires.apart.length ? 26 : 14;
    this.margin = this.left + 12 + this.spacing * (folds.wires.lanes - 1);
    this.wiring.style.transform = ""; // or else the list would stay as long as it was
    this.list.refresh(folds.shown.length);
  },

  zoomTo(zoom) {
    const kept = state.selected ? folds.rowOf(state.selected) : 0;
    this.zoom = Math.max(0, Math.min(HEIGHTS.length - 1, zoom));
    this.refresh();
    this.list.show(Math.max(0, kept), true);
  },

  row(i) {
    const it = folds.shown[i];
    const row = make("div", "row " + ["group", "line", "op"][it.kind]);
    row.id = "row-" + it.key;
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", it.kind + 1);
    if (it.kind !== OP) row.setAttribute("aria-expanded", folds.isOpen(it));
    row.setAttribute("aria-selected", it === state.selected);
    row.classList.toggle("selected", it === state.selected);
    row.classList.toggle("match", it.isMatch);
    for (const finding of it.findings) row.classList.add("has-" + data.findings[finding].kind);
    row.append(this.title(it), this.norm(it), this.bytes(it), this.time(it));
    row.addEventListener("click", (event) => {
      select(it);
      if (event.target.closest(".caret")) fold(it);
    });
    row.addEventListener("dblclick", () => fold(it));
    return row;
  },

  title(it) {
    const title = make("span", "title");
    title.style.paddingLeft = this.margin + (folds.flat ? 0 : it.kind * 16) + "px";
    title.append(make("span", "caret", it.kind === OP ? "" : folds.isOpen(it) ? "▾" : "▸"));
    const terms = it.isMatch ? state.terms : null;
    if (it.kind === GROUP) {
      const group = data.groups[it.index];
      wordsInto(title.appendChild(make("b", "name " + group.kind)), group.title, terms);
      wordsInto(title.appendChild(make("span", "dim")), group.detail, terms);
    } else if (it.kind === LINE) {
      const row = data.rows[it.index];
      title.append(make("span", "number", row.line));
      const code = title.appendChild(make("code", "name"));
      const text = codeLine(it);
      if (text) codeInto(code, text, terms);
      else wordsInto(code, [...new Set(it.ops.map((op) => opNames[op]))].slice(0, 4).join(", "), terms);
    } else {
      wordsInto(title.appendChild(make("span", "name")), opNames[it.index], terms);
      wordsInto(title.appendChild(make("span", "dim mono")), opShapes[it.index], terms);
      if (folds.flat) {
        const row = data.rows[it.parent.index];
        title.append(make("span", "number", row.line));
        codeInto(title.appendChild(make("code", "dim")), codeLine(it.parent));
      }
    }
    if (it.kind === OP || !folds.isOpen(it)) this.chips(it, title, terms);
    for (const finding of [...it.findings].slice(0, 3)) {
      const kind = data.findings[finding].kind;
      const mark = make("span", "mark " + kind, data.findings[finding].mark);
      mark.title = data.findings[finding].title;
      title.append(mark);
    }
    return title;
  },

  chips(it, title, terms) {
    if (it.kind !== OP && it.ops.length > 1) title.append(make("span", "count", countText(it.ops.length, "op")));
    if (it.kind !== OP && it.matches && !it.isMatch) title.append(make("span", "inside", it.matches + " inside"));
    const sources = sourcesOf(it);
    for (const i of sources.slice(0, 3)) {
      const chip = make("span", "source");
      wordsInto(chip, data.sources[i].name.split("/").pop(), terms);
      chip.title = data.sources[i].name + " " + data.sources[i].shape;
      title.append(chip);
    }
    if (sources.length > 3) title.append(make("span", "source", "+" + (sources.length - 3)));
  },

  norm(it) {
    const cell = make("span", "cell norm");
    const { low, high, norms, wrong } = it.sums;
    if (!norms) return cell;
    const kind = toneOf(it);
    const scale = cell.appendChild(make("span", "scale"));
    const seed = scale.appendChild(make("i", "seed"));
    seed.style.left = this.seedAt + "%";
    if (high !== null && high > 0) {
      const range = scale.appendChild(make("i", "range " + kind));
      const from = this.place(low > 0 ? low : high), to = this.place(high);
      range.style.left = from + "%";
      range.style.width = to - from + "%";
    }
    const same = low === high || normText(low) === normText(high);
    const text = wrong ? (wrong === norms ? normText(firstWrong(it)) : normText(firstWrong(it)) + " in " + countText(wrong, "op")) :
      same ? normText(high) : normText(low, 2) + " – " + normText(high, 2);
    cell.append(make("span", "figure " + kind, text));
    return cell;
  },

  bytes(it) {
    const { bytes, shared } = it.sums;
    const cell = make("span", "cell bytes");
    if (!bytes && !shared) return cell;
    const bar = cell.appendChild(make("span", "bar"));
    bar.append(part("kept", bytes / this.most.bytes), part("shared", shared / this.most.bytes));
    cell.append(make("span", "figure", bytesText(bytes + shared)));
    cell.title = bytesText(bytes) + " end with the tape" + (shared ? ", " + bytesText(shared) + " have other holders too" : "");
    return cell;
  },

  time(it) {
    const cell = make("span", "cell time");
    const time = it.sums.time;
    if (!time) return cell;
    const bar = cell.appendChild(make("span", "bar" + (time.sharers > 1 ? " together" : "")));
    for (const kind of ["forward", "backward", "compiling"]) bar.append(part(kind, time[kind] / this.most.time));
    cell.append(make("span", "figure", (time.sharers > 1 ? "≤ " : "") + timeText(time.total)));
    cell.title = timesText(time);
    return cell;
  },

  drawWires(first, end) {
    const height = this.list.height, spacing = this.spacing, left = this.left;
    const { lane, wires, apart, loops, lanes } = folds.wires;
    const x = (l) => left + l * spacing;
    const y = (row) => (row + 0.5) * height;
    const top = (first - 2) * height, bottom = (end + 2) * height;
    const inside = (at) => Math.max(top, Math.min(bottom, at));
    const chosen = state.selected ? folds.rowOf(state.selected) : -1;
    const paths = [];
    const draw = (d, near, extra = "") => paths.push(svg("path", { d, class: "wire" + (near ? " near" : "") + extra }));
    for (const wire of wires) {
      if (wire.end < first || wire.from >= end) continue;
      const own = x(wire.lane);
      for (const to of wire.to) {
        if (to !== wire.end && to !== chosen && (to < first - 1 || to > end)) continue;
        const last = to === wire.end, near = wire.from === chosen || to === chosen;
        const turn = Math.min(height, (to - wire.from) * height);
        const start = last || near ? y(wire.from) : y(to) - turn;
        if (start > bottom || y(to) < top) continue;
        let d = "M" + own + " " + inside(start) + "V" + inside(y(to) - turn);
        if (x(lane[to]) === own) d += "V" + inside(y(to));
        else if (y(to) < bottom) {
          const target = x(lane[to]);
          d += "C" + own + " " + (y(to) - turn * 0.35) + " " + target + " " + (y(to) - turn * 0.65) + " " + target + " " + y(to);
        }
        draw(d, near);
      }
    }
    const aside = [...(loops.length > MOST_LANES ? loops.filter(isNear) : loops), ...apart.filter(isNear)];
    function isNear({ from, to }) {
      return from === chosen || to === chosen;
    }
    for (const pair of aside.slice(0, 60)) {
      const { from, to } = pair, down = from < to ? 1 : -1;
      if (Math.max(from, to) < first || Math.min(from, to) >= end) continue;
      const bend = Math.min(height * 0.5, 10) * down, side = 6;
      let d = "";
      if (y(from) > top && y(from) < bottom) d += "M" + x(lane[from]) + " " + y(from) + "Q" + side + " " + y(from) + " " + side + " " + (y(from) + bend);
      d += "M" + side + " " + inside(y(from) + bend) + "V" + inside(y(to) - bend);
      if (y(to) > top && y(to) < bottom) d += "Q" + side + " " + y(to) + " " + x(lane[to]) + " " + y(to);
      draw(d, isNear(pair), " loop");
    }
    const radius = Math.max(1, Math.min(4.5, height / 5));
    for (let row = first; row < end; row++) {
      if (lane[row] < 0) continue;
      const it = folds.shown[row];
      const size = radius * [1.15, 1, 0.8][it.kind];
      paths.push(svg("circle", { cx: x(lane[row]), cy: y(row), r: size, class: "dot " + toneOf(it) + (row === chosen ? " chosen" : "") }));
    }
    const width = left + lanes * spacing;
    this.wiring.setAttribute("viewBox", "0 " + first * height + " " + width + " " + (end - first) * height);
    this.wiring.style.transform = "translateY(" + first * height + "px)";
    this.wiring.setAttribute("width", width);
    this.wiring.setAttribute("height", Math.max(1, (end - first) * height));
    this.wiring.replaceChildren(...paths);
  },
};

// The largest of many numbers, in parts, since a call cannot take them all.
function maxima(items, figure) {
  let most = 0;
  for (const it of items) most = Math.max(most, figure(it));
  return [most];
}

function firstWrong(it) {
  return opNorms[it.ops.find((op) => opNorms[op] !== null && !Number.isFinite(opNorms[op]))];
}

function part(kind, share) {
  const found = make("i", kind);
  found.style.width = 100 * Math.min(1, share) + "%";
  return found;
}

function timesText(time) {
  const parts = [timeText(time.forward) + " forward", timeText(time.backward) + " backward"];
  if (time.compiling) parts.push(timeText(time.compiling) + " compiling");
  let text = parts.join(", ") + " in " + countText(time.calls, "call");
  if (time.sharers > 1) text += ", of " + time.sharers + " layers together: they share the line";
  return text;
}
