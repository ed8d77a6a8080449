"""`periplus doctor`: what is installed, what is missing, and what to do about it."""

from typing import Final

import typer

from periplus.cli.console import echo, echo_json
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["doctor"]

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
