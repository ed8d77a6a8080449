"""The process in which operations run: it has the shim and everything loaded, and forks for each job.

    python lab_process.py

Reads a job as one line of JSON from standard input, answers with one line of JSON. A job is one step of an operation
(prepare, run, check), done in a child, so that neither a crash nor a leak reaches the next one.
"""

import faulthandler
import io
import json
import os
import select
import signal
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crawl"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fault_shim import Shim
from operation import Lost, Wrong
from operations import OPERATIONS, warm

from periplus.errors import PeriplusError
from periplus.files import disk_failure

_GRACE_SECONDS = 1.0


class Marks:
    """Marks in the log of the shim: what an operation began and what it acknowledged."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim

    def begin(self, name: str) -> None:
        self._shim.mark(f"begin {name}")

    def done(self, name: str) -> None:
        self._shim.mark(f"done {name}")


def _execute(job: dict[str, Any], shim: Shim) -> tuple[str, str]:
    """Do one step; return how it ended, and why."""
    operation, folder = OPERATIONS[job["operation"]], Path(job["folder"])
    try:
        if job["step"] == "prepare":
            operation.prepare(folder)
        elif job["step"] == "run":
            operation.run(folder, Marks(shim))
        else:
            operation.check(folder, job["done"], job["begun"])
    except Wrong as error:
        return "lost" if isinstance(error, Lost) else "wrong", str(error)
    except PeriplusError as error:
        if "unexpected " in str(error):
            return "traceback", str(error)
        return "refused", f"{type(error).__name__}: {error}"
    except OSError as error:
        # Whoever calls the library gets the system's own error; a command prints it by this rule.
        return "refused", str(error) if error.filename is None else str(disk_failure(error.filename, error))
    except BaseException as error:
        return "traceback", "".join(traceback.format_exception(error))
    return "ok", ""


def _child(job: dict[str, Any], shim: Shim, answer: int) -> None:
    os.setpgid(0, 0)
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    sys.stdin = io.StringIO()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if job["control"]:
        shim.attach(Path(job["control"]))
    outcome = _execute(job, shim)
    os.write(answer, json.dumps(outcome).encode())
    sys.stdout.flush()
    sys.stderr.flush()


def _run_job(job: dict[str, Any], shim: Shim) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            _child(job, shim, writing)
        except BaseException:
            os.write(writing, json.dumps(("traceback", traceback.format_exc())).encode())
        finally:
            os._exit(0)
    os.close(writing)
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    in_time = bool(poll.poll(job["seconds"] * 1000))
    if not in_time:
        os.kill(child, signal.SIGUSR1)  # prints where its threads are
        poll.poll(_GRACE_SECONDS * 1000)
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        os.kill(child, signal.SIGKILL) if not in_time else None
    _, status = os.waitpid(child, 0)
    os.close(handle)
    with os.fdopen(reading, "rb") as answer:
        raw = answer.read() if in_time else b""
    output = Path(job["output"]).read_text("utf-8", "replace")[-4000:]
    if not in_time:
        kind, message = "hang", ""
    elif raw:
        kind, message = json.loads(raw)
    else:
        kind, message = "killed", f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"
    return {"kind": kind, "message": message, "output": output}


def main() -> None:
    """Answer jobs until the input ends."""
    shim = Shim()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warm()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(_run_job(json.loads(line), shim)), flush=True)


if __name__ == "__main__":
    main()
