"""Compile the kernels before the first work that needs them."""

from periplus.app.observer import SILENT, Observer

__all__ = ["compile_kernels"]


def compile_kernels(observer: Observer = SILENT) -> None:
    """Compile every kernel that is not in the cache; this takes a minute or so on each machine, once.

    Kernels that the package was built with are taken over instead, if they fit this machine.
    """
    from periplus.accel import is_compiled, take_precompiled, warm_up

    if is_compiled():
        return
    obstacle = take_precompiled()
    if obstacle:
        observer.message(f"First start: compiling the kernels, once, on all cores ({obstacle})")
        warm_up(observer.progress)
