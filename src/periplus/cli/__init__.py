"""Arguments in, one call out: the `periplus` command. The only room that loads settings and wires the others.

In: the command line, periplus.toml, the environment. Out: text (or JSON) for people and programs, and an exit code:
0 done, 1 could not, 2 not understood, 130 interrupted. A file per command; rooms are imported when a command runs,
so that `periplus --help` answers at once.
"""

try:
    from periplus.cli.entry import app, main
except KeyboardInterrupt:  # Ctrl-C while modules load: there is nothing to say yet
    raise SystemExit(130) from None

__all__ = ["app", "main"]
