"""`periplus doctor`, `check` and `repair`: what is missing, which files are damaged, and what can be done about it."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import echo, echo_json, format_bytes, format_count, log
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["check", "doctor", "repair"]

Parts = Annotated[
    list[str] | None,
    typer.Argument(help="Parts to verify: store, graph, index, crawl, inbox, other.  [default: all]", metavar="PART"),
]

_MARKS: Final = {"ok": "✓", "optional": "·", "bad": "✗"}


@with_settings()
def doctor(settings: Settings, as_json: AsJson = False) -> None:
    """Show what is installed, what is missing and what to do."""
    from periplus.app import examine_installation

    findings = examine_installation(settings)
    usable = all(finding.state != "bad" for finding in findings)
    if as_json:
        echo_json({"usable": usable, "findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            echo(f"{_MARKS[finding.state]} {finding.name}: {finding.detail}")
        echo("\nEverything needed is installed." if usable else "\nSomething is missing; see the lines marked ✗.")
    raise typer.Exit(0 if usable else 1)


@with_settings()
def check(settings: Settings, parts: Parts = None, as_json: AsJson = False) -> None:
    """Read every byte of the data folder and verify all checksums; exit with 1 if there are faults."""
    from periplus.app import check_data_folder

    folder = Path(settings.folder)
    with observe(as_json) as observer:
        result = check_data_folder(folder, tuple(parts or ()), observer)
    if as_json:
        echo_json(result)
    else:
        for fault in result.faults:
            log(str(fault))
        size = f"{format_count(result.files, 'file')}, {format_bytes(result.bytes)}"
        if result.faults:
            echo(f"{size}: {format_count(len(result.faults), 'fault')}. To repair: periplus repair.")
        else:
            echo(f"{size}: no faults.")
    if result.faults:
        raise typer.Exit(1)


@with_settings(memory_mb="index.memory_mb")
def repair(settings: Settings, as_json: AsJson = False) -> None:
    """Restore damaged files from the others and say what is lost; removed files are in the folder 'damaged'.

    Exit with 1 if something could not be repaired.
    """
    from periplus.app import repair_data_folder

    with observe(as_json) as observer:
        report = repair_data_folder(Path(settings.folder), settings, observer)
    if as_json:
        echo_json(report)
    else:
        for line in (*map(str, report.faults), *report.actions):
            log(line)
        for url in report.refetched:
            log(f"Its copy is lost; the next crawl fetches it again: {url}")
        for line in report.unrepaired:
            log(f"Not repaired: {line}")
        rest = f"; {format_count(len(report.unrepaired), 'problem')} left" if report.unrepaired else ""
        found = format_count(len(report.faults), "fault")
        echo(f"{found}{rest}." if report.faults or rest else "No faults; nothing to repair.")
    if report.unrepaired:
        raise typer.Exit(1)
