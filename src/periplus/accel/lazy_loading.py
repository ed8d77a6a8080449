"""Loads compiled kernels from disk, without what only compiling needs.

Before it loads compiled code, Numba prepares to compile: it imports its library of functions, and reads the bitcode
that other kernels might inline. Nearly all starts compile nothing, and that preparation is half of their time. Here it
is deferred until something has to be compiled; Numba itself imports the library of functions then.
"""

import itertools
import os
import sys
from functools import partial
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from numba.core import bytecode, codegen, dispatcher, environment
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

from periplus.accel.cache_entries import save_entry
from periplus.accel.reference_pruning import install_reference_pruning

__all__ = ["LazyCache", "LoadedLibrary", "install_lazy_loading", "is_supported"]

_SUPPORTED_NUMBA: Final = (0, 68)
"""The version of Numba whose internals this relies on. With any other, kernels are loaded and saved by Numba itself:
slower, and compiled by one process."""


class LazyCache(FunctionCache):  # type: ignore[misc]
    """A cache that looks for compiled code when the kernel is called, and not when its module is imported."""

    def __init__(self, py_func: Any) -> None:
        self._waiting = py_func

    def __getattr__(self, name: str) -> Any:
        """Initialize the cache on the first use of an attribute."""
        waiting = self.__dict__.pop("_waiting", None)
        if waiting is None:
            raise AttributeError(name)
        super().__init__(waiting)
        self._cache_file.save = partial(save_entry, self._cache_file)
        return getattr(self, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code; of Numba, running it needs only the runtime that counts references."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


class LoadedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Machine code from the cache. Its bitcode is parsed when another kernel is compiled that may inline it."""

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
        """Return the address of a function of this library."""
        address: int = self._codegen._engine.get_function_address(name)
        return address

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


def _rebuild_env(module: str, constants: Any, name: str) -> Any:
    """Return the environment of compiled code, without importing parts of Numba for it.

    Only code in object mode reads the globals of its module, and kernels never do.
    """
    existing = environment.lookup_environment(name)
    if existing is not None or module in sys.modules or not module.startswith("numba."):
        return _REBUILD_ENV(module, constants, name)
    rebuilt = environment.Environment({"__name__": module})
    rebuilt.consts[:] = constants
    rebuilt.env_name = name
    environment.Environment._memo[name] = rebuilt
    return rebuilt


_UNSERIALIZE: Final = codegen.JITCodeLibrary._unserialize
_REBUILD_ENV: Final = environment._rebuild_env
# Cached code refers to this function by name: to Numba's own, so that it can be loaded without this module.
_rebuild_env.__module__, _rebuild_env.__qualname__ = _REBUILD_ENV.__module__, _REBUILD_ENV.__qualname__


def _prepare_types(kernel: Any) -> None:
    """Before types of arguments are looked at, look for extensions of Numba, as it does, but not for our kernels.

    That reads the metadata of every installed package. Kernels have no types of extensions; Numba looks for them too
    before it compiles.
    """
    if not kernel.py_func.__module__.startswith("periplus."):
        _PREPARE_TYPES(kernel)


_DISPATCHER: Final[Any] = vars(dispatcher)["_DispatcherBase"]
_PREPARE_TYPES: Final = _DISPATCHER._compilation_chain_init_hook


def is_supported() -> bool:
    """Return whether compiled code is loaded and saved in this way: only then may several processes compile at once."""
    supported: bool = numba.version_info.short == _SUPPORTED_NUMBA
    return supported


def install_lazy_loading() -> None:
    """Have Numba load compiled code in this way, if its version is supported."""
    if not is_supported():
        return
    # Numba counts the functions that it compiles, and names their code after the count. Code of several processes is
    # loaded into one, where a name must not mean two functions: so each begins somewhere else.
    bytecode.FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(5), "big") + 1)
    install_reference_pruning()
    vars(dispatcher)["FunctionCache"] = LazyCache
    _DISPATCHER._compilation_chain_init_hook = _prepare_types
    environment._rebuild_env = _rebuild_env
    codegen.JITCodeLibrary._unserialize = LoadedLibrary._unserialize
