"""`TapeMethods`: what a `GradientTape` has besides `gradient`, declared for type checkers; `gradtape.transforms` defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class TapeMethods:
    """Jacobians and higher derivatives of what a tape has recorded."""

    if TYPE_CHECKING:

        def jacobian(
            self,
            target: Any,
            sources: Any,
            unconnected_gradients: Any = ...,
            parallel_iterations: int | None = None,
            experimental_use_pfor: bool = True,
            *,
            mode: str = "auto",
            memory_limit: int | None = None,
            sparse: bool = False,
        ) -> Any: ...

        def batch_jacobian(
            self,
            target: Any,
            source: Any,
            unconnected_gradients: Any = ...,
            parallel_iterations: int | None = None,
            experimental_use_pfor: bool = True,
            *,
            mode: str = "auto",
            memory_limit: int | None = None,
            check_independence: bool = True,
        ) -> Any: ...

        def gradient_per_example(
            self,
            losses: Any,
            variables: Any,
            clip_norm: Any = None,
            *,
            unconnected_gradients: Any = ...,
            memory_limit: int | None = None,
        ) -> Any: ...

        def sparsity(self, target: Any, source: Any) -> Any: ...

        def derivatives(
            self, target: Any, sources: Mapping[str, Any], partials: Sequence[Any], unconnected_gradients: Any = ...
        ) -> dict[Any, Any]: ...
