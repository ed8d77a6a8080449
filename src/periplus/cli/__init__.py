"""The `periplus` command: arguments in, one call of `app`, then printing. The only package that prints.

In: the command line, periplus.toml, the environment. Out: text (or JSON) for people and programs, and an exit code:
0 success, 1 failure, 2 usage error, 130 interrupted. `commands` has a file for each command; `app` is imported when a
command runs, so that `periplus --help` answers at once. `PlainObserver` prints what a call of `app` reports.
"""

try:
    from periplus.cli.console_observer import PlainObserver
    from periplus.cli.entry import app, main
except KeyboardInterrupt:  # Ctrl-C while modules are loaded: there is nothing to report yet
    raise SystemExit(130) from None

__all__ = ["PlainObserver", "app", "main"]
