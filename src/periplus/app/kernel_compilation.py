"""Compile the kernels before the first work that needs them."""

from periplus.app.observer import SILENT, Observer

__all__ = ["compile_kernels"]


def compile_kernels(observer: Observer = SILENT) -> None:
    """Compile every kernel that is not in the cache; this takes a minute or two, once on each machine."""
    from periplus.accel import is_compiled, warm_up

    if is_compiled():
        return
    observer.message("First start: compiling the kernels, once (a minute or two)")
    warm_up(observer.progress)
