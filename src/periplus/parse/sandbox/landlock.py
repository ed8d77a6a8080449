"""Landlock: from then on a process can open no file and no TCP connection, where the kernel has it (Linux 5.13)."""

import ctypes
import os
import struct
import sys
from typing import Final

__all__ = ["restrict_files"]

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_GET_VERSION: Final = 1
_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""From this version on, so many of the lowest bits are rights to files."""
_NETWORK_VERSION: Final = 4
_NETWORK_RIGHTS: Final = 3
_SCOPE_VERSION: Final = 6
_SCOPES: Final = 3
"""Abstract sockets and signals of processes outside."""


def restrict_files() -> bool:
    """Drop all rights to files and TCP, for good; return False where the kernel has no Landlock.

    The process must have set `no_new_privs`.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION)
    if version < 1:
        return False
    bits = max(bits for least, bits in _FILE_RIGHTS if version >= least)
    rights = [(1 << bits) - 1]
    rights += [_NETWORK_RIGHTS] * (version >= _NETWORK_VERSION) + [_SCOPES] * (version >= _SCOPE_VERSION)
    attributes = struct.pack(f"={len(rights)}Q", *rights)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    try:
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
