"""Compile the kernels before the first work that needs them."""

from periplus.app.observer import SILENT, Observer

__all__ = ["compile_kernels"]


def compile_kernels(observer: Observer = SILENT) -> None:
    """Compile every kernel that is not in the cache; this takes a minute or so on each machine, once."""
    from periplus.accel import is_compiled, warm_up

    if is_compiled():
        return
    observer.message("First start: compiling the kernels, once, on all cores")
    warm_up(observer.progress)
