// The gradient's norm at every op, in the order of recording: the gradient travels from right to left.

const chart = {
  canvas: document.getElementById("chart"),

  start() {
    if (totals.seed === null) {
      document.getElementById("norms").classList.add("absent");
      document.getElementById("chart-note").textContent = data.noGradients;
      return;
    }
    document.getElementById("chart-note").textContent =
      "at each op, in the order of recording; the gradient travels from right to left, from " + normText(Number(totals.seed)) + " at the target";
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("click", (event) => {
      const op = this.opAt(event.offsetX);
      if (op !== null) select(folds.shown[folds.rowOfOp[op]] || opItems[op], true);
    });
    this.canvas.addEventListener("mousemove", (event) => {
      const op = this.opAt(event.offsetX);
      this.canvas.title = op === null ? "" : opNames[op] + ", norm " + (normText(opNorms[op]) || "none");
    });
  },

  opAt(x) {
    const i = Math.floor(((x - this.left) / (this.width - this.left - 8)) * opNames.length);
    return i >= 0 && i < opNames.length ? i : null;
  },

  draw() {
    if (totals.seed === null) return;
    const { canvas } = this;
    const scale = window.devicePixelRatio || 1;
    const width = (this.width = canvas.clientWidth), height = canvas.clientHeight;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    const names = ["usual", "vanishing", "exploding", "wrong", "zero"];
    const colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
    const left = (this.left = 46), bottom = height - 20, top = 8, count = opNames.length;
    const x = (i) => left + ((i + 0.5) / count) * (width - left - 8);
    const y = (norm) => bottom - ((Math.log10(norm) - graph.low) / (graph.high - graph.low)) * (bottom - top);

    pen.font = "10.5px " + colour("sans");
    pen.textBaseline = "middle";
    const step = Math.max(1, Math.ceil((graph.high - graph.low) / 4));
    for (let decade = Math.ceil(graph.low); decade <= graph.high; decade++) {
      if (decade % step) continue;
      pen.fillStyle = colour("grid");
      pen.fillRect(left, Math.round(y(10 ** decade)), width - left - 8, 1);
      pen.fillStyle = colour("muted");
      pen.textAlign = "right";
      pen.fillText("1e" + decade, left - 8, y(10 ** decade));
    }
    const seed = Number(totals.seed);
    pen.setLineDash([3, 3]);
    for (const [limit, kind] of [[seed / FAR, "vanishing"], [seed * FAR, "exploding"]]) {
      const at = y(limit);
      if (at < top || at > bottom) continue;
      pen.strokeStyle = colours[kind];
      pen.beginPath();
      pen.moveTo(left, at);
      pen.lineTo(width - 8, at);
      pen.stroke();
    }
    pen.setLineDash([]);
    this.bands(pen, colour, x, bottom, width, height);

    if (state.selected) {
      pen.fillStyle = colour("chosen");
      const ops = state.selected.ops, each = Math.max(2, (width - left) / count);
      let start = 0;
      for (let i = 1; i <= ops.length; i++)
        if (i === ops.length || ops[i] !== ops[i - 1] + 1) {
          const a = x(ops[start]) - each / 2;
          pen.fillRect(a, top - 4, Math.max(2, x(ops[i - 1]) + each / 2 - a), bottom - top + 4);
          start = i;
        }
    }

    const few = count < (width - left) / 3;
    if (few) {
      pen.strokeStyle = colour("line");
      pen.beginPath();
      let drawn = false;
      opNorms.forEach((norm, i) => {
        if (norm === null || !Number.isFinite(norm) || norm === 0) return;
        if (drawn) pen.lineTo(x(i), y(norm));
        else pen.moveTo(x(i), y(norm));
        drawn = true;
      });
      pen.stroke();
    }
    const radius = few ? Math.max(1.6, Math.min(3.2, (width / count) * 0.22)) : 1;
    opNorms.forEach((norm, i) => {
      if (norm === null) return;
      const kind = tone(norm);
      pen.fillStyle = colours[kind];
      const at = kind === "wrong" ? top : kind === "zero" ? bottom : y(norm);
      if (few || kind === "wrong") {
        pen.beginPath();
        pen.arc(x(i), at, few ? radius : 2, 0, 7);
        pen.fill();
      } else pen.fillRect(x(i) - 0.75, at - 0.75, 1.5, 1.5);
    });
  },

  // Which layers, or functions, the ops along the axis belong to.
  bands(pen, colour, x, bottom, width, height) {
    const group = (op) => data.rows[data.ops.row[op]].group;
    const each = (width - this.left - 8) / opNames.length;
    pen.textAlign = "center";
    let start = 0, odd = false;
    for (let i = 1; i <= opNames.length; i++) {
      if (i < opNames.length && group(i) === group(start)) continue;
      const a = x(start) - each / 2, size = (i - start) * each;
      if (size > 3) {
        pen.fillStyle = colour("muted");
        pen.globalAlpha = odd ? 0.5 : 0.25;
        pen.fillRect(a + 0.5, bottom + 3, size - 1, 2);
        pen.globalAlpha = 1;
        const title = data.groups[group(start)].title;
        const shown = shortened(title, (text) => pen.measureText(text).width <= size - 8);
        if (shown) pen.fillText(shown, a + size / 2, bottom + 12);
      }
      odd = !odd;
      start = i;
    }
  },
};

// As much of a text as fits, with a sign that there is more; nothing if that is too little to read.
function shortened(text, fits) {
  if (fits(text)) return text;
  const letters = [...text].slice(0, 200);
  while (letters.length > 2 && !fits(letters.join("") + "…")) letters.pop();
  return letters.length > 2 ? letters.join("") + "…" : "";
}
