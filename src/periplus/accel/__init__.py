"""Numba support: the compile cache, warm-up, borrowed array pointers, SIMD primitives. No algorithm of its own.

Every kernel module takes `njit` from here, so that the compile cache is in place before the first kernel is declared.

    njit            Numba's decorator; kernels are `@njit(cache=True, nogil=True)`
    warm_up         compile every kernel once; later starts read the cache
    load_imported   call every kernel of the imported modules, which loads them
    is_compiled     whether that has been done on this machine
    take_precompiled  the kernels of a platform wheel, instead of compiling
    cache_folder    where compiled kernels are stored
    pointers        arrays passed to kernels as addresses, without reference counting
    simd            scans over 32 bytes at a time
"""

from periplus.accel.numba_import import njit

# isort: split

from periplus.accel.compile_cache import install_cache
from periplus.accel.fork_locks import install_fork_locks
from periplus.accel.warmup import cache_folder, is_compiled, load_imported, take_precompiled, warm_up

__all__ = ["cache_folder", "is_compiled", "load_imported", "njit", "pointers", "simd", "take_precompiled", "warm_up"]

install_cache()
install_fork_locks()
