"""The fault laboratory: operations under faults and power failures, and the counts of what went wrong."""

import contextlib
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from fault_shim import Control, FaultKind, controlled, preload_environment
from power_cut import POLICIES, DiskModel, LogEntry, cut_states, list_inodes, read_write_log

FAILURES = ("lost", "wrong", "hang", "traceback", "killed", "unclear error", "not repeatable")
"""Kinds of failures: acknowledged and lost; a wrong answer; ...; killed by a signal, such as SIGSEGV; an error that
names no file; a command that still fails when the fault is gone."""
_SECONDS = 60.0


class Outcome(NamedTuple):
    """How a step of an operation ended."""

    kind: str
    """ok, refused (by an error of Periplus), lost, wrong, traceback, hang or killed."""
    message: str
    output: str


class Failure(NamedTuple):
    """Something that must not happen."""

    kind: str
    operation: str
    case: str
    details: str


class Result(NamedTuple):
    """What was tried of one operation, and what failed."""

    tried: Counter[str]
    failures: list[Failure]


class Laboratory:
    """A process with the shim in which steps of operations run, and a folder for what they leave."""

    def __init__(self, library: Path, scratch: Path) -> None:
        self.scratch = scratch
        scratch.mkdir(parents=True, exist_ok=True)
        program = Path(__file__).with_name("lab_process.py")
        self._process = subprocess.Popen(
            [sys.executable, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=preload_environment(library),
            text=True,
        )
        self._read()
        self._bases: dict[str, Path] = {}
        self._number = 0

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of the laboratory has ended")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def step(
        self,
        operation: str,
        step: str,
        folder: Path,
        control: Control | None = None,
        done: list[str] | None = None,
        begun: list[str] | None = None,
        seconds: float = _SECONDS,
    ) -> Outcome:
        """Do one step of an operation in a child process."""
        job = {
            "operation": operation,
            "step": step,
            "folder": str(folder),
            "control": str(control.path) if control else "",
            "output": str(self.scratch / "output"),
            "done": done or [],
            "begun": begun or [],
            "seconds": seconds,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Outcome(**self._read())

    def base(self, operation: str) -> Path:
        """Return the folder that an operation begins with."""
        if operation not in self._bases:
            folder = self.scratch / f"base-{len(self._bases)}"
            outcome = self.step(operation, "prepare", folder)
            assert outcome.kind == "ok", outcome
            self._bases[operation] = folder
        return self._bases[operation]

    @contextlib.contextmanager
    def copy(self, base: Path) -> Iterator[Path]:
        """Yield a copy of a folder, which is removed afterwards."""
        self._number += 1
        folder = self.scratch / f"work-{self._number}"
        shutil.copytree(base, folder, symlinks=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def record(self, operation: str) -> tuple[list[LogEntry], dict[int, str]]:
        """Run an operation undisturbed; return its write log and the inodes it began with."""
        log = self.scratch / "log"
        log.unlink(missing_ok=True)
        with self.copy(self.base(operation)) as folder:
            inodes = list_inodes(folder)
            with controlled(self.scratch / "control", folder, log) as control:
                outcome = self.step(operation, "run", folder, control)
                assert outcome.kind == "ok", outcome
                assert not control.unseen_writers, f"{operation} writes what the log does not see"
            return read_write_log(log, folder), inodes

    def cut_power(self, operation: str, cuts: int, seed: int, rounds: int = 1) -> Result:
        """Check an operation after power failures at some moments."""
        entries, inodes = self.record(operation)
        result = Result(Counter(), [])
        for state in cut_states(self.base(operation), inodes, entries, self.scratch, cuts, seed, rounds):
            done, begun = split_marks(state.marks)
            result.tried[state.policy] += 1
            outcome = self.step(operation, "check", state.folder, done=done, begun=begun)
            if outcome.kind != "ok":
                case = f"cut after {state.entries} of {len(entries)} changes, {state.policy}, done {done}"
                result.failures.append(_failure(outcome, operation, case))
        return result

    def inject(self, operation: str, kind: FaultKind, most: int, seed: int) -> Result:
        """Run an operation with one fault at some of its calls, check it, run it again and check it again."""
        result = Result(Counter(), [])
        chance = random.Random(f"{seed} {operation} {kind.name}")
        count = self._count_calls(operation, kind)
        numbers = list(range(1, count + 1))
        for nth in sorted(numbers if count <= most else chance.sample(numbers, most)):
            result.tried[kind.name] += 1
            self._inject_once(operation, kind, nth, result)
        return result

    def _count_calls(self, operation: str, kind: FaultKind) -> int:
        with (
            self.copy(self.base(operation)) as folder,
            controlled(self.scratch / "control", folder, None, kind) as control,
        ):
            outcome = self.step(operation, "run", folder, control)
            assert outcome.kind == "ok", outcome
            return control.count

    def _inject_once(self, operation: str, kind: FaultKind, nth: int, result: Result) -> None:
        log = self.scratch / "log"
        log.unlink(missing_ok=True)

        def fail(outcome: Outcome, stage: str, failed: str) -> None:
            case = f"{kind.name} at call {nth} ({failed}), {stage}"
            result.failures.append(_failure(outcome, operation, case))

        with self.copy(self.base(operation)) as folder:
            inodes = list_inodes(folder)
            with controlled(self.scratch / "control", folder, log, kind, nth) as control:
                outcome = self.step(operation, "run", folder, control)
                failed = control.failed_path.replace(str(folder), "")
            if outcome.kind not in ("ok", "refused"):
                fail(outcome, "while running", failed)
            elif outcome.kind == "refused" and str(folder) not in outcome.message:
                result.failures.append(
                    Failure("unclear error", operation, f"{kind.name} at call {nth} ({failed})", outcome.message)
                )
            marks = tuple(entry.data.decode() for entry in read_write_log(log, folder) if entry.kind == "M")
            done, begun = split_marks(marks)
            with self.copy(folder) as checked:
                outcome = self.step(operation, "check", checked, done=done, begun=begun)
                if outcome.kind != "ok":
                    fail(outcome, f"checked with {done}", failed)
            with controlled(self.scratch / "control", folder, log) as control:
                outcome = self.step(operation, "run", folder, control)
            if outcome.kind != "ok":
                fail(outcome._replace(kind="not repeatable"), "run again", failed)
            marks = tuple(entry.data.decode() for entry in read_write_log(log, folder) if entry.kind == "M")
            done, begun = split_marks(marks)
            with self._cut_at_end(operation, folder, inodes, log) as cut:
                outcome = self.step(operation, "check", cut, done=done, begun=begun)
                if outcome.kind != "ok":
                    fail(outcome, "checked after it was run again, and power failed", failed)
            outcome = self.step(operation, "check", folder, done=done, begun=begun)
            if outcome.kind != "ok":
                fail(outcome, "checked after it was run again", failed)

    @contextlib.contextmanager
    def _cut_at_end(self, operation: str, folder: Path, inodes: dict[int, str], log: Path) -> Iterator[Path]:
        """Yield what is left of a folder when power fails after the changes of a log, all unsynced ones lost."""
        model = DiskModel(self.base(operation), inodes)
        for entry in read_write_log(log, folder):
            model.apply(entry)
        self._number += 1
        cut = self.scratch / f"work-{self._number}"
        model.write(model.cut(POLICIES[0], random.Random(0)), cut)
        try:
            yield cut
        finally:
            shutil.rmtree(cut, ignore_errors=True)


def split_marks(marks: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return what was acknowledged and what was begun."""
    done = [mark.removeprefix("done ") for mark in marks if mark.startswith("done ")]
    begun = [mark.removeprefix("begin ") for mark in marks if mark.startswith("begin ")]
    return done, begun


def _failure(outcome: Outcome, operation: str, case: str) -> Failure:
    # A folder that cannot be opened afterwards has lost what was in it.
    kind = "lost" if outcome.kind == "refused" else outcome.kind
    return Failure(kind, operation, case, f"{outcome.message}\n{outcome.output}".strip()[-3000:])
