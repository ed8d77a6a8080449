"""Compiled kernels back from disk, without what only compiling needs.

Numba is ready to compile before it loads what it compiled earlier: its library of functions is imported, and the code
that other kernels might want to inline is read. Nearly all starts compile nothing, and that is half of what they take.
Here it is left until something has to be compiled; Numba itself sees to the library of functions then.
"""

import sys
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from numba.core import codegen, dispatcher, environment
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

__all__ = ["LazyCache", "LoadedLibrary", "install_lazy_loading"]

_KNOWN: Final = (0, 68)
"""The Numba whose insides this leans on. With any other, kernels load as Numba loads them: slower, and the same."""


class LazyCache(FunctionCache):  # type: ignore[misc]
    """Looks for a kernel's compiled code when the kernel is called, and not when its module is imported."""

    def __init__(self, py_func: Any) -> None:
        self._waiting = py_func

    def __getattr__(self, name: str) -> Any:
        """Become an ordinary cache when anything is asked of this one."""
        waiting = self.__dict__.pop("_waiting", None)
        if waiting is None:
            raise AttributeError(name)
        super().__init__(waiting)
        return getattr(self, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code: running it takes the part of Numba that counts references, and nothing more of it."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


class LoadedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Machine code that was loaded. What others may inline of it is unpacked when somebody compiles."""

    _bitcode: bytes
    _shared_module: Any

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "object":
            return _UNSERIALIZE(codegen, state)
        library = cls(codegen, name)
        library._bitcode = data[1]
        library.enable_object_caching()
        library._set_compiled_object(data[0])
        library._finalize_final_module()
        return library

    def get_pointer_to_function(self, name: str) -> int:
        """Give the address of a function of this library."""
        address: int = self._codegen._engine.get_function_address(name)
        return address

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


def _rebuild_env(module: str, constants: Any, name: str) -> Any:
    """Give back what a function's compiled code refers to, without importing parts of Numba for it.

    Only code that runs Python objects looks at the names of its module, and kernels never do.
    """
    known = environment.lookup_environment(name)
    if known is not None or module in sys.modules or not module.startswith("numba."):
        return _REBUILD_ENV(module, constants, name)
    made = environment.Environment({"__name__": module})
    made.consts[:] = constants
    made.env_name = name
    environment.Environment._memo[name] = made
    return made


_UNSERIALIZE: Final = codegen.JITCodeLibrary._unserialize
_REBUILD_ENV: Final = environment._rebuild_env
# What is kept on disk names the function that gives it back: Numba's own, so that it can be read without this module.
_rebuild_env.__module__, _rebuild_env.__qualname__ = _REBUILD_ENV.__module__, _REBUILD_ENV.__qualname__


def install_lazy_loading() -> None:
    """Have Numba load compiled code in this way, if it is one that is known."""
    if numba.version_info.short != _KNOWN:
        return
    vars(dispatcher)["FunctionCache"] = LazyCache
    environment._rebuild_env = _rebuild_env
    codegen.JITCodeLibrary._unserialize = LoadedLibrary._unserialize
