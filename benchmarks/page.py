"""How long the page of a tape of 10,000 ops takes: `python -m benchmarks.page`.

To make it (`tape.show`), to open it in a headless Chromium, and to fold, search and scroll in it.
The budget is for opening it: from the request to the first picture, all scripts done.
"""

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import gradtape as tf
from tools.chromium import Chromium

OPS, BUDGET, RUNS = 10_000, 2.0, 5

# Each gives milliseconds, until the browser has drawn what changed.
STEPS = {
    "unfold all ops": "press('3')",
    "all ops in order": "press('4')",
    "to the end": "press('End')",
    "zoom out": "press('-'); press('-'); press('-')",
    "search": "const q = document.getElementById('query'); q.value = 'tanh'; q.dispatchEvent(new Event('input'))",  # noqa: E501
    "fold to layers": "press('1')",
}
SCRIPT = """
const press = key => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const start = performance.now();
%s;
return new Promise(done => requestAnimationFrame(() => setTimeout(
  () => done(performance.now() - start))));
"""
SCROLL = """
const rows = document.getElementById("rows");
return new Promise(done => {
  const frames = [];
  let last = performance.now();
  const step = now => {
    frames.push(performance.now() - last);
    last = performance.now();
    rows.scrollTop += 997;
    if (frames.length < 60) requestAnimationFrame(step);
    else done(Math.max(...frames.slice(1)));
  };
  requestAnimationFrame(step);
});
"""
OPENED = """
return new Promise(done => requestAnimationFrame(() => setTimeout(() => done(
  Math.max(performance.now(), performance.getEntriesByType("navigation")[0].loadEventEnd)))));
"""


def in_a_loop() -> tuple[Any, Any]:
    """A tape of steps of three lines, as of a recurrent network."""
    random = np.random.default_rng(0)
    weights = [
        tf.Variable(random.standard_normal((8, 8)).astype("float32") * 0.4, name=f"w{i}")
        for i in range(10)
    ]
    h = tf.constant(random.standard_normal((4, 8)).astype("float32"))
    with tf.GradientTape() as tape:
        for i in range(OPS // 4):
            z = h @ weights[i % 10]
            h = h + 0.1 * tf.tanh(z)
        return tape, tf.reduce_mean(tf.square(h))


def in_many_lines() -> tuple[Any, Any]:
    """A tape of ops each of which has a line of its own."""
    source = "".join(f"h = tf.tanh(h) if {i} else h * w\n" for i in range(OPS))
    w = tf.Variable(np.ones((4, 8), "float32"), name="w")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(source, encoding="utf-8")
        code = compile(source, str(path), "exec")
        with tf.GradientTape() as tape:
            names = {"tf": tf, "w": w, "h": tf.constant(np.ones((4, 8), "float32"))}
            exec(code, names)
            loss = tf.reduce_mean(names["h"])
        tape.show(target=loss)  # which reads the source, as long as it is there
    return tape, loss


def main() -> None:
    browser = Chromium()
    try:
        for name, program in (("in a loop", in_a_loop), ("in many lines", in_many_lines)):
            measure(name, program, browser)
    finally:
        browser.close()


def measure(name: str, program: Any, browser: Chromium) -> None:
    tape, loss = program()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tape.html"
        start = perf_counter()
        page = tape.show(path, target=loss)
        made = perf_counter() - start
        ops, size = page.data["totals"]["ops"], path.stat().st_size
        print(f"{ops:,} ops {name}: made in {made:.2f} s, {size / 2**20:.1f} MiB")
        opened = []
        for _ in range(RUNS):
            browser.open(path)
            opened.append(browser.run(OPENED) / 1e3)
        verdict = "within" if max(opened) < BUDGET else "NOT within"
        print(
            f"  opened in {min(opened):.2f} to {max(opened):.2f} s, {verdict} the {BUDGET:g} s "
            "that it may take"
        )
        for what, action in STEPS.items():
            print(f"  {what}: {browser.run(SCRIPT % action):.0f} ms")
            if what == "all ops in order":
                print(f"  the slowest of 60 frames while scrolling: {browser.run(SCROLL):.0f} ms")
        if said := browser.console():
            raise RuntimeError(f"The page complains: {said}")


if __name__ == "__main__":
    main()
