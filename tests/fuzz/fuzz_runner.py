"""Fuzzing of every parser and reader, with new inputs each time.

    .venv/bin/python tests/fuzz/fuzz_runner.py [--minutes M] [--seed N] [--target NAME] [--replay FILE]

Each target runs in a child process, in turns, on inputs that are mutated from saved ones or generated from tokens. The
child writes each input down before it is used, so that the one that kills the process is known. An input may take
`--seconds` of processor time and MAX_BYTES of memory. Inputs that lead to something new are saved in `.fuzz`, and those
that are faults in `.fuzz/faults`, with the command that repeats them. With a seed only the inputs of the repository are
used, so that a run can be repeated.
"""

import argparse
import faulthandler
import hashlib
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "fuzz"), str(ROOT / "bench")]

from fuzz_targets import TARGETS, Target, run_target, saved_inputs  # noqa: E402
from input_mutations import MAX_INPUT, generate, mutate  # noqa: E402

GROWN = ROOT / ".fuzz"
MAX_BYTES = 1 << 30
"""Memory that the inputs of one child may take."""
MAX_GROWN = 2_000
"""Saved inputs of one target that are used."""
_STATE = struct.Struct("<QQ")
"""At the beginning of the shared memory: inputs so far, and the length of the present one."""
_REPORT = 1 << 13
"""Bytes at the end of the shared memory for a traceback."""


class Fault(NamedTuple):
    """An input that does what none may."""

    target: str
    kind: str
    data: bytes
    details: str


def inputs_of(target: Target, seed: str, pool: Sequence[bytes]) -> "InputSource":
    """Return the inputs of a target for a seed."""
    return InputSource(target, random.Random(f"{seed} {target.name}"), list(pool))


class InputSource:
    """Makes inputs, and learns from what became of them."""

    def __init__(self, target: Target, chance: random.Random, pool: list[bytes]) -> None:
        self._target, self._chance, self._pool = target, chance, pool
        self._outcomes: set[str] = set()

    def next(self) -> bytes:
        """Return the next input."""
        if self._target.tokens and self._chance.random() < 0.35:
            return generate(self._target.tokens, self._chance)
        return mutate(self._chance.choice(self._pool), self._chance, self._pool)

    def learn(self, data: bytes, outcome: str) -> bool:
        """Note what became of an input; return whether that is new."""
        if outcome in self._outcomes:
            return False
        self._outcomes.add(outcome)
        self._pool.append(data)
        return True


def prepare(targets: Sequence[Target]) -> None:
    """Run saved inputs, so that kernels are compiled and parts imported before time and memory are limited."""
    for target in targets:
        for data in saved_inputs(target):
            run_target(target, data)


def grown_inputs(target: Target) -> list[bytes]:
    """Return the inputs of a target that earlier runs saved."""
    folder = GROWN / target.name
    paths = sorted(folder.iterdir())[-MAX_GROWN:] if folder.is_dir() else []
    return [path.read_bytes() for path in paths]


def _save(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.blake2b(data, digest_size=8).hexdigest()
    path.write_bytes(data)
    return path


def _child(
    target: Target, seed: str, pool: list[bytes], shared: mmap.mmap, length: float, seconds: float, grow: bool
) -> None:
    """Run inputs for `length` seconds; never returns."""
    prepare([target])
    end = time.monotonic() + length
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, used + MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    source, count = inputs_of(target, seed, pool), 0
    while time.monotonic() < end:
        data = source.next()
        count += 1
        shared[: _STATE.size] = _STATE.pack(count, len(data))
        shared[_STATE.size : _STATE.size + len(data)] = data
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            outcome = run_target(target, data)
        except BaseException:
            signal.setitimer(signal.ITIMER_PROF, 0)
            report = traceback.format_exc().encode("utf-8", "replace")[-_REPORT + 2 :]
            shared[len(shared) - _REPORT :] = report.ljust(_REPORT, b"\0")
            os._exit(1)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if source.learn(data, outcome) and grow:
            _save(GROWN / target.name, data)
    os._exit(0)


def run_turn(
    target: Target, seed: str, pool: list[bytes], length: float, seconds: float, grow: bool
) -> tuple[int, Fault | None]:
    """Fuzz one target in a child process for some seconds; return how many inputs were used, and the fault."""
    shared = mmap.mmap(-1, _STATE.size + MAX_INPUT + _REPORT)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        try:
            _child(target, seed, pool, shared, length, seconds, grow)
        finally:
            os._exit(2)
    status = _wait(child, length + 300 + 20 * seconds)
    count, size = _STATE.unpack(shared[: _STATE.size])
    data = shared[_STATE.size : _STATE.size + size]
    details = shared[len(shared) - _REPORT :].rstrip(b"\0").decode("utf-8", "replace")
    shared.close()
    if status == 0:
        return count, None
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "timeout" if number in (signal.SIGPROF, signal.SIGKILL) else f"signal {number}"
    else:
        kind = "memory" if "MemoryError" in details[-200:] else "exception"
    return count, Fault(target.name, kind, data, details)


def _wait(child: int, length: float) -> int:
    """Return the status of a child, which is killed after `length` seconds."""
    end = time.monotonic() + length
    while True:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return status
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(0.02)


def _report(fault: Fault) -> None:
    path = _save(GROWN / "faults" / fault.target, fault.data)
    print(f"FAULT {fault.target}: {fault.kind}\n{fault.details}".rstrip())
    print(f"  again: make fuzz TARGET={fault.target} REPLAY={path.relative_to(ROOT)}")


def fuzz(targets: Sequence[Target], minutes: float, seed: int | None, seconds: float = 10.0) -> int:
    """Fuzz targets in turns; return the number of faults."""
    print("compiling kernels with checked bounds, which is stored, and running saved inputs", flush=True)
    prepare(targets)
    end = time.monotonic() + 60 * minutes
    counts, faults, turn = dict.fromkeys((target.name for target in targets), 0), 0, 0
    first = seed if seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {first}: repeat with make fuzz SEED={first} TARGET=name", flush=True)
    while time.monotonic() < end:
        # Short turns at first, so that each target has one; then longer ones, since each begins with an import.
        length = max(1.0, 60 * minutes / len(targets) / (4 if turn == 0 else 2))
        for target in targets:
            if time.monotonic() >= end:
                break
            pool = saved_inputs(target) + (grown_inputs(target) if seed is None else [])
            count, fault = run_turn(target, f"{first} {turn}", pool, length, seconds, seed is None)
            counts[target.name] += count
            if fault is not None:
                faults += 1
                _report(fault)
        turn += 1
    for name, count in counts.items():
        print(f"{name:<16}{count:>12,} inputs")
    print(f"{sum(counts.values()):,} inputs, {faults} faults")
    return faults


def damage_files(seed: int | None, minutes: float) -> int:
    """Damage the arrays of every file kind for about so long; return the number of faults."""
    import segment_damage

    number = seed if seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"damaged files, seed {number}", flush=True)
    rows = segment_damage.damage_every_array(1 << 20, number, seconds=60 * minutes, shuffle=True)
    faults = [row for row in rows if row.is_fault]
    for row in faults:
        print("FAULT", *row)
    print(f"{len(rows):,} damaged files, {len(faults)} faults")
    return len(faults)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time of one input")
    parser.add_argument("--target", default="", help="one of: files, " + ", ".join(target.name for target in TARGETS))
    parser.add_argument("--replay", type=Path, help="run one saved input of a target")
    options = parser.parse_args()
    targets = [target for target in TARGETS if options.target in ("", target.name)]
    if options.replay:
        print(run_target(targets[0], options.replay.read_bytes()))
        return
    faults = 0
    share = 0.25 if options.target == "" else 1.0
    if targets:
        faults += fuzz(
            targets, options.minutes * (1 - share if options.target == "" else 1), options.seed, options.seconds
        )
    if options.target in ("", "files"):
        faults += damage_files(options.seed, options.minutes * share)
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
