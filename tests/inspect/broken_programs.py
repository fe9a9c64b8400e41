"""Programs in which a gradient is None, made by combining how the chain is broken, where that
stands, what is around it, and how the tape is asked; each knows its cause and its line.

A program is the text of a module. The line that is to be named ends with `# here`.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from gradtape.inspect.explanation import Cause

HEAD = """\
import numpy as np
import gradtape as tf
from gradtape import keras

w = tf.Variable([1.0, 3.0], name="w")
v = tf.Variable([0.5, 0.25], name="v")
x = tf.constant([1.0, 3.0])
params = {"w": tf.Variable([1.0, 3.0])}
net = tf.Module()
net.w = tf.Variable([1.0, 3.0])
found = []


@tf.custom_gradient
def cut(a):
    return a * 2.0, lambda g: None


@tf.custom_gradient
def passed_on(a):
    return a * 1.0, lambda g: g


"""


class Break(NamedTuple):
    """An expression of `{s}`, with two elements, that no gradient passes: the cause, and what is
    named. Some run in eager code only.
    """

    expression: str
    cause: Cause
    named: str | None = None
    eager: bool = False


BREAKS = {
    "argmax": Break("tf.one_hot(tf.argmax({s}), 2)", Cause.NO_DERIVATIVE, "argmax"),
    "round": Break("tf.round({s} * 2.0)", Cause.NO_DERIVATIVE, "round"),
    "floor_method": Break("tf.math.floor({s})", Cause.NO_DERIVATIVE, "floor"),
    "numpy_round": Break("np.rint({s})", Cause.NO_DERIVATIVE, "rint"),
    "comparison": Break("tf.cast({s} > 2.0, tf.float32)", Cause.NO_DERIVATIVE, "greater"),
    "comparisons": Break(
        "tf.cast(tf.logical_or({s} > 2.0, {s} < 0.0), tf.float32)", Cause.NO_DERIVATIVE
    ),
    "where": Break("tf.where({s} > 2.0, 1.0, 0.0)", Cause.NO_DERIVATIVE, "greater"),
    "equal": Break("tf.cast(tf.equal({s}, 1.0), tf.float32)", Cause.NO_DERIVATIVE, "equal"),
    "integers": Break("tf.cast(tf.cast({s}, tf.int32), tf.float32)", Cause.NO_DERIVATIVE, "cast"),
    "top_k": Break(
        "tf.cast(tf.math.top_k({s}, k=2).indices, tf.float32)", Cause.NO_DERIVATIVE, "top_k"
    ),
    "argsort": Break("tf.cast(tf.argsort({s}), tf.float32)", Cause.NO_DERIVATIVE, "argsort"),
    "keras_argmax": Break(
        "keras.ops.one_hot(keras.ops.argmax({s}), 2)", Cause.NO_DERIVATIVE, "argmax"
    ),
    "searchsorted": Break(
        "tf.cast(tf.searchsorted([0.0, 2.0], {s}), tf.float32)", Cause.NO_DERIVATIVE, "searchsorted"
    ),
    "sorted": Break("tf.cast(np.argsort({s}), tf.float32)", Cause.NO_DERIVATIVE, "argsort"),
    "floor_divided": Break("tf.math.floordiv({s}, 2.0)", Cause.NO_DERIVATIVE),
    "any": Break(
        "tf.cast(tf.reduce_any({s} > 2.0, keepdims=True), tf.float32) * tf.ones([2])",
        Cause.NO_DERIVATIVE,
        "greater",
    ),
    "clipped": Break("tf.clip_by_value(tf.math.ceil({s}), 0.0, 9.0)", Cause.NO_DERIVATIVE, "ceil"),
    "mapped": Break("tf.map_fn(lambda q: tf.round(q), {s})", Cause.NO_DERIVATIVE, "round"),
    "vectorized": Break(
        "tf.vectorized_map(lambda q: tf.round(q), {s})", Cause.NO_DERIVATIVE, "round"
    ),
    "scanned": Break(
        "tf.scan(lambda t, q: t + tf.round(q), {s}, initializer=0.0)", Cause.NO_DERIVATIVE, "round"
    ),
    "recomputed": Break("tf.recompute_grad(lambda q: tf.round(q))({s})", Cause.NO_DERIVATIVE),
    "looped": Break(
        "tf.while_loop(lambda i, q: i < 2, lambda i, q: (i + 1, tf.stop_gradient(q)), [0, {s}])[1]",
        Cause.STOPPED,
        "stop_gradient",
    ),
    "switched": Break(
        "tf.switch_case(0, [lambda: tf.stop_gradient({s}), lambda: tf.zeros([2])])",
        Cause.STOPPED,
        "stop_gradient",
    ),
    "stop": Break("tf.stop_gradient({s})", Cause.STOPPED, "stop_gradient"),
    "stop_and_on": Break("tf.stop_gradient({s} * 2.0) + 1.0", Cause.STOPPED, "stop_gradient"),
    "keras_stop": Break("keras.ops.stop_gradient({s})", Cause.STOPPED, "stop_gradient"),
    "cut": Break("cut({s})", Cause.NO_GRADIENT),
    "cut_later": Break("tf.sin(cut({s} * 2.0))", Cause.NO_GRADIENT),
    "numpy": Break("tf.constant({s}.numpy())", Cause.LEFT, "numpy", eager=True),
    "asarray": Break("tf.constant(np.asarray({s}))", Cause.LEFT, eager=True),
    "numpy_of_result": Break(
        "tf.constant(np.tanh(({s} * 1.5).numpy()))", Cause.LEFT, "numpy", eager=True
    ),
    "float": Break("tf.constant([float({s}[0]), 1.0])", Cause.LEFT, "float", eager=True),
    "tolist": Break("tf.constant({s}.numpy().tolist())", Cause.LEFT, "numpy", eager=True),
}

# Where the expression stands: lines before the tape's block, and lines in it, that make `h`.
PLACES = {
    "plain": ("", "h = {e}  # here"),
    "in a chain": ("", "g = {s} * 3.0\nh = {of_g} * 1.0  # here"),
    "branch": ("", "if True:\n    h = {e}  # here"),
    "other branch": ("", "if not found and False:\n    h = {s}\nelse:\n    h = {e}  # here"),
    "loop": ("", "for _ in range(2):\n    h = {e}  # here"),
    "while": ("", "n = 0\nwhile n < 2:\n    h = {e}  # here\n    n += 1"),
    "function": ("def part(a):\n    return {of_a}  # here\n", "h = part({s})"),
    "function with steps": (
        "def part(a):\n    b = a * 2.0\n    c = {of_b}  # here\n    return c + 1.0\n",
        "h = part({s})",
    ),
    "lambda": ("part = lambda a: {of_a}  # here\n", "h = part({s})"),
    "method": (
        "class Model:\n    def part(self, a):\n        return {of_a}  # here\nmodel = Model()\n",
        "h = model.part({s})",
    ),
    "comprehension": ("", "h = tf.add_n([{of_a} for a in [{s}, {s}]])  # here"),
    "generator": ("", "(h,) = ({of_a} for a in [{s}])  # here"),
    "list": ("", "parts = []\nparts.append({e})  # here\nh = parts[0]"),
    "dictionary": ("", "parts = {{}}\nparts['a'] = {e}  # here\nh = parts['a']"),
    "through a custom gradient": ("", "h = passed_on({e})  # here"),
    "try": ("", "try:\n    h = {e}  # here\nfinally:\n    pass"),
    "layer": (
        (
            "class Part(keras.layers.Layer):\n    def call(self, a):\n"
            "        return {of_a}  # here\npart = Part()\n"
        ),
        "h = part({s})",
    ),
    "other module": ("from {helper} import part\n", "h = part({s})"),
    "compiled": ("@tf.function\ndef part(a):\n    return {of_a}  # here\n", "h = part({s})"),
    "compiled with steps": (
        "@tf.function\ndef part(a):\n    b = a * 2.0\n    c = {of_b}  # here\n    return c + 1.0\n",
        "h = part({s})",
    ),
    "compiled loop": (
        (
            "@tf.function\ndef part(a):\n    b = tf.zeros([2])\n    for _ in tf.range(2):\n"
            "        b = b + {of_a}  # here\n    return b\n"
        ),
        "h = part({s})",
    ),
    "compiled branch": (
        (
            "@tf.function\ndef part(a):\n    if tf.reduce_sum(a) > 0.0:\n"
            "        b = {of_a}  # here\n    else:\n        b = tf.zeros([2])\n    return b\n"
        ),
        "h = part({s})",
    ),
    "cond": (
        "",
        "h = tf.cond(tf.reduce_sum(v) > 0.0, lambda: {e}, lambda: v * 2.0)  # here",
    ),
}
HELPER = "import numpy as np\nimport gradtape as tf\nfrom gradtape import keras\n"

# What is done with `h`, to make the target.
TAILS = {
    "beside": "y = h * v",
    "alone": "y = h + 1.0",
    "in steps": "k = tf.sin(h)\ny = k * v + v",
    "as it is": "y = h",
    "long": "k = h\nfor _ in range(600):\n    k = k * 1.0\ny = k * v",
}

# Lines that have nothing to do with it.
NOISE = (
    "",
    "other = tf.round({s} * 0.5)",
    "log = float(tf.reduce_sum({s}))",
    "same = {s}",
    "if found:\n    unused = {s} * 2.0",
    "for _ in ():\n    unused = {s} * 2.0",
    "total = tf.reduce_sum({s} * v)",
    "mask = v > 0.0",
    "text = str({s}.shape)",
    "def later():\n    return {s} * 2.0",
    "with tape.stop_recording():\n    aside = {s} * 2.0",
)

SOURCES = ("w", "x", "net.w", "params['w']")

# How a program is asked; `found` gets the reasons.
ASKED = {
    "explain": "found.append(tape.explain(y, {s}))",
    "gradient": "assert tape.gradient(y, {s}) is None\nfound.append(tape.explain(y, {s}))",
    "keywords": (
        "gradients = tape.gradient(target=y, sources=[{s}, v])\n"
        "found.append(tape.explain(y, sources=[{s}]))"
    ),
    "jacobian": "assert tape.jacobian(y, {s}) is None\nfound.append(tape.explain(y, {s}))",
}

# What is around all of it.
AROUND = {
    "module": "{body}",
    "function": "def run():\n{indented}\nrun()",
    "method": "class Runner:\n    def run(self):\n{twice}\nRunner().run()",
    "closure": "def outer():\n    def run():\n{twice}\n    return run\nouter()()",
    "loop": "for step in range(2):\n{indented}",
    "function in a loop": "def run():\n    for step in range(2):\n{twice}\nrun()",
    "compiled": "@tf.function\ndef run():\n{indented}\nrun()",
    "compiled without autograph": ("@tf.function(autograph=False)\ndef run():\n{indented}\nrun()"),
}


class Program(NamedTuple):
    """A program: its text, that of the module it imports, and what is to be found.

    Several causes may be right where the evidence does not tell them apart.
    """

    name: str
    text: str
    helper: str
    causes: tuple[Cause, ...]
    named: str | None
    has_line: bool = True


def indented(text: str, times: int = 1) -> str:
    return "\n".join(f"{'    ' * times}{line}" if line else "" for line in text.splitlines())


def around(kind: str, body: str) -> str:
    return AROUND[kind].format(body=body, indented=indented(body), twice=indented(body, 2))


def with_break(
    broken: str,
    place: str,
    tail: str,
    asked: str,
    wrapped: str,
    source: str,
    noise: tuple[str, str] = ("", ""),
) -> Program | None:
    """A chain that an expression breaks; None if the parts do not fit."""
    found = BREAKS[broken]
    is_compiled = place.startswith("compiled") or wrapped.startswith("compiled")
    if tail == "long" and is_compiled:
        return None
    if found.eager and (is_compiled or place == "cond"):
        return None
    if found.cause is Cause.NO_GRADIENT and is_compiled:
        as_zeros = place in ("compiled loop", "compiled branch", "cond")
        if as_zeros or (asked == "jacobian" and "compiled" in place):
            return None  # where None is zeros
    if broken == "looped" and is_compiled:
        return None  # as here
    before, inside = PLACES[place]
    expressions = {
        "s": source,
        "e": found.expression.format(s=source),
        "of_a": found.expression.format(s="a"),
        "of_b": found.expression.format(s="b"),
        "of_g": found.expression.format(s="g"),
        "helper": "HELPER",
    }
    first, last = (part.format(s=source) for part in noise)
    if is_compiled and ("float(" in first or "float(" in last):
        return None
    watch = f"tape.watch({source})\n" if source == "x" else ""
    block = "\n".join(
        part
        for part in (watch.rstrip(), first, inside.format(**expressions), last, TAILS[tail])
        if part
    )
    body = (
        before.format(**expressions)
        + f"with tf.GradientTape() as tape:\n{indented(block)}\n"
        + ASKED[asked].format(s=source)
    )
    name = "-".join([broken, place, tail, asked, wrapped, source, *filter(None, (first, last))])
    helper = ""
    if place == "other module":
        helper = (
            f"{HELPER}\n\n@tf.custom_gradient\ndef cut(a):\n    return a * 2.0, lambda g: None\n"
        )
        helper += f"\n\ndef part(a):\n    return {expressions['of_a']}  # here\n"
    return Program(
        name.replace("\n", " "), HEAD + around(wrapped, body) + "\n", helper, (found.cause,),
        found.named,
    )  # fmt: skip


# Whole programs, for causes that are no expression.
WHOLE = {
    "not watched": (
        (Cause.NOT_WATCHED,),
        "with tf.GradientTape() as tape:  # here\n    y = x * v\n{ask_x}",
    ),
    "another is watched": (
        (Cause.NOT_WATCHED,),
        (
            "z = x * 2.0\nwith tf.GradientTape() as tape:  # here\n    tape.watch(z)\n"
            "    y = x * z\n{ask_x}"
        ),
    ),
    "watched late": (
        (Cause.WATCHED_LATE,),
        "with tf.GradientTape() as tape:\n    y = x * v  # here\n    tape.watch(x)\n{ask_x}",
    ),
    "watched late for a part": (
        (Cause.WATCHED_LATE,),
        (
            "with tf.GradientTape() as tape:\n    h = x * 2.0  # here\n    tape.watch(x)\n"
            "    y = h * v\n{ask_x}"
        ),
    ),
    "outside": (
        (Cause.OUTSIDE,),
        (
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    h = x * x\n"
            "y = h * 2.0  # here\n{ask_x}"
        ),
    ),
    "outside, in a helper": (
        (Cause.OUTSIDE,),
        (
            "def last(h):\n    return h * 2.0  # here\n"
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    h = x * x\n"
            "y = last(h)\n{ask_x}"
        ),
    ),
    "before the block": (
        (Cause.OUTSIDE,),
        "h = w * 2.0  # here\nwith tf.GradientTape() as tape:\n    y = h * v\n{ask_w}",
    ),
    "a tensor before the block": (
        (Cause.OUTSIDE,),
        (
            "h = x * 2.0  # here\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
            "    y = h * v\n{ask_x}"
        ),
    ),
    "another tape": (
        (Cause.OTHER_TAPE,),
        (
            "with tf.GradientTape() as first, tf.GradientTape() as tape:\n"
            "    first.watch(x)  # here\n    y = x * v\n{ask_x}"
        ),
    ),
    "unused": (
        (Cause.UNUSED,),
        "with tf.GradientTape() as tape:\n    y = v * 2.0\n{ask_w}",
    ),
    "unused tensor": (
        (Cause.UNUSED,),
        "with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = v * 2.0\n{ask_x}",
    ),
    "used for something else": (
        (Cause.INDEPENDENT,),
        "with tf.GradientTape() as tape:\n    aside = w * 3.0\n    y = v * 2.0\n{ask_w}",
    ),
    "used in a helper that leaves it out": (
        (Cause.UNUSED, Cause.UNKNOWN),
        (
            "def part(a, b):\n    return b * 2.0\n"
            "with tf.GradientTape() as tape:\n    if True:\n        y = part(x, v)\n"
            "    tape.watch(x)\n{ask_x}"
        ),
    ),
    "logged in a helper": (
        (Cause.INDEPENDENT, Cause.UNUSED, Cause.UNKNOWN),
        (
            "def part(a, b):\n    float(tf.reduce_sum(a))\n    return b * 2.0\n"
            "with tf.GradientTape() as tape:\n    y = part(w * 1.0, v)\n{ask_w}"
        ),
    ),
    "integer source": (
        (Cause.SOURCE_DTYPE,),
        (
            "n = tf.constant([1, 2])\nwith tf.GradientTape() as tape:\n"
            "    y = tf.cast(n, tf.float32) * v\n{ask_n}"
        ),
    ),
    "integer target": (
        (Cause.TARGET_DTYPE,),
        "with tf.GradientTape() as tape:\n    y = tf.cast(w * 2.0, tf.int32)  # here\n{ask_w}",
    ),
    "bool target": (
        (Cause.TARGET_DTYPE,),
        "with tf.GradientTape() as tape:\n    y = w > v  # here\n{ask_w}",
    ),
    "rebound": (
        (Cause.REBOUND,),
        (
            "a = x * 1.0\nwith tf.GradientTape() as tape:\n    tape.watch(a)\n    y = a * v\n"
            "a = tf.constant([3.0, 4.0])  # here\n{ask_a}"
        ),
    ),
    "rebound in the block": (
        (Cause.REBOUND,),
        (
            "a = x * 1.0\nwith tf.GradientTape() as tape:\n    tape.watch(a)\n    y = a * v\n"
            "    a = tf.constant([3.0, 4.0])  # here\n{ask_a}"
        ),
    ),
    "rebound in a branch": (
        (Cause.REBOUND,),
        (
            "a = x * 1.0\nwith tf.GradientTape() as tape:\n    tape.watch(a)\n    y = a * v\n"
            "if True:\n    a = tf.constant([3.0, 4.0])  # here\n{ask_a}"
        ),
    ),
    "rebound variable": (
        (Cause.REBOUND,),
        (
            "a = tf.Variable([1.0, 2.0])\na = a + 1.0  # here\n"
            "with tf.GradientTape() as tape:\n    y = a * v\n{ask_a}"
        ),
    ),
    "not rebound by a method": (
        (Cause.UNUSED,),
        (
            "a = x * 1.0\nwith tf.GradientTape() as tape:\n    tape.watch(a)\n"
            "    a.set_shape([2])\n    y = v * 2.0\n{ask_a}"
        ),
    ),
    "rebound below, in a loop": (
        (Cause.REBOUND, Cause.OUTSIDE),
        (
            "a = x * 1.0\nwith tf.GradientTape(persistent=True) as tape:\n    tape.watch(a)\n"
            "    y = a * v\nfor _ in range(2):\n    result = tape.explain(y, a)\n"
            "    a = a - 0.1  # here\nfound.append(result)"
        ),
    ),
    "assigned": (
        (Cause.ASSIGNED,),
        (
            "with tf.GradientTape() as tape:\n    v.assign(w * 2.0)  # here\n    y = v * 3.0\n"
            "{ask_w}"
        ),
    ),
    "added": (
        (Cause.ASSIGNED,),
        (
            "with tf.GradientTape() as tape:\n    v.assign_add(w * 2.0)  # here\n    y = v * 3.0\n"
            "{ask_w}"
        ),
    ),
    "assigned in a helper": (
        (Cause.ASSIGNED,),
        (
            "def store(a):\n    v.assign(a)  # here\n"
            "with tf.GradientTape() as tape:\n    store(w * 2.0)\n    y = v * 3.0\n{ask_w}"
        ),
    ),
    "not trainable": (
        (Cause.NOT_TRAINABLE,),
        "with tf.GradientTape() as tape:\n    y = fixed * v\n{ask_fixed}",
    ),
    "not accessed": (
        (Cause.NOT_ACCESSED,),
        (
            "with tf.GradientTape(watch_accessed_variables=False) as tape:  # here\n"
            "    tape.watch(v)\n    y = w * v\n{ask_w}"
        ),
    ),
    "paused": (
        (Cause.PAUSED,),
        (
            "with tf.GradientTape() as tape:\n    h = w * 2.0\n    with tape.stop_recording():\n"
            "        k = tf.sin(h)  # here\n    y = k * v\n{ask_w}"
        ),
    ),
    "read while paused": (
        (Cause.PAUSED,),
        (
            "with tf.GradientTape() as tape:\n    with tape.stop_recording():\n"
            "        k = tf.sin(w)  # here\n    y = k * v\n{ask_w}"
        ),
    ),
    "read before and while paused": (
        (Cause.PAUSED,),
        (
            "with tf.GradientTape() as tape:\n    h = w * 2.0\n    with tape.stop_recording():\n"
            "        k = w.value() * 3.0  # here\n    y = tf.sin(k * v)\n{ask_w}"
        ),
    ),
    "read while paused in a branch and a loop": (
        (Cause.PAUSED,),
        (
            "with tf.GradientTape() as tape:\n    y = v * 3.0\n    if True:\n"
            "        for _ in range(2):\n            with tape.stop_recording():\n"
            "                k = w * 2.0  # here\n            y = y * k\n{ask_w}"
        ),
    ),
    "paused in a helper": (
        (Cause.PAUSED,),
        (
            "def part(h):\n    return tf.sin(h)  # here\n"
            "with tf.GradientTape() as tape:\n    h = w * 2.0\n    with tape.stop_recording():\n"
            "        k = part(h)\n    y = k * v\n{ask_w}"
        ),
    ),
    "branch not run": (
        (Cause.NOT_RUN,),
        (
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    if found is None:\n"
            "        y = x * v  # here\n    else:\n        y = v * 2.0\n{ask_x}"
        ),
    ),
    "a branch with a call not run": (
        (Cause.NOT_RUN,),
        (
            "def part(a):\n    return a * 2.0\n"
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    if found is None:\n"
            "        y = part(x)  # here\n    else:\n        y = v * 2.0\n{ask_x}"
        ),
    ),
    "loop not run": (
        (Cause.NOT_RUN,),
        (
            "with tf.GradientTape() as tape:\n    y = v * 2.0\n    for _ in ():\n"
            "        y = y * w  # here\n{ask_w}"
        ),
    ),
    "a branch that ran without recording": (
        (Cause.UNUSED, Cause.UNKNOWN),
        (
            "def part(a):\n    return v * 2.0\n"
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    if True:\n"
            "        y = part(x)\n{ask_x}"
        ),
    ),
    "a branch that ran and bound names": (
        (Cause.INDEPENDENT, Cause.UNKNOWN, Cause.UNUSED),
        (
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    pair = (v, v)\n    if True:\n"
            "        pair = (x, v)\n    y = pair[1] * 2.0\n{ask_x}"
        ),
    ),
    "overwritten": (
        (Cause.INDEPENDENT,),
        (
            "with tf.GradientTape() as tape:\n    if True:\n        y = w * 2.0\n"
            "    y = v * 2.0\n{ask_w}"
        ),
    ),
    "a function that is defined and not called": (
        (Cause.UNUSED, Cause.UNKNOWN),
        (
            "def part(flag):\n    return w * 2.0 if flag else v * 2.0\n"
            "with tf.GradientTape() as tape:\n    y = part(False)\n{ask_w}"
        ),
    ),
    "a lambda that reads nothing": (
        (Cause.UNUSED, Cause.UNKNOWN),
        (
            "part = lambda flag: w * 2.0 if flag else v * 2.0\n"
            "with tf.GradientTape() as tape:\n    y = part(False)\n{ask_w}"
        ),
    ),
    "a function that uses a tensor watched later": (
        (Cause.UNUSED, Cause.UNKNOWN),
        (
            "with tf.GradientTape() as tape:\n"
            "    part = lambda flag: x * 2.0 if flag else v * 2.0\n"
            "    tape.watch(x)\n    y = part(False)\n{ask_x}"
        ),
    ),
    "picked after the block": (
        (Cause.UNUSED, Cause.UNKNOWN),
        (
            "def part(a):\n    return [tf.constant([1.0, 2.0])]\n"
            "with tf.GradientTape() as tape:\n    tape.watch(x)\n    outs = part(x)\n"
            "y = outs[0] * 2.0\n{ask_x}"
        ),
    ),
    "used up": (
        (Cause.USED_UP,),
        (
            "with tf.GradientTape() as tape:\n    y = v * 2.0\n"
            "tape.gradient(y, v)\nfound.append(tape.explain(y, w))"
        ),
    ),
}  # fmt: skip
_EAGER = ("logged in a helper",)


def whole(kind: str, asked: str, wrapped: str) -> Program | None:
    """A program for a cause that is no expression."""
    causes, body = WHOLE[kind]
    compiled = wrapped.startswith("compiled")
    if compiled and (kind in _EAGER or "tf.Variable" in body):
        return None
    if "{ask" not in body and asked != "explain":
        return None
    if asked in ("gradient", "keywords", "jacobian") and kind in ("integer target", "bool target"):
        return None
    if kind == "integer source" and asked != "explain":
        return None  # gradient() warns of it itself
    named = ("x", "w", "n", "a", "fixed")
    asks = {f"ask_{name}": ASKED[asked].format(s=name) for name in named}
    head = HEAD + 'fixed = tf.Variable([1.0, 2.0], trainable=False, name="fixed")\n'
    return Program(
        f"{kind}-{asked}-{wrapped}", head + around(wrapped, body.format(**asks)) + "\n", "",
        causes, None, "# here" in body,
    )  # fmt: skip


def some_broken(count: int, seed: int) -> Iterator[Program]:
    """Programs of random parts, in which every part comes first."""
    chosen = random.Random(seed)
    made = 0
    lists = [list(part) for part in (BREAKS, PLACES, TAILS, ASKED, AROUND)]
    for choices in lists:
        chosen.shuffle(choices)
    step = 0
    while made < count:
        broken, place = lists[0][step % len(lists[0])], lists[1][step % len(lists[1])]
        step += 1
        if step > len(lists[0]) * len(lists[1]):
            broken, place = chosen.choice(lists[0]), chosen.choice(lists[1])
        noise = (chosen.choice(NOISE), chosen.choice(NOISE))
        parts = [chosen.choice(choices) for choices in lists[2:]]
        found = with_break(broken, place, *parts, chosen.choice(SOURCES), noise)
        if found is not None:
            made += 1
            yield found
