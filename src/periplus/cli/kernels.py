"""Compile the kernels before the first work that needs them, with a progress line."""

from periplus.cli.console import note, progress

__all__ = ["compile_kernels"]


def compile_kernels(quiet: bool = False) -> None:
    """Make sure that every kernel is compiled; only the first start on a machine has to wait."""
    from periplus.accel import is_compiled, warm_up

    if is_compiled():
        return
    if not quiet:
        note("First start: compiling the kernels, once (a minute or two)")
    with progress(quiet) as report:
        warm_up(report)
