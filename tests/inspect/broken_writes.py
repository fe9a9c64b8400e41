"""Programs in which values reach a target through a Variable, an index or the gradient of another
tape, all of which gradients do not pass; made of parts like those of `broken_flows`.
"""

from gradtape.inspect.explanation import Cause
from tests.inspect.broken_flows import FLOW_HEAD, NOTHING
from tests.inspect.broken_programs import ASKED, Program, around, indented

WRITE_HEAD = (
    FLOW_HEAD
    + """\
trained = tf.Variable([0.0, 0.0])
fixed = tf.Variable([0.0, 0.0], trainable=False)
of_keras = keras.Variable([0.0, 0.0], trainable=False)
other = tf.Variable([1.0, 1.0])
table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
total = keras.metrics.Sum()


def store(variable, value):
    variable.assign(value)  # HELPER


@tf.function
def store_compiled(variable, value):
    variable.assign(value * 1.0)  # COMPILED


@tf.function
def add_compiled(variable, value):
    variable.assign_add(value)


"""
)
STORES = ("trained", "fixed", "of_keras")
ASSIGNED = (Cause.ASSIGNED,)

# Lines that write `{t}` to a Variable `{b}`, an expression that reads it, and the causes.
WRITES = {
    "assign": ("{b}.assign({t})  # here", "{b}", ASSIGNED),
    "assign_add": ("{b}.assign_add({t})  # here", "{b}", ASSIGNED),
    "assign_sub": ("{b}.assign_sub({t})  # here", "tf.square({b})", ASSIGNED),
    "slice": ("{b}[0].assign(({t})[1])  # here", "{b}", ASSIGNED),
    "rows": ("{b}.scatter_nd_update([[0]], ({t})[:1])  # here", "{b}", ASSIGNED),
    "running": ("{b}.assign(0.9 * {b} + 0.1 * {t})  # here", "tf.reduce_sum({b})", ASSIGNED),
    "running twice": (
        "{b}.assign(0.9 * {b} + {t})  # here\n{b}.assign(0.9 * {b})  # here",
        "tf.reduce_sum({b})",
        ASSIGNED,
    ),
    "what had ended": ("k = tf.round({t})\n{b}.assign(k)  # here", "{b}", ASSIGNED),
    "and then added to": ("{b}.assign({t})  # here\n{b}.assign_add(v)", "{b}", ASSIGNED),
    "and another one": (
        "{b}.assign({t})\nother.assign({b} * 1.0)  # here",
        "other",
        ASSIGNED,
    ),
    "by a helper": ("store({b}, {t})", "{b}", ASSIGNED),
    "by a function": ("store_compiled({b}, {t})", "{b} * 1.0", ASSIGNED),
    "added by a function": ("add_compiled({b}, {t})", "{b}", (Cause.UNKNOWN,)),
    "read by a method": ("{b}.assign({t})  # here", "{b}.value", ASSIGNED),
    # What the target does not depend on.
    "overwritten": ("{b}.assign({t})\n{b}.assign(v * 2.0)", "{b}", NOTHING),
    "overwritten by numbers": ("{b}.assign({t})\n{b}.assign([1.0, 2.0])", "{b}", NOTHING),
    "read before": ("k = {b} * 2.0\n{b}.assign({t})", "k", NOTHING),
    "another": ("{b}.assign({t})", "other", NOTHING),
}
VALUES = {"computed": "{s} * 2.0", "itself": "{s}", "of two": "({s} + 1.0) * v"}


def written(
    way: str, store: str, value: str, source: str, asked: str, wrapped: str
) -> Program | None:
    """A Variable that a value of the source is assigned to, and of which the target is made."""
    compiled = wrapped.startswith("compiled")
    if store == "of_keras" and (way in ("slice", "rows") or "function" in way):
        return None  # it has no such methods, and is no argument of a function
    if store == "of_keras" and way == "and then added to":
        return None  # Keras assigns the sum, which is the last assignment
    if "function" in way and compiled:
        return None  # what a compiled function calls is part of it
    lines, read, causes = WRITES[way]
    given = VALUES[value].format(s=source)
    if read.endswith(".value"):
        read += "" if store == "of_keras" else "()"
    watch = "tape.watch(x)\n" if source == "x" else ""
    block = f"{watch}{lines.format(b=store, t=given)}\ny = {read.format(b=store)} * v"
    marks = {"by a helper": "# HELPER", "by a function": "# COMPILED"}
    name = f"{way}-{store}-{value}-{source}-{asked}-{wrapped}"
    return _program(name, _taped(block, source, asked), wrapped, causes, marks.get(way))


# Blocks that make `y`, with `# here`, and the causes.
OTHERS = {
    "a new Variable": (
        "b = tf.Variable({s} * 2.0)  # here\ny = b * v",
        ASSIGNED,
        None,
    ),
    "a new Variable of the source": ("b = tf.Variable({s})  # here\ny = b * v", ASSIGNED, None),
    "a metric": ("total.update_state({s} * 2.0)\ny = total.result() * v", ASSIGNED, None),
    "an index": ("y = table[tf.argmax({s})] * v  # here", (Cause.NO_DERIVATIVE,), "argmax"),
    "an index among others": (
        "y = table[tf.argmax({s}), :] * v  # here",
        (Cause.NO_DERIVATIVE,),
        "argmax",
    ),
    "an index of what is recorded": (
        "y = (table * v)[tf.argmax({s})]  # here",
        (Cause.NO_DERIVATIVE,),
        "argmax",
    ),
    "a bound": (
        "n = tf.cast(tf.reduce_max({s}), tf.int32)  # here\ny = tf.reduce_sum(table[:n]) * v",
        (Cause.NO_DERIVATIVE,),
        "cast",
    ),
    "a mask": (
        "m = {s} > 1.5  # here\ny = tf.reduce_sum(other[m]) * v",
        (Cause.NO_DERIVATIVE,),
        "greater",
    ),
    **{
        f"a number in {what}": (
            "n = tf.cast(tf.reduce_max({s}), tf.int32)\n" + f"y = {expression} * v",
            (Cause.UNKNOWN,),
            None,
        )
        for what, expression in {
            "zeros": "tf.reduce_sum(tf.zeros([n]))",
            "range": "tf.reduce_sum(tf.cast(tf.range(n), tf.float32))",
            "slice": "tf.reduce_sum(tf.slice(table, [0, 0], [n, 2]))",
            "tile": "tf.reduce_sum(tf.tile(table, [n, 1]))",
            "roll": "tf.roll(table, n, 0)[0]",
            "cond": "tf.cond(n > 1, lambda: 1.0, lambda: 2.0)",
        }.items()
    },
    "a derivative of a line": (
        (
            "with tf.GradientTape() as inner:\n"
            "    z = tf.reduce_sum({s} * 3.0)\n"
            "g = inner.gradient(z, {s})\n"
            "y = g * v"
        ),
        (Cause.UNKNOWN, Cause.INDEPENDENT),
        None,
    ),
    "a gradient": (
        (
            "with tf.GradientTape() as inner:\n"
            "    z = tf.reduce_sum({s} ** 3 * other)\n"
            "g = inner.gradient(z, other)\n"
            "y = tf.stop_gradient(g) * v  # here"
        ),
        (Cause.STOPPED,),
        None,
    ),
}
EAGER = ("a new Variable", "a new Variable of the source", "a metric", "a bound", "a mask")


def through(kind: str, source: str, asked: str, wrapped: str) -> Program | None:
    if wrapped.startswith("compiled") and (kind in EAGER or kind.startswith("a number")):
        return None
    if kind == "a derivative of a line" and source == "x":
        return None  # which the tape inside does not watch
    block, causes, op = OTHERS[kind]
    watch = "tape.watch(x)\n" if source == "x" else ""
    body = _taped(watch + block.format(s=source), source, asked)
    found = _program(f"{kind}-{source}-{asked}-{wrapped}", body, wrapped, causes)
    return found._replace(named=op)


OUTSIDE = {
    "gradient": "y = inner.gradient(z, other)  # here",
    "gradient of two": "y, _ = inner.gradient(z, [other, v])  # here",
    "what follows": "g = inner.gradient(z, other)  # here\ny = g * v",
}


def gradient_outside(way: str, source: str, asked: str, wrapped: str) -> Program | None:
    """A gradient that is taken when the tape around has ended: what is asked about is that."""
    watch = "tape.watch(x)\n" if source == "x" else ""
    inner = (
        "with tf.GradientTape() as inner:\n"
        f"    z = tf.reduce_sum({source} ** 3 * other * other * v)"
    )
    body = f"with tf.GradientTape() as tape:\n{indented(watch + inner)}\n{OUTSIDE[way]}\n" + ASKED[
        asked
    ].format(s=source)
    return _program(f"{way}-{source}-{asked}-{wrapped}", body, wrapped, (Cause.OUTSIDE,))


def _taped(block: str, source: str, asked: str) -> str:
    return f"with tf.GradientTape() as tape:\n{indented(block)}\n" + ASKED[asked].format(s=source)


def _program(
    name: str, body: str, wrapped: str, causes: tuple[Cause, ...], mark: str | None = None
) -> Program:
    text = WRITE_HEAD.replace(mark or "# here", "# here") + around(wrapped, body) + "\n"
    return Program(name, text, "", causes, None, "# here" in text)
