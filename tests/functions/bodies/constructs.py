"""The branches and loops that a body can stand in, as source: AutoGraph reads source, and a name
must be read where a user would.

Every template makes `f(x)`. Its pieces are filled in from `captures.py`: statements that hold a
value, what `op` is applied to in the body, parameters of the body, the place that the result is
written to, and what happens to that place afterwards. `count(label)` says that the Python of a body
ran.
"""

from __future__ import annotations

from typing import NamedTuple


class Construct(NamedTuple):
    template: str
    labels: tuple[str, ...]  # every body; each is traced once
    # What the body is given: its own argument, or the function's where it takes none.
    argument: str = "x"
    takes_parameters: bool = True  # the body is a function
    # A statement that reads the place it writes, so that place has to be there before.
    accumulates: bool = False


CONSTRUCTS: dict[str, Construct] = {}


def construct(name: str, *labels: str, **facts) -> None:
    """Adds a construct whose template is in TEMPLATES."""
    CONSTRUCTS[name] = Construct(TEMPLATES[name], labels, **facts)


TEMPLATES = {
    "cond": """
def f(x):
    {hold}

    def taken({parameter}):
        count("taken")
        return {applied}

    def other():
        count("other")
        return x * x

    {write} = tf.cond(tf.reduce_sum(x) > 0.0, taken, other)
    {let_go}
    return result
""",
    "switch_case": """
def f(x):
    {hold}

    def other():
        count("other")
        return x * x

    def taken({parameter}):
        count("taken")
        return {applied}

    {write} = tf.switch_case(tf.cast(tf.reduce_sum(x) > 0.0, tf.int32), [other, taken])
    {let_go}
    return result
""",
    "case": """
def f(x):
    {hold}

    def large():
        count("large")
        return x * x * x

    def taken({parameter}):
        count("taken")
        return {applied}

    def other():
        count("other")
        return x * x

    {write} = tf.case(
        [(tf.reduce_sum(x) > 9.0, large), (tf.reduce_sum(x) > 0.0, taken)], default=other
    )
    {let_go}
    return result
""",
    "while_loop": """
def f(x):
    {hold}

    def condition(i, y):
        count("condition")
        return i < 3

    def body(i, y, {parameter}):
        count("body")
        return i + 1, y * 0.5 + {applied}

    _, {write} = tf.while_loop(condition, body, (tf.constant(0), x))
    {let_go}
    return result
""",
    "scan": """
def f(x):
    {hold}

    def body(y, element, {parameter}):
        count("body")
        return y * element + {applied}

    {write} = tf.scan(body, tf.stack([x, x * x]), initializer=x)
    {let_go}
    return tf.reduce_sum(result, axis=0)
""",
    "map_fn": """
def f(x):
    {hold}

    def body(element, {parameter}):
        count("body")
        return element * 0.5 + {applied}

    {write} = tf.map_fn(body, tf.stack([x, x * x]))
    {let_go}
    return tf.reduce_sum(result * result, axis=0)
""",
    "foldl": """
def f(x):
    {hold}

    def body(y, element, {parameter}):
        count("body")
        return y * element + {applied}

    {write} = tf.foldl(body, tf.stack([x, x * x]), initializer=x)
    {let_go}
    return result
""",
    "foldr": """
def f(x):
    {hold}

    def body(y, element, {parameter}):
        count("body")
        return y * element + {applied}

    {write} = tf.foldr(body, tf.stack([x, x * x]), initializer=x)
    {let_go}
    return result
""",
    "vectorized_map": """
def f(x):
    {hold}

    def body(element, {parameter}):
        count("body")
        return element * 0.5 + {applied}

    {write} = tf.vectorized_map(body, tf.stack([x, x * x]))
    {let_go}
    return tf.reduce_sum(result * result, axis=0)
""",
    "if": """
def f(x):
    {hold}
    if tf.reduce_sum(x) > 0.0:
        count("taken")
        {write} = {applied}
    else:
        count("other")
        {write} = x * x
    {let_go}
    return result
""",
    "if_return": """
def f(x):
    {hold}
    if tf.reduce_sum(x) > 0.0:
        count("taken")
        return {applied}
    count("other")
    return x * x
""",
    "nested_function": """
def f(x):
    {hold}

    def inner(q, {parameter}):
        if tf.reduce_sum(q) > 0.0:
            count("taken")
            y = {applied}
        else:
            count("other")
            y = q * q
        return y

    {write} = inner(x)
    {let_go}
    return result
""",
    "for": """
def f(x):
    {hold}
    for i in tf.range(3):
        count("body")
        {write} = {write} * 0.5 + {applied}
    {let_go}
    return result
""",
    "for_break": """
def f(x):
    {hold}
    for i in tf.range(4):
        count("body")
        {write} = {write} * 0.5 + {applied}
        if tf.reduce_sum(x) * tf.cast(i, x.dtype) > 1.0:
            count("break")
            break
    {let_go}
    return result
""",
    "for_continue": """
def f(x):
    {hold}
    for i in tf.range(4):
        count("body")
        if i % 2 == 1:
            count("continue")
            continue
        {write} = {write} * 0.5 + {applied}
    {let_go}
    return result
""",
    "for_return": """
def f(x):
    {hold}
    for i in tf.range(4):
        count("body")
        {write} = {write} * 0.5 + {applied}
        if tf.reduce_sum(x) * tf.cast(i, x.dtype) > 1.0:
            count("return")
            return {write} * 2.0
    return {write} * 3.0
""",
    "while": """
def f(x):
    {hold}
    i = tf.constant(0)
    while i < 3:
        count("body")
        {write} = {write} * 0.5 + {applied}
        i += 1
    {let_go}
    return result
""",
    "while_break": """
def f(x):
    {hold}
    i = tf.constant(0)
    while i < 4:
        count("body")
        {write} = {write} * 0.5 + {applied}
        i += 1
        if tf.reduce_sum(x) * tf.cast(i, x.dtype) > 1.5:
            count("break")
            break
    {let_go}
    return result
""",
    "while_continue": """
def f(x):
    {hold}
    i = tf.constant(0)
    while i < 4:
        count("body")
        i += 1
        if i % 2 == 1:
            count("continue")
            continue
        {write} = {write} * 0.5 + {applied}
    {let_go}
    return result
""",
}

construct("cond", "taken", "other")
construct("switch_case", "taken", "other")
construct("case", "large", "taken", "other")
construct("while_loop", "condition", "body", argument="y")
construct("scan", "body", argument="y")
construct("map_fn", "body", argument="element")
construct("foldl", "body", argument="y")
construct("foldr", "body", argument="y")
construct("vectorized_map", "body", argument="element")
construct("if", "taken", "other", takes_parameters=False)
construct("if_return", "taken", "other", takes_parameters=False)
construct("nested_function", "taken", "other", argument="q")
construct("for", "body", argument="y", takes_parameters=False, accumulates=True)
construct("for_break", "body", "break", argument="y", takes_parameters=False, accumulates=True)
construct(
    "for_continue", "body", "continue", argument="y", takes_parameters=False, accumulates=True
)
construct("for_return", "body", "return", argument="y", takes_parameters=False, accumulates=True)
construct("while", "body", argument="y", takes_parameters=False, accumulates=True)
construct("while_break", "body", "break", argument="y", takes_parameters=False, accumulates=True)
construct(
    "while_continue", "body", "continue", argument="y", takes_parameters=False, accumulates=True
)
