"""Results of benchmarks: a JSON file each, with the date and the machine."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """Return a description of the machine."""
    model = ""
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        lines = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else ""
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def save(name: str, figures: Any) -> Path:
    """Write the figures of one benchmark, over those of its last run."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    record = {"benchmark": name, "date": datetime.now(UTC).date().isoformat(), "machine": machine(), "figures": figures}
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path
