// A long list of which only the part in view is in the document.

class LongList {
  constructor(scroller, height, draw) {
    this.scroller = scroller;
    this.height = height;
    this.draw = draw;
    this.count = 0;
    this.rows = new Map();
    this.content = scroller.appendChild(make("div", "content"));
    this.after = () => {};
    let waiting = false;
    scroller.addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.update(); });
    }, { passive: true });
    new ResizeObserver(() => this.resized()).observe(scroller);
  }

  resized() {
    this.update();
  }

  range() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / this.height) - 4);
    const end = Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / this.height) + 4;
    return [first, Math.min(this.count, end)];
  }

  refresh(count = this.count) {
    this.count = count;
    this.content.style.height = count * this.height + "px";
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.update();
  }

  update() {
    const [first, end] = this.range();
    for (const [i, row] of this.rows) if (i < first || i >= end) { row.remove(); this.rows.delete(i); }
    for (let i = first; i < end; i++)
      if (!this.rows.has(i)) {
        const row = this.draw(i);
        row.style.transform = "translateY(" + i * this.height + "px)";
        row.style.height = this.height + "px";
        this.rows.set(i, this.content.appendChild(row));
      }
    this.after(first, end);
  }

  show(index, middle) {
    const top = index * this.height, view = this.scroller.clientHeight;
    if (middle) this.scroller.scrollTop = top - view / 2;
    else if (top < this.scroller.scrollTop + this.height) this.scroller.scrollTop = top - this.height;
    else if (top + 2 * this.height > this.scroller.scrollTop + view) this.scroller.scrollTop = top + 2 * this.height - view;
    this.update();
  }
}
