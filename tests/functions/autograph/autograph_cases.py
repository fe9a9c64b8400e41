"""Functions with Python's control flow, and arguments for them;
`tests_tf` runs the same source in TensorFlow.
"""

# Statements are written in all the ways that there are.
# ruff: noqa: B007, F821, PLR0133, PLW0131, RET503, RET504, RUF021, SIM108, SIM212

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import gradtape as tf


class Case(NamedTuple):
    function: Any
    # Tuples of arguments: numbers and lists of them, for tensors of int32 or float64.
    inputs: tuple[Any, ...]
    differentiable: bool  # in a function


class Refused(NamedTuple):
    function: Any  # to be called with two numbers
    error: type[Exception]
    line: str | None  # what stands in the line that the message names
    words: str


CASES: dict[str, Case] = {}


def case(*inputs, differentiable=True):
    """Adds a function to the table, with the arguments to call it with."""

    def add(f):
        CASES[f.__name__] = Case(f, inputs, differentiable)
        return f

    return add


def numbers(*values):
    return [(float(value),) for value in values]


X = [0.5, -1.2, 0.8, 2.0]
BOTH_SIGNS = numbers(1.5, -0.5)


@case(*BOTH_SIGNS)
def if_else(x):
    if x > 0:
        y = x * x
    else:
        y = tf.sin(x)
    return y


@case(*BOTH_SIGNS)
def if_alone(x):
    y = x * 2
    if x > 0:
        y = y * x
        y += 1
    return y


@case(*numbers(-2.0, -0.5, 0.5, 2.0))
def elif_chain(x):
    if x < -1:
        y = x * 2
    elif x < 0:
        y = x * 3
    elif x < 1:
        y = x**2
    else:
        y = x**3
    return y


@case(*numbers(-2.0, -0.5, 0.5, 2.0))
def nested_ifs(x):
    y = x
    if x > 0:
        y = y * 2
        if x > 1:
            y = y * x
        z = y
    else:
        if x > -1:
            y = tf.exp(y)
        z = -y
    return y + z


@case(*BOTH_SIGNS)
def if_on_python_values(x):
    if x.shape == ():
        y = x * 2
    else:
        y = x.there_is_no_such_thing
    return y if x.dtype == tf.float64 else None


@case(*BOTH_SIGNS)
def numbers_in_branches(x):
    if x > 0:
        scale, shift = 2, 0.5
    else:
        scale, shift = 3, x
    return x * tf.cast(scale, x.dtype) + shift


@case(*BOTH_SIGNS)
def structures_in_branches(x):
    state = {"a": x, "b": (x * 2, [x * 3])}
    if x > 0:
        state = {"a": x * 5, "b": (x, [x * x])}
    return state["a"] + state["b"][0] * state["b"][1][0]


@case(*numbers(3.0, 0.5, -1.0))
def early_return(x):
    if x > 2:
        return x * 10
    if x > 0:
        return x * x
    return -x


@case(*numbers(3.0, 0.5, -1.0))
def return_from_nested(x):
    y = x * 2
    if x > 0:
        if x > 1:
            return y * y, x
        y = y + 1
    return y, x * 3


@case(*BOTH_SIGNS)
def ternary(x):
    return (x * x if x > 0 else tf.cos(x)) + (1.0 if x < 0 else x)


@case(*numbers(-2.0, 0.5, 3.0))
def logic(x):
    y = x
    if x > 0 and x < 1 or not x > -1:
        y = y * 7
    if not (x > 0 and not x > 2):
        y = y + x * x
    return y


@case(*numbers(-2.0, 0.5, 3.0))
def comparison_chain(x):
    return x * 2 if -1 < x <= 1 < 2 else x * 3


@case(*numbers(0.0, 2.0))
def truth_of_numbers(x):
    y = x + 1
    if x:
        y = y * 2
    return y * (2.0 if not x else x)


@case(*numbers(1.0, 30.0))
def while_bounded(x):
    while x < 20:
        tf.autograph.experimental.set_loop_options(maximum_iterations=8)
        x = x * 1.5 + tf.sin(x)
    return x


@case(*numbers(1.0, 30.0), differentiable=False)
def while_unbounded(x):
    steps = 0
    while x < 20:
        x = x * 2
        steps += 1
    return x, steps


@case(*numbers(0.5, 0.7))
def while_counted(x):
    i = tf.constant(0)
    y = x
    while i < 4:
        y = tf.tanh(x * y) + y
        i += 1
    return y


@case(*numbers(0.5))
def while_on_python_values(x):
    i = 0
    while i < 3:
        x = x * x + i
        i += 1
    return x


@case(*numbers(0.5, 2.0))
def while_that_becomes_the_programs(x):
    go_on = True
    while go_on:
        tf.autograph.experimental.set_loop_options(maximum_iterations=6)
        x = x * 1.5
        go_on = x < 4
    return x


@case(*numbers(1.0, 5.0))
def while_with_break(x):
    while x < 100:
        tf.autograph.experimental.set_loop_options(maximum_iterations=10)
        x = x * 2
        if x > 30:
            break
        x = x + 1
    return x


@case(*numbers(1.0, 5.0))
def while_with_continue_and_return(x):
    total = x * 0
    while total < 50:
        tf.autograph.experimental.set_loop_options(maximum_iterations=30)
        x = x + 1
        if x < 3:
            continue
        total = total + x
        if total > 20:
            return total * 2
    return total


@case(([*X],))
def for_rows(x):
    total = tf.zeros((), x.dtype)
    for value in x:
        total = total * value + tf.sin(value)
    return total


@case(([X, X],))
def for_rows_of_a_matrix(x):
    total = tf.zeros_like(x[0])
    for row in x:
        total = tf.tanh(total + row * row)
    return total


@case((X,))
def for_python_number_as_total(x):
    total = 0.0
    for value in x:
        total += value * value
    return total


@case((X,))
def for_whole_number_as_total(x):
    total = 0
    for value in x:
        total = total + value
    return total


@case((X,))
def for_total_that_gets_a_shape(x):
    total = 0.0
    for value in x:
        total = total + value * x
    return total


@case((X,))
def for_state_none_at_first(x):
    state = None
    for value in x:
        state = value if state is None else tf.tanh(state * value) + state
    return state


@case((X,))
def for_range_known(x):
    total = x[0] * 0
    for i in tf.range(4):
        total = total + x[i] ** 2 * tf.cast(i, x.dtype)
    return total


@case((X,))
def for_range_with_step(x):
    total = x[0] * 0
    for i in tf.range(3, -1, -2):
        total = total * 2 + x[i]
    return total


@case((X,))
def for_python_range(x):
    for i in range(3):
        x = x * x[i]
    return x


@case((X,))
def for_python_range_of_a_tensor(x):
    total = x[0] * 0
    for i in range(tf.size(x) - 1):
        total = total + x[i] * x[i + 1]
    return total


@case((X, 3), (X, 0), differentiable=False)
def for_range_unknown(x, n):
    total = x[0]
    for i in tf.range(n):
        total = total + x[i]
    return total


@case((X, 3), (X, 0))
def for_range_bounded(x, n):
    total = x[0]
    for i in range(n):
        tf.autograph.experimental.set_loop_options(maximum_iterations=4)
        total = total * x[i]
    return total


@case((X, 1), (X, 4), differentiable=False)
def for_range_with_start_and_step_unknown(x, n):
    total = x[0]
    for i in tf.range(n, -1, -n):
        total = total + tf.cast(i, x.dtype)
    return total


@case((X,), ([0.1, 0.2, 0.3, 0.1],), ([9.0, 1.0, 1.0, 1.0],))
def for_with_break(x):
    total = x[0] * 0
    for value in x:
        if total > 1:
            break
        total = total + value * value
    return total


@case((X,), ([-0.1, -0.2, -0.3, -0.1],))
def for_with_return(x):
    for value in x:
        if value > 0.6:
            return value * value
    return tf.reduce_sum(x)


@case((X,))
def for_with_continue(x):
    total = x[0] * 0
    for value in x:
        if value < 0:
            continue
        total = total + tf.sqrt(value)
    return total


@case((X,), ([0.1, 0.2, 0.3, 0.1],))
def python_for_with_break(x):
    total = x[0] * 0
    for i in range(4):
        total = total + x[i] ** 2
        if total > 1:
            break
        total = total * 1.5
    return total


@case((X,), ([-0.1, -0.2, -0.3, -0.1],))
def python_for_with_return(x):
    for i in range(4):
        if x[i] > 0.6:
            return x[i] * i
    return x[0]


@case((X,), ([0.1, 0.2, 0.3, 0.1],))
def loops_with_else(x):
    y = x[0]
    for value in x:
        y = y + value
        if y > 2:
            break
    else:
        y = y * 10
    for i in range(3):
        if i == 5:
            break
    else:
        y = y + 1
    return y


@case(*numbers(1.0, 5.0))
def while_true(x):
    while True:
        tf.autograph.experimental.set_loop_options(maximum_iterations=7)
        x = x * 1.5
        if x > 10:
            break
    return x


@case((X,))
def for_enumerate(x):
    total = x[0] * 0
    for i, value in enumerate(x, start=1):
        total = total + value * tf.cast(i, x.dtype)
    return total


@case((X, [X, X]))
def for_zip(x, y):
    total = x[0] * 0
    for a, (b, c) in zip(x, zip(y, x[::-1], strict=False), strict=False):
        total = total * a + tf.reduce_sum(b) * c
    return total


@case((X,))
def variable_of_a_loop_afterwards(x):
    for value in x:
        last = value * 2
    return last + value


@case((X,))
def nested_loops(x):
    total = x[0] * 0
    for a in x:
        for b in x:
            if a < b:
                total = total + a * b
            else:
                total = total - a
    return total


@case((X,))
def loop_in_a_branch(x):
    y = x[0]
    if x[1] < 0:
        for value in x:
            y = y * value + 1
    else:
        y = y * 2
    return y


@case((X,))
def structures_in_loops(x):
    state = {"sum": x[0] * 0, "powers": [x[0], x[0]]}
    for value in x:
        first, second = state["powers"]
        state = {"sum": state["sum"] + value, "powers": [first * value, second + first]}
    return state["sum"] * state["powers"][0] + state["powers"][1]


@case((X,))
def unpacked_targets(x):
    a, b = x[0], x[1]
    for _ in tf.range(3):
        a, b = a + b, a * b
    return a, b


def helper(x):
    if x > 0:
        return x * x
    return x * 3


def factorial(n):
    if n <= 1:
        return 1.0
    return n * factorial(n - 1)


@case(*BOTH_SIGNS)
def calls_other_functions(x):
    return helper(x) + helper(-x) * factorial(4)


@case(*BOTH_SIGNS)
def calls_lambdas(x):
    f = lambda v: v * 2 if v > 0 else v * v
    g = lambda v, times=3: f(v) * times
    return f(x) + g(-x)


@case(*BOTH_SIGNS)
def calls_inner_functions(x):
    scale = 2.0

    def inner(v):
        nonlocal scale
        if v > 0:
            v = v * scale
        scale = scale + 1
        return v * scale

    return inner(x) + inner(-x) + scale


def doubled(f):
    @functools.wraps(f)
    def call(*args):
        found = f(*args)
        if found > 0:
            found = found * 2
        return found

    return call


@doubled
def decorated(x):
    return x * 5 if x < 0 else x * 7


@case(*BOTH_SIGNS)
def calls_decorated_functions(x):
    return decorated(x) + functools.partial(decorated)(-x)


class Model:
    """Methods, attributes and inheritance."""

    def __init__(self, scale):
        self.scale = scale
        self.__private = 2.0

    def plain(self, x):
        return x * self.scale if x > 0 else x * self.__private

    def __call__(self, x):
        if x > 0:
            x = self.plain(x)
        return x + 1

    @staticmethod
    def static(x):
        return x if x > 0 else -x

    @classmethod
    def of_class(cls, x):
        return cls.static(x) if x < 1 else x * 2


class Derived(Model):
    def plain(self, x):
        if x > 1:
            x = super().plain(x)
        return x * 3


@case(*BOTH_SIGNS)
def calls_methods(x):
    model = Derived(4.0)
    return model(x) + model.plain(x) + Model.static(x) + model.of_class(-x)


@case(*BOTH_SIGNS)
def sets_attributes(x):
    model = Model(1.0)
    if x > 0:
        model.scale = x * 2
    else:
        model.scale = x * 3
    return model.scale * x


@case((X,))
def attributes_in_loops(x):
    model = Model(x[0])
    for value in x:
        model.scale = model.scale * value + 1
    return model.scale


@case(*BOTH_SIGNS)
def entries_of_dicts(x):
    found = {"y": x}
    if x > 0:
        found["y"] = x * x
    return found["y"]


@case((X,))
def functions_given_to_ours(x):
    return tf.map_fn(helper, x), tf.foldl(lambda a, b: a * b if b > 0 else a, x)


@case((X,))
def functions_given_to_builtins(x):
    first, *rest = map(helper, [x[0], x[1]])
    return functools.reduce(lambda a, b: a + b if a > 0 else b, [x[2], first, *rest])


@case((X,), ([-1.0, -2.0, -3.0, -4.0],))
def builtins(x):
    y = min(x[0], x[1]) + max(x[2], 0.5, x[3]) + abs(x[0])
    if any(value > 1 for value in x) and not all(value > 1 for value in x):
        y = y * 2
    return y * len(x) + float(int(x[3] * 3)) * bool(x[1])


@case((X,))
def comprehensions(x):
    found = [value * 2 if value > 0 else -value for value in x if value.shape == ()]
    return [a * b for a, b in zip(found, x, strict=True)], [
        tf.cast(i, x.dtype) * a for i, a in enumerate(x)
    ]


@case(*BOTH_SIGNS)
def exceptions(x):
    y = x
    try:
        if x > 0:
            y = y * 2
        raise KeyError("gone")
    except (KeyError, ValueError) as error:
        y = y * len(error.args)
    else:
        y = y * 5
    finally:
        y = y + 1
    return y


@case(*BOTH_SIGNS)
def with_blocks(x):
    with tf.name_scope("block"):
        if x > 0:
            return x * 2
        y = x * 3
    return y


@case((X,))
def tape_in_a_loop(x):
    total = x * 0
    for value in x:
        with tf.GradientTape() as tape:
            tape.watch(value)
            if value > 0:
                y = value**3
            else:
                y = tf.sin(value)
        total = total + tape.gradient(y, value) * x
    return total


@case((X,))
def tape_around_a_loop(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = x[0] * 0
        for value in x:
            if value > 0:
                total = total * value + value**2
    return tape.gradient(total, x)


@case((X,))
def tape_around_a_loop_with_break(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = x[0] * 0
        for value in x:
            total = total * value + value**2
            if total > 1:
                break
    return tape.gradient(total, x) * total


@case((X,))
def lists_in_loops(x):
    found, sizes = [x[0]], []
    for value in x:
        if value > 0:
            found.append(value * 2)
        else:
            found.append(-value)
        sizes.append(1.0)
    return tf.stack(found) * len(sizes)


@case(*BOTH_SIGNS)
def lists_in_branches(x):
    found = []
    found.append(x)
    if x > 0:
        found.append(x * x)
    else:
        found.append(-x)
    return found


@case((X,))
def tensor_array_in_a_loop(x):
    array = tf.TensorArray(x.dtype, size=4)
    for i in tf.range(4):
        if x[i] > 0:
            array = array.write(i, x[i] ** 2)
        else:
            array = array.write(i, -x[i])
    return array.stack()


@case((X,), ([0.1, 0.2, 0.3, 0.1],))
def tensor_array_in_a_loop_with_break(x):
    array = tf.TensorArray(x.dtype, size=4, element_shape=())
    total = x[0] * 0
    for i, value in enumerate(x):
        total = total + value
        if total > 1:
            break
        array = array.write(i, total)
    return array.stack(), total


@case((X,))
def calls_a_function(x):
    inner = tf.function(helper)
    total = x[0] * 0
    for value in x:
        total = total + inner(value)
    return total


@case(*BOTH_SIGNS)
def a_mark_in_the_middle(x):
    (y := x * 2)
    if (z := y + 1) > 0:
        y = y * z
    del z
    assert y.shape == (), f"{y} is no scalar"
    return y


@case(*numbers(0.5, 3.0), differentiable=False)
def training_steps(x):
    VARIABLE.assign(x)
    loss = x
    for i in tf.range(5):
        with tf.GradientTape() as tape:
            loss = (VARIABLE - 1.0) ** 2 + tf.cast(i, x.dtype)
        gradient = tape.gradient(loss, VARIABLE)
        if gradient > 0.1:
            VARIABLE.assign_sub(0.25 * gradient)
        elif gradient < -0.1:
            VARIABLE.assign(VARIABLE * 1.25)
    return loss, VARIABLE.read_value()


VARIABLE = tf.Variable(0.0, dtype=tf.float64)

# What is refused


def undefined_in_one_branch(x):
    if x[0] > 0:
        y = x
    return y


def undefined_in_first_branch(x):
    if x[0] > 0:
        pass
    else:
        y = x
    return y


def none_in_one_branch(x):
    y = None
    if x[0] > 0:
        y = x
    return y


def returned_in_one_branch(x):
    if x[0] > 0:
        return x


def dtypes_of_branches(x):
    y = tf.constant(1)
    if x[0] > 0:
        y = x[0]
    return y


def structures_of_branches(x):
    y = [x, x]
    if x[0] > 0:
        y = [x]
    return y


def condition_of_many(x):
    if x > 0:
        x = x * 2
    return x


def shape_in_a_loop(x):
    y = x
    while y[0] < 10:
        y = tf.concat([y, y], 0)
    return y


def shape_in_a_for(x):
    y = x
    for i in tf.range(3):
        y = tf.concat([y, y], 0)
    return y


def shape_not_declared(x):
    y = x
    for i in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([3]))])
        y = tf.concat([y, y], 0)
    return y


def shape_that_is_none(x):
    y = x
    for i in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, "any")])
        y = tf.concat([y, y], 0)
    return y


def object_in_a_loop(x):
    name = int
    for value in x:
        name = float if name is int else int
    return x if name is int else value


def objects_of_branches(x):
    y = int
    if x[0] > 0:
        y = float
    return x if y is int else -x


def dtype_in_a_loop(x):
    y = tf.constant(1)
    for value in x:
        y = tf.cast(y, x.dtype) + value
    return y


def structure_in_a_loop(x):
    y = (x, x)
    for value in x:
        y = (*y, value)
    return y


def list_in_a_while(x):
    found = []
    while x[0] < 3:
        x = x * 2
        found.append(x)
    return found


def used_before_it_is_there(x):
    for value in x:
        y = y + value
    return y


def assigned_by_a_callee(x):
    total = x[0]

    def add(value):
        nonlocal total
        total = total + value

    if x[0] > 0:
        add(x[1])
    return total


ERRORS: dict[str, Refused] = {
    "undefined_in_one_branch": Refused(
        undefined_in_one_branch, ValueError, "if x", "'y' is undefined after the other branch"
    ),
    "undefined_in_first_branch": Refused(
        undefined_in_first_branch, ValueError, "if x", "'y' is undefined after the first branch"
    ),
    "none_in_one_branch": Refused(none_in_one_branch, ValueError, "if x", "'y' is None"),
    "returned_in_one_branch": Refused(
        returned_in_one_branch, ValueError, "def returned", "returned in only some branches"
    ),
    "dtypes_of_branches": Refused(dtypes_of_branches, TypeError, "if x", "'y' has the dtype"),
    "structures_of_branches": Refused(
        structures_of_branches, TypeError, "if x", "'y' has a different structure"
    ),
    "condition_of_many": Refused(condition_of_many, ValueError, "if x", "shape .2,. is ambiguous"),
    "shape_in_a_loop": Refused(shape_in_a_loop, ValueError, "while y", "'y' has the shape"),
    "shape_in_a_for": Refused(shape_in_a_for, ValueError, "for i", "'y' has the shape"),
    "shape_not_declared": Refused(shape_not_declared, ValueError, "for i", "the shape .3,."),
    "shape_that_is_none": Refused(shape_that_is_none, TypeError, "for i", "pairs of a variable"),
    "objects_of_branches": Refused(objects_of_branches, TypeError, "if x", "after one branch"),
    "object_in_a_loop": Refused(object_in_a_loop, TypeError, "for value", "only tensors and"),
    "dtype_in_a_loop": Refused(dtype_in_a_loop, TypeError, "for value", "'y' has the dtype int32"),
    "structure_in_a_loop": Refused(
        structure_in_a_loop, TypeError, "for value", "'y' has a different structure"
    ),
    "list_in_a_while": Refused(
        list_in_a_while, TypeError, "while x", "'found' is a list that grows"
    ),
    "used_before_it_is_there": Refused(used_before_it_is_there, UnboundLocalError, None, "'y'"),
    "assigned_by_a_callee": Refused(
        assigned_by_a_callee, TypeError, None, "or of a branch or loop in one, is used outside it"
    ),
}
