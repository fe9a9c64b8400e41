"""`tf.experimental.dispatch_for_api` and its like: a function of TensorFlow's calls another one
where its arguments have certain types.

A public function that is dispatched is replaced, under all its public names, by one that looks at
its arguments; nothing else pays for it. What was imported before by `from gradtape import concat`
is not replaced.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from gradtape.core.type_spec import TypeSpec
from gradtape.published import published

Target = TypeVar("Target", bound=Callable[..., Any])

_UNARY = """
abs angle bitcast cast clip_by_norm clip_by_value complex identity ones_like round sigmoid sign
stop_gradient zeros_like ensure_shape guarantee_const bitwise.invert math.acos math.acosh
math.asin math.asinh math.atan math.atanh math.bessel_i0 math.bessel_i0e math.bessel_i1
math.bessel_i1e math.ceil math.conj math.cos math.cosh math.digamma math.erf math.erfc
math.erfcinv math.erfinv math.exp math.expm1 math.floor math.imag math.is_finite math.is_inf
math.is_nan math.lgamma math.log math.log1p math.log_sigmoid math.logical_not math.ndtri
math.negative math.nextafter math.real math.reciprocal math.reciprocal_no_nan math.rint math.rsqrt
math.sin math.sinh math.softplus math.special.bessel_j0 math.special.bessel_j1
math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e
math.special.bessel_y0 math.special.bessel_y1 math.special.dawsn math.special.expint
math.special.fresnel_cos math.special.fresnel_sin math.special.spence math.sqrt math.square
math.tan math.tanh nn.elu nn.gelu nn.leaky_relu nn.relu nn.relu6 nn.selu nn.silu nn.softsign
image.adjust_brightness image.adjust_contrast image.adjust_gamma image.adjust_hue
image.adjust_saturation image.convert_image_dtype image.per_image_standardization
strings.as_string strings.length strings.lower strings.strip strings.upper strings.regex_replace
strings.to_hash_bucket strings.to_hash_bucket_fast strings.to_number strings.unicode_script
debugging.check_numerics dtypes.saturate_cast
"""
_BINARY = """
bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift
math.add math.atan2 math.divide math.divide_no_nan math.equal math.floordiv math.floormod
math.greater math.greater_equal math.igamma math.igammac math.less math.less_equal
math.logical_and math.logical_or math.logical_xor math.maximum math.minimum math.multiply
math.multiply_no_nan math.not_equal math.polygamma math.pow math.squared_difference math.subtract
math.truediv math.xdivy math.xlog1py math.xlogy math.zeta realdiv truncatediv truncatemod
nn.sigmoid_cross_entropy_with_logits
"""
_BINARY_ASSERT = """
debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal
debugging.assert_less debugging.assert_less_equal debugging.assert_near
debugging.assert_none_equal
"""


class Rule:
    """What one dispatch target wants: a condition on bound arguments, and how it is called."""

    def __init__(
        self,
        target: Callable[..., Any],
        fits: Callable[[Mapping[str, Any]], bool],
        call: Callable[..., Any],
    ) -> None:
        self.target, self.fits, self.call = target, fits, call


class Dispatched:
    """The rules of a public function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.rules: list[Rule] = []

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        try:
            given = self.signature.bind(*args, **keywords).arguments
        except TypeError:
            return self.function(*args, **keywords)  # which says what is wrong
        for rule in self.rules:
            if rule.fits(given):
                found = rule.call(*args, **keywords)
                if found is not NotImplemented:
                    return found
        return self.function(*args, **keywords)


_dispatched: dict[Callable[..., Any], Dispatched] = {}  # by the function that looks


def _rules_of(api: Callable[..., Any]) -> Dispatched:
    """The rules of a public function, which is dispatched from now on."""
    if api not in _dispatched:
        found = Dispatched(api)

        @functools.wraps(api)
        def looking(*args: Any, **keywords: Any) -> Any:
            return found(args, keywords)

        if not _replace(api, looking):
            raise ValueError(
                f"{api!r} does not support dispatch: give a public function of tf, such as "
                "tf.concat."
            )
        _dispatched[looking] = found
        return found
    return _dispatched[api]


def _replace(function: Callable[..., Any], other: Callable[..., Any]) -> int:
    """Puts another function in the place of a public one; under how many names."""
    count = 0
    for module in _namespaces():
        for name, value in list(vars(module).items()):
            if value is function:
                setattr(module, name, other)
                count += 1
    return count


def _namespaces() -> Iterator[ModuleType]:
    """The public namespaces that are loaded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "gradtape" and hasattr(module, "__all__"):
            yield module


@published("experimental.dispatch_for_api")
def dispatch_for_api(
    api: Callable[..., Any], *signatures: Mapping[Any, Any]
) -> Callable[[Target], Target]:
    """A decorator: the public function `api` calls the decorated one where the arguments have the
    types of its annotations, or of one of `signatures`, which have types by parameter.

    >>> import gradtape as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    >>> @tf.experimental.dispatch_for_api(tf.shape)
    ... def masked_shape(input: Masked, out_type=tf.int32):
    ...     return tf.shape(input.values, out_type)
    >>> tf.shape(Masked([1.0, 2.0], [True, False])).numpy()
    array([2], dtype=int32)
    >>> tf.experimental.unregister_dispatch_for(masked_shape)
    """

    def register(target: Target) -> Target:
        rules = _rules_of(api)
        own = list(inspect.signature(target).parameters)
        theirs = list(rules.signature.parameters)
        if own != theirs and [name for name in own if name != "name"] != [
            name for name in theirs if name != "name"
        ]:
            raise ValueError(
                f"Dispatch function's parameters ({', '.join(own)}) must be those of the API "
                f"({', '.join(theirs)})."
            )
        wanted = [_by_name(each, theirs) for each in signatures] or [_hints(target)]
        if not all(wanted):
            raise ValueError(
                "dispatch_for_api: annotate at least one parameter with a type, or give signatures."
            )
        for types_by_name in wanted:
            rules.rules.append(Rule(target, _fitting(types_by_name), _without_name(target)))
        return target

    return register


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(target)
    hints.pop("return", None)
    return hints


def _by_name(signature: Mapping[Any, Any], names: Sequence[str]) -> dict[str, Any]:
    return {names[key] if isinstance(key, int) else key: kind for key, kind in signature.items()}


def _without_name(target: Callable[..., Any]) -> Callable[..., Any]:
    """The target, without the argument `name` if it does not take it."""
    if "name" in inspect.signature(target).parameters:
        return target

    def call(*args: Any, name: Any = None, **keywords: Any) -> Any:
        return target(*args, **keywords)

    return call


def _fitting(types_by_name: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    def fits(given: Mapping[str, Any]) -> bool:
        return all(
            name in given and _is_a(given[name], kind) for name, kind in types_by_name.items()
        )

    return fits


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of the type of an annotation; lists must have entries, all of them."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or isinstance(kind, TypeVar):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_is_a(value, each) for each in arguments)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return (
            isinstance(value, (list, tuple))
            and bool(value)
            and all(_is_a(entry, arguments[0]) for entry in value)
        )
    if isinstance(kind, TypeSpec):
        return kind.is_compatible_with(value)
    return isinstance(value, kind) if isinstance(kind, type) else False


@published("experimental.dispatch_for_unary_elementwise_apis")
def dispatch_for_unary_elementwise_apis(x_type: Any) -> Callable[[Target], Target]:
    """A decorator: `f(api, x)` stands in for all functions that work element by element on one
    argument, such as `tf.abs`, where it is of type `x_type`. `api` is one of a tensor alone.

    >>> import gradtape as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    >>> @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    ... def unary(api, x):
    ...     return Masked(api(x.values), x.mask)
    >>> tf.abs(Masked([-1.0, 2.0], [True, False])).values.numpy()
    array([1., 2.], dtype=float32)
    >>> tf.experimental.unregister_dispatch_for(unary)
    """
    return _for_elements(_UNARY, (x_type,))


@published("experimental.dispatch_for_binary_elementwise_apis")
def dispatch_for_binary_elementwise_apis(x_type: Any, y_type: Any) -> Callable[[Target], Target]:
    """A decorator: `f(api, x, y)` stands in for all functions that work element by element on two
    arguments, such as `tf.add`, where these are of the types `x_type` and `y_type`.

    >>> import gradtape as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    >>> @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Masked)
    ... def binary(api, x, y):
    ...     return Masked(api(x.values, y.values), x.mask & y.mask)
    >>> x = Masked([1.0, 2.0], [True, False])
    >>> tf.add(x, x).values.numpy()
    array([2., 4.], dtype=float32)
    >>> tf.experimental.unregister_dispatch_for(binary)
    """
    return _for_elements(_BINARY, (x_type, y_type))


@published("experimental.dispatch_for_binary_elementwise_assert_apis")
def dispatch_for_binary_elementwise_assert_apis(
    x_type: Any, y_type: Any
) -> Callable[[Target], Target]:
    """A decorator: `f(api, x, y)` stands in for `tf.debugging.assert_equal` and its like, where
    the first two arguments are of the types `x_type` and `y_type`.

    >>> import gradtape as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    >>> @tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked)
    ... def check(api, x, y):
    ...     return api(x.values[x.mask], y.values[y.mask])
    >>> x = Masked([1.0, 2.0], [True, False])
    >>> tf.debugging.assert_equal(x, Masked([1.0, 3.0], [True, False]))
    >>> tf.experimental.unregister_dispatch_for(check)
    """
    return _for_elements(_BINARY_ASSERT, (x_type, y_type))


def _for_elements(apis: str, kinds: tuple[Any, ...]) -> Callable[[Target], Target]:
    def register(target: Target) -> Target:
        for name in apis.split():
            api = _public(name)
            if api is not None:
                rules = _rules_of(api)
                rules.rules.append(_elementwise(rules, target, kinds))
        return target

    return register


def _public(name: str) -> Any:
    namespace, _, own = name.rpartition(".")
    module = import_module(f"gradtape.{namespace}".rstrip("."))
    return getattr(module, own, None)


def _elementwise(rules: Dispatched, target: Callable[..., Any], kinds: tuple[Any, ...]) -> Rule:
    """A rule for the first arguments, as many as there are kinds; the others belong to the function
    that the target is given.
    """
    operands = list(rules.signature.parameters)[: len(kinds)]

    def fits(given: Mapping[str, Any]) -> bool:
        return all(
            name in given and _is_a(given[name], kind)
            for name, kind in zip(operands, kinds, strict=True)
        )

    def call(*args: Any, **keywords: Any) -> Any:
        bound = rules.signature.bind(*args, **keywords).arguments
        values = [bound.pop(name) for name in operands]
        bound.pop("name", None)

        def api(*tensors: Any) -> Any:
            return rules.function(**dict(zip(operands, tensors, strict=True)), **bound)

        return target(functools.wraps(rules.function)(api) if bound else rules.function, *values)

    return Rule(target, fits, call)


@published("experimental.unregister_dispatch_for")
def unregister_dispatch_for(dispatch_target: Callable[..., Any]) -> None:
    """Undoes the `dispatch_for_...` of a function.

    >>> import gradtape as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    >>> @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    ... def unary(api, x):
    ...     return api(x.values)
    >>> tf.experimental.unregister_dispatch_for(unary)
    >>> try:
    ...     tf.abs(Masked([1.0]))
    ... except (TypeError, ValueError):
    ...     print("no more")
    no more
    """
    found = False
    for looking, rules in list(_dispatched.items()):
        kept = [rule for rule in rules.rules if rule.target is not dispatch_target]
        found = found or len(kept) < len(rules.rules)
        rules.rules = kept
        if not kept:
            _replace(looking, rules.function)
            del _dispatched[looking]
    if not found:
        raise ValueError(f"Function {dispatch_target!r} was not registered by a dispatch_for_....")
