// The source beside the graph, with the figures of each line.

const code = {
  file: -1,
  shown: [],
  list: null,

  start() {
    this.choice = document.getElementById("file");
    data.files.forEach((file, i) => {
      if (!file.path) return;
      const option = make("option", "", fileName(i));
      option.value = i;
      option.title = file.path;
      this.choice.append(option);
    });
    this.choice.addEventListener("change", () => this.open(Number(this.choice.value), null));
    this.figures = new Map();
    for (const line of lines) {
      const row = data.rows[line.index], key = placeKey(row.file, row.line);
      if (!this.figures.has(key)) this.figures.set(key, { bytes: 0, items: [] });
      const found = this.figures.get(key);
      found.bytes += line.sums.bytes + line.sums.shared;
      found.items.push(line);
    }
    this.most = { bytes: 1, time: 1e-12 };
    for (const found of this.figures.values()) this.most.bytes = Math.max(this.most.bytes, found.bytes);
    for (const time of data.times) this.most.time = Math.max(this.most.time, time.forward + time.backward + time.compiling);
    this.list = new LongList(document.getElementById("lines"), 20, (i) => this.row(i));
    this.list.resized = () => this.keepInView();
  },

  open(file, line) {
    if (file !== this.file) {
      this.file = file;
      this.choice.value = file;
      this.choice.title = data.files[file].path;
      this.shown = [];
      let before = 0;
      for (const [number, text] of data.files[file].lines) {
        if (before && number > before + 1) this.shown.push(null);
        this.shown.push([number, text]);
        before = number;
      }
    }
    this.line = line;
    this.list.refresh(this.shown.length);
    this.keepInView();
  },

  keepInView() {
    const at = this.shown.findIndex((entry) => entry && entry[0] === this.line);
    if (at < 0) this.list.update();
    else this.list.show(at, at < this.list.range()[0] + 6 || at > this.list.range()[1] - 8);
  },

  row(i) {
    const row = make("div", "code-line");
    if (!this.shown[i]) {
      row.classList.add("gap");
      row.append(make("span", "number", "⋯"));
      return row;
    }
    const [number, text] = this.shown[i];
    const key = placeKey(this.file, number), found = this.figures.get(key), time = timeOf.get(key);
    row.classList.toggle("chosen", number === this.line);
    row.append(make("span", "number", number));
    const bars = row.appendChild(make("span", "bars"));
    if (found && found.bytes) bars.append(part("kept", found.bytes / this.most.bytes));
    if (time) bars.append(part("forward", (time.forward + time.backward + time.compiling) / this.most.time));
    bars.title = [found && found.bytes ? bytesText(found.bytes) + " kept alive" : "",
      time ? timesText({ ...time, sharers: 1 }) : ""].filter((part) => part).join("; ");
    codeInto(row.appendChild(make("code")), text, state.terms);
    for (const finding of data.findings)
      if (finding.place && finding.place.file === this.file && finding.place.line === number) {
        row.classList.add("has-" + finding.kind);
        const mark = row.appendChild(make("span", "mark " + finding.kind, finding.mark));
        mark.title = finding.title;
      }
    if (found) {
      row.classList.add("recorded");
      row.addEventListener("click", () => {
        const items = found.items, at = items.indexOf(state.selected);
        select(items[(at + 1) % items.length], true, true);
      });
    }
    return row;
  },
};
