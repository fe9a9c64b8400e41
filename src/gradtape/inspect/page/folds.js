// Which items are open, which of them are to be seen, and where each op is to be seen.

const folds = {
  open: new Set(),
  flat: false, // all ops in the order of recording, without what is around them
  shown: [],
  rowOfOp: new Int32Array(opNames.length),

  level(level) {
    this.open = new Set();
    this.flat = level === 4;
    if (level > 1) for (const it of groups) this.open.add(it.key);
    if (level > 2) for (const it of lines) this.open.add(it.key);
    this.update();
  },

  toggle(it, open = !this.open.has(it.key)) {
    this.flat = false;
    if (open) this.open.add(it.key);
    else this.open.delete(it.key);
    this.update();
  },

  // Opens what is around an item; whether anything changed.
  reveal(it) {
    if (this.flat && it.kind === OP) return false;
    let changed = this.flat;
    this.flat = false;
    for (let around = it.parent; around; around = around.parent) {
      changed = changed || !this.open.has(around.key);
      this.open.add(around.key);
    }
    if (changed) this.update();
    return changed;
  },

  isOpen(it) {
    return this.open.has(it.key);
  },

  rowOf(it) {
    return it.shownAt;
  },

  update() {
    this.shown = [];
    const add = (it) => {
      it.shownAt = this.shown.length;
      this.shown.push(it);
      if (this.open.has(it.key)) for (const child of it.children) add(child);
      else hide(it);
    };
    const hide = (it) => {
      for (const op of it.ops) this.rowOfOp[op] = it.shownAt;
      for (const child of it.children) {
        child.shownAt = -1;
        for (const inner of child.children) inner.shownAt = -1;
      }
    };
    if (this.flat) for (const it of [...groups, ...lines]) it.shownAt = -1;
    for (const it of this.flat ? opItems : groups) add(it);
    this.wires = wiresOf(this.shown, this.rowOfOp, (it) => !this.open.has(it.key));
  },
};
