"""How Numba removes the counting of references while it compiles: the same result, with less searching.

Numba counts the references to every array, and a pass of its compiler removes pairs that cancel out. It runs over each
function, over all that is linked together, and once more at the end. One of its four searches, for diamonds in the
control flow, computes the dominators of a function anew for each pair that it tries: in large kernels it took longer
than all other optimization. At the end, few pairs remain, and it takes next to nothing; only there it is run.
"""

from typing import Any, Final

import numba
from numba.core import codegen

__all__ = ["install_reference_pruning"]

_BEFORE_THE_END: Final = "per_bb,fanout,fanout_raise"


def install_reference_pruning() -> None:
    """Have Numba search for diamonds in the last pass only."""
    whole, single = codegen.CPUCodegen._module_pass_manager, codegen.CPUCodegen._function_pass_manager

    def module_passes(self: Any, **options: Any) -> Any:
        return _without_diamonds(whole, self, options) if options.get("cost") == "cheap" else whole(self, **options)

    def function_passes(self: Any, **options: Any) -> Any:
        return _without_diamonds(single, self, options)

    codegen.CPUCodegen._module_pass_manager = module_passes
    codegen.CPUCodegen._function_pass_manager = function_passes


def _without_diamonds(make: Any, self: Any, options: dict[str, Any]) -> Any:
    chosen = numba.config.LLVM_REFPRUNE_FLAGS
    numba.config.LLVM_REFPRUNE_FLAGS = _BEFORE_THE_END
    try:
        return make(self, **options)
    finally:
        numba.config.LLVM_REFPRUNE_FLAGS = chosen
