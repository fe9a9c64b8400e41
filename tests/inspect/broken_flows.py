"""Programs in which values come back to a tape that they had left, names are bound again, lines run
or do not, tapes are reset, and threads compute: made of parts, with a cause that is known.

A program is made like those of `broken_programs`. Where nothing that is kept could tell, the only
right answer is that it is not known; and what only looks like a cause must not be named.
"""

from gradtape.inspect.explanation import Cause
from tests.inspect.broken_programs import ASKED, HEAD, Program, around, indented

FLOW_HEAD = (
    HEAD
    + """\
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from gradtape.nn import top_k as best_of


class Box:
    h = other = 2.0

    def keep(self, a):
        self.kept = a.numpy()

    def use(self):
        return self.kept * v

    def log(self, a):
        self.seen = float(a[0])

    def unrelated(self):
        return 2.0 * v


box, kept = Box(), {"h": 2.0, "other": 3.0}


def keep(a):
    kept["h"] = a.numpy()


def remade(a):
    a = tf.identity(a) * 1.0
    return a


def second(a, b):
    return b * 2.0


def first_of(a):
    return float(a[0])


def on_a_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


"""
)
NOT_KNOWN = (Cause.UNKNOWN,)
NOTHING = (Cause.INDEPENDENT, Cause.UNUSED, Cause.UNKNOWN)
"""What may be said of a source that the target does not depend on."""

TAKEN = {
    "numpy": "({s} * 1.0).numpy()",
    "of the source": "{s}.numpy()",
    "asarray": "np.asarray({s} * 2.0)",
    "float": "float({s}[0])",
    "list": "({s} * 2.0).numpy().tolist()",
    "helper": "first_of({s})",
    "of an end": "tf.stop_gradient({s} * 2.0).numpy()",
    "of integers": "float(tf.cast({s}, tf.int32)[1])",
    "of a choice": "int(tf.argmax({s}))",
}

# Lines that keep `{t}`, with the expression that gives it back, and the causes.
COME_BACK = {
    "name": ("k = {t}  # here", "k", (Cause.LEFT,)),
    "two names": ("k = {t}  # here\nj = k", "j", (Cause.LEFT,)),
    "attribute": ("box.h = {t}  # here", "box.h", (Cause.LEFT,)),
    "dictionary": ("d = {{}}\nd['h'] = {t}  # here\nd['other'] = v", "d['h']", (Cause.LEFT,)),
    "list": ("parts = []\nparts.append({t})  # here", "parts[0]", (Cause.LEFT,)),
    "closure": ("k = {t}  # here\ndef back():\n    return k", "back()", (Cause.LEFT,)),
    "closure with steps": (
        "k = {t}  # here\ndef back():\n    j = k\n    return j",
        "back()",
        (Cause.LEFT,),
    ),
    "lambda": ("k = {t}  # here\nback = lambda: k", "back()", (Cause.LEFT,)),
    "walrus": ("if (k := {t}) is None:  # here\n    pass", "k", (Cause.LEFT,)),
    "an index": (
        "i = int(np.sum({t}) > 0.0)  # here\nrewards = [1.0, 2.0]",
        "rewards[i]",
        (Cause.LEFT,),
    ),
    "tuple": ("k, j = {t}, 1.0  # here", "k", (Cause.LEFT, Cause.UNKNOWN)),
    "pair": ("pair = ({t}, 1.0)  # here", "pair[0]", (Cause.LEFT, Cause.UNKNOWN)),
    "some element": ("d = {{'a': 1.0}}\nd['h'] = {t}", "d[max(d)]", NOT_KNOWN),
    "a method keeps it": ("box.keep({s})", "box.kept", NOT_KNOWN),
    "methods keep and use it": ("box.keep({s})\nz = box.use()", "z", NOT_KNOWN),
    "a function keeps it": ("keep({s})", "kept['h']", NOT_KNOWN),
    "a function in it keeps it": (
        "parts = []\ndef store():\n    parts.append({t})\nstore()",
        "parts[0]",
        NOT_KNOWN,
    ),
    "a condition": ("k = 2.0\nif np.sum({t}) > 0.0:\n    k = 3.0", "k", NOT_KNOWN),
    "a conditional": ("k = 2.0 if np.sum({t}) > 0.0 else 3.0", "k", NOT_KNOWN),
    # What did not come back.
    "overwritten": ("k = {t}\nk = 2.0", "k", NOTHING),
    "overwritten in a branch": ("k = {t}\nif v is not None:\n    k = 2.0", "k", NOTHING),
    "another attribute": ("box.h = {t}", "box.other", NOTHING),
    "another key": ("d = {{'other': 2.0}}\nd['h'] = {t}", "d['other']", NOTHING),
    "another element": ("parts = [2.0]\nparts.append({t})", "parts[0]", NOTHING),
    "another of a pair": ("pair = ({t}, 2.0)", "pair[1]", NOTHING),
    "another of a tuple": ("k, j = {t}, 2.0", "j", NOTHING),
    "the last turn of a loop": (
        "for i in range(2):\n    k = {t} if i == 0 else 2.0",
        "k",
        NOTHING,
    ),
    "a turn before": (
        "for i in range(2):\n    if i == 0:\n        k = {t}\n    else:\n        k = 2.0",
        "k",
        NOTHING,
    ),
    "logged by a method": ("box.log({s})\nz = box.unrelated()", "z", NOTHING),
    "logged": ("print(end=str({t})[:0])", "2.0", NOTHING),
    "left out by a helper": ("k = second({t}, 2.0)", "k", (*NOTHING, Cause.LEFT)),
    "deleted": ("k = {t}\ndel k\nk = 2.0", "k", NOTHING),
}


def come_back(way: str, taken: str, source: str, asked: str, wrapped: str) -> Program | None:
    """Values of the source that leave the tape, and may come back to it."""
    if wrapped.startswith("compiled"):
        return None
    lines, back, causes = COME_BACK[way]
    expression = TAKEN[taken].format(s=source)
    watch = "tape.watch(x)\n" if source == "x" else ""
    block = f"{watch}{lines.format(t=expression, s=source)}\ny = v * {back}"
    return _program(
        f"{way}-{taken}-{source}-{asked}-{wrapped}", _taped(block, source, asked), wrapped, causes,
        has_line="# here" in lines and taken != "helper",
    )  # fmt: skip


# Ways to bind the name `a` again, with `{n}`.
BOUND = {
    "assigned": "a = {n}  # here",
    "in a tuple": "a, _ = {n}, 1.0  # here",
    "in a nested tuple": "(_, [a, _]) = (1.0, [{n}, 2.0])  # here",
    "starred": "a, *_ = [{n}, 1.0]  # here",
    "walrus": "second((a := {n}), 1.0)  # here",
    "augmented": "a += 1.0  # here",
    "walrus in a condition": "if (a := {n}) is None:  # here\n    pass",
    "annotated": "a: tf.Tensor = {n}  # here",
    "chained": "other = a = {n}  # here",
    "for": "for a in [{n}]:  # here\n    pass",
    "with": "with nullcontext({n}) as a:  # here\n    pass",
    "in a with": "with nullcontext():\n    a = {n}  # here",
    "in a branch": "if True:\n    a = {n}  # here",
    "in a try": "try:\n    a = {n}  # here\nfinally:\n    pass",
    "twice": "a = None\na = {n}  # here",
    "deleted": "del a\na = {n}  # here",
    "by a helper": "a = remade({n})  # here",
    "matched": "match {n}:  # here\n    case a:\n        pass",
}
NEW = {
    "tensor": "tf.constant([3.0, 4.0])",
    "step": "a + 1.0",
    "converted": "tf.convert_to_tensor(a) * 1.0",
    "variable": "tf.Variable([5.0, 6.0])",
}
OLD = {
    "watched": ("a = x * 1.0\n", "tape.watch(a)\n"),
    "variable": ("a = tf.Variable([1.0, 2.0])\n", ""),
    "recorded": ("", "a = w * 2.0\n"),
}
WHEN = ("after", "inside")


def bound_again(
    way: str, new: str, old: str, when: str, asked: str, wrapped: str
) -> Program | None:
    """A name that the target is computed from, and that then means another object."""
    if wrapped.startswith("compiled") and "variable" in (new, old):
        return None
    if (way == "augmented" and old == "variable") or (
        way in ("deleted", "twice") and new in ("step", "converted")
    ):
        return None  # an error
    before, first = OLD[old]
    again = BOUND[way].format(n=NEW[new])
    block = f"{first}y = a * v" + (f"\n{again}" if when == "inside" else "")
    after = f"{again}\n" if when == "after" else ""
    body = f"{before}with tf.GradientTape() as tape:\n{indented(block)}\n{after}" + ASKED[
        asked
    ].format(s="a")
    # A branch may not have run; then there is another object that it may be.
    causes = (Cause.REBOUND,)
    if way == "in a branch" and when == "after":
        causes = (Cause.REBOUND, Cause.UNKNOWN, Cause.OUTSIDE)
    elif way in ("in a branch", "in a try", "for", "matched", "in a with"):
        causes = (Cause.REBOUND, Cause.UNKNOWN)
    return _program(f"{way}-{new}-{old}-{when}-{asked}-{wrapped}", body, wrapped, causes)


# Lines in a branch or loop that use the source, and whether they compute with it.
USES = {
    "product": ("y = y * {s}", True),
    "call": ("y = tf.sin({s}) + v", True),
    "call beside": ("y = y + tf.sin({s})", True),
    "helper": ("y = second(y, {s})", True),
    "size": ("n = 3 * {s}.shape[0]\ny = v * n", False),
    "pair": ("pair = ({s}, v)\ny = pair[1] * 2.0", False),
    "text": ("label = '%s' % {s}\ny = v * len(label)", False),
    "left out": ("y = second({s}, v)", False),
    "identity": ("y = v * (1.0 if {s} is None else 2.0)", False),
    "list": ("parts = [{s}]\ny = v * len(parts)", False),
    "kept": ("box.other = {s}\ny = v * 3.0", False),
    "paused": (
        "with tape.stop_recording():\n    n = np.sum(({s} * 2.0).numpy())\ny = v * n",
        False,
    ),
}
CONDITIONS = {
    "if": ("if {yes}:\n{use}", "v is not None", "v is None"),
    "else": ("if {no}:\n    y = v * 5.0\nelse:\n{use}", "v is not None", "v is None"),
    "other branch": ("if {yes}:\n{use}\nelse:\n    y = v * 5.0", "v is not None", "v is None"),
    "for": ("for _ in range({yes}):\n{use}", "2", "0"),
    "while": ("n = {yes}\nwhile n > 0:\n{use}\n    n = 0", "1", "0"),
    "try": ("try:\n    {yes}\n{use}\nexcept ValueError:\n    pass", "found.copy()", "int('a')"),
    "suppress": ("with suppress(ValueError):\n    {yes}\n{use}", "found.copy()", "int('a')"),
    "nested": ("for _ in range(1):\n    if {yes}:\n{deep}", "v is not None", "v is None"),
    "match": ("match {yes}:\n    case 1:\n{deep}\n    case _:\n        pass", "1", "2"),
}


def conditional(
    use: str, condition: str, ran: bool, source: str, asked: str, wrapped: str
) -> Program | None:
    """A use of the source in a branch or loop, which runs and computes nothing with it, or does not
    run.
    """
    lines, computes = USES[use]
    if ran and computes:
        return None  # then it is connected
    if wrapped.startswith("compiled") and ("numpy()" in lines or "%s" in lines):
        return None
    form, yes, no = CONDITIONS[condition]
    if wrapped.startswith("compiled") and condition in ("try", "suppress", "match", "while"):
        return None
    text = lines.format(s=source)
    block = form.format(
        yes=yes if ran else no, no=no if ran else yes, use=indented(text), deep=indented(text, 2)
    )
    watch = "tape.watch(x)\n" if source == "x" else ""
    causes = NOTHING if ran else (Cause.NOT_RUN, Cause.UNUSED, Cause.UNKNOWN)
    if not ran and use == "product" and condition not in ("suppress", "try"):
        causes = (Cause.NOT_RUN,)
    body = _taped(f"{watch}y = v * 2.0\n{block}", source, asked)
    state = "ran" if ran else "did not run"
    if ran and use == "paused":
        causes = (*NOTHING, Cause.PAUSED, Cause.LEFT)
    return _program(
        f"{use}-{condition}-{state}-{source}-{asked}-{wrapped}", body, wrapped, causes,
        has_line=False,
    )  # fmt: skip


# Blocks, with the source, and the causes.
RESETS = {
    "a variable before": ("w", "h = w * 2.0\ntape.reset()  # here\ny = h * v", (Cause.RESET,)),
    "the target before": ("w", "y = w * 2.0\ntape.reset()  # here", (Cause.RESET,)),
    "a variable before and after": (
        "w",
        "h = w * 2.0\ntape.reset()  # here\nz = w * 3.0\ny = h * v",
        (Cause.RESET,),
    ),
    "watched before": ("x", "tape.watch(x)\ntape.reset()  # here\ny = x * v", (Cause.RESET,)),
    "watched before and after": (
        "x",
        "tape.watch(x)\nh = x * 2.0\ntape.reset()  # here\ntape.watch(x)\ny = h * v",
        (Cause.RESET,),
    ),
    "reset in a helper": (
        "w",
        "h = w * 2.0\ndef again():\n    tape.reset()  # here\nagain()\ny = h * v",
        (Cause.RESET,),
    ),
    "used in a helper": (
        "w",
        "h = remade(w)\ntape.reset()  # here\nz = w * 3.0\ny = h * v",
        (Cause.RESET, Cause.UNKNOWN),
    ),
    "in a loop": (
        "w",
        "h = v\nfor _ in range(2):\n    y = h * v\n    h = w * 2.0\n    tape.reset()\ny = h * v",
        (Cause.RESET, Cause.UNKNOWN),
    ),
    "only after, and stopped": (
        "w",
        "z = v * 2.0\ntape.reset()\ny = tf.stop_gradient(w) * v  # here",
        (Cause.STOPPED,),
    ),
    "unused": ("w", "z = v * 2.0\ntape.reset()\ny = v * 3.0", NOTHING),
}
THREADS = {
    "a variable": ("w", "y = on_a_thread(lambda: w * 2.0) * v", NOT_KNOWN),
    "a variable alone": ("w", "y = on_a_thread(lambda: w * 2.0)", NOT_KNOWN),
    "a variable in a function": (
        "w",
        "def work():\n    return w * 2.0\ny = on_a_thread(work) * v",
        NOT_KNOWN,
    ),
    "a recorded tensor": (
        "w",
        "h = w * 1.0\ny = on_a_thread(lambda: h * 2.0) * v  # here",
        (Cause.OTHER_THREAD,),
    ),
    "a watched tensor": (
        "x",
        "tape.watch(x)\ny = on_a_thread(lambda: tf.sin(x))  # here",
        (Cause.OTHER_THREAD,),
    ),
    "in a pool": (
        "x",
        (
            "tape.watch(x)\nwith ThreadPoolExecutor(1) as pool:\n"
            "    h = pool.submit(tf.sin, x * 1.0).result()\ny = h * v"
        ),
        (Cause.OTHER_THREAD,),
    ),
    "under a tape there": (
        "x",
        (
            "tape.watch(x)\nh = x * 1.0\ndef work():\n    with tf.GradientTape() as inner:\n"
            "        inner.watch(x)\n        return h * 2.0  # here\ny = on_a_thread(work) * v"
        ),
        (Cause.OTHER_THREAD,),
    ),
    "beside, on this thread": (
        "x",
        ("tape.watch(x)\non_a_thread(lambda: x * 2.0)\ny = tf.stop_gradient(x) * v  # here"),
        (Cause.STOPPED,),
    ),
}
NAMED = {
    "top_k": "tf.nn.top_k({s}, k=2)[1]",
    "top_k by another name": "best_of({s}, k=2).indices",
    "argmax": "keras.ops.argmax({s})",
    "top_k of keras": "keras.ops.top_k({s}, k=2)[1]",
    "argsort": "keras.ops.argsort({s})",
    "sort": "tf.argsort({s})",
    "categorical": "tf.random.categorical([{s}], 1)[0]",
}


def reset(kind: str, asked: str, wrapped: str) -> Program | None:
    source, block, causes = RESETS[kind]
    return _program(
        f"{kind}-{asked}-{wrapped}", _taped(block, source, asked), wrapped, causes,
        has_line="# here" in block,
    )  # fmt: skip


def threaded(kind: str, asked: str, wrapped: str) -> Program | None:
    if wrapped.startswith("compiled"):
        return None  # tracing is of one thread
    source, block, causes = THREADS[kind]
    return _program(
        f"{kind}-{asked}-{wrapped}", _taped(block, source, asked), wrapped, causes,
        has_line="# here" in block,
    )  # fmt: skip


def named(kind: str, asked: str, wrapped: str) -> Program | None:
    """An op that a library's function is made of: what is named is that function."""
    block = f"h = {NAMED[kind].format(s='w')}  # here\ny = tf.cast(h, tf.float32) * v"
    name = {"sort": "argsort"}.get(kind, kind.split(maxsplit=1)[0])
    found = _program(
        f"{kind}-{asked}-{wrapped}", _taped(block, "w", asked), wrapped, (Cause.NO_DERIVATIVE,)
    )
    return found._replace(named=name)


def _taped(block: str, source: str, asked: str) -> str:
    return f"with tf.GradientTape() as tape:\n{indented(block)}\n" + ASKED[asked].format(s=source)


def _program(
    name: str, body: str, wrapped: str, causes: tuple[Cause, ...], *, has_line: bool = True
) -> Program:
    text = FLOW_HEAD + around(wrapped, body) + "\n"
    return Program(name.replace("\n", " "), text, "", causes, None, has_line)
