"""What can go wrong. One tree, in one file; every error is one clear line and, where we know it, what to do next.

    PeriplusError
    ├── SettingsError          a setting is unknown, of the wrong type or out of range
    ├── BadInput               something a person or a file gave us cannot be used
    │   ├── BadUrl             a string that is no URL, or one we do not fetch
    │   ├── BadFile            a file to import or evaluate that cannot be read
    │   └── NotOwner           something that belongs to another publisher
    ├── DataError              the data folder cannot be used as it is
    │   ├── NothingHere        no pages, or no index, where some are needed
    │   ├── NewerFormat        written by a later version of Periplus
    │   ├── CorruptFile        checksum, magic or length is wrong
    │   └── FolderInUse        another process is writing to it
    ├── DiskFailed             the disk is full, read-only or failing
    │   └── StorageFull        a disk limit would be exceeded; nothing was written
    ├── PortInUse              cannot listen where we were told to
    ├── Overloaded             more requests at once than the queue holds
    │   └── ExpensiveQuery     a query costs more than its caller allows
    ├── NoNetwork              nothing can be reached at all
    ├── ProcessFailed          a process that we need ends again and again
    ├── ClusterError           a cluster cannot do what was asked of it
    │   ├── Unauthenticated    a message that the cluster's key has not signed, or an old one again
    │   ├── PeerFailed         a peer is not reached, does not answer in time, or sends what is not a message
    │   ├── WrongVersion       a node or peer runs another version of Periplus
    │   └── CoordinatorConflict    another coordinator has changed the cluster's record
    ├── SiteError              a federation of sites cannot do what was asked of it
    │   ├── SiteUnreachable    another site is not reached, or does not answer in time
    │   │   └── SiteRefused    another site answers that it cannot do what was asked
    │   └── BadBatch           another site has sent what cannot be accepted; it is quarantined
    ├── StorageFailed          the storage of a cluster is full, refuses or cannot be reached
    │   └── StorageConflict    another process has changed a record of the storage first
    └── MissingPart            an optional extra or a system program is not installed

A page that cannot be fetched or parsed is no exception: it is an ordinary outcome, see `records.Outcome`.
All errors take positional strings only, so that they survive pickling between processes.
"""

__all__ = [
    "BadBatch",
    "BadFile",
    "BadInput",
    "BadUrl",
    "ClusterError",
    "CoordinatorConflict",
    "CorruptFile",
    "DataError",
    "DiskFailed",
    "ExpensiveQuery",
    "FolderInUse",
    "MissingPart",
    "NewerFormat",
    "NoNetwork",
    "NotOwner",
    "NothingHere",
    "Overloaded",
    "PeerFailed",
    "PeriplusError",
    "PortInUse",
    "ProcessFailed",
    "SettingsError",
    "SiteError",
    "SiteRefused",
    "SiteUnreachable",
    "StorageConflict",
    "StorageFailed",
    "StorageFull",
    "Unauthenticated",
    "WrongVersion",
]


class PeriplusError(Exception):
    """Any error that Periplus raises on purpose. `hint` says what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class SettingsError(PeriplusError):
    """A setting is unknown, of the wrong type or out of range."""


class BadInput(PeriplusError):
    """Something a person or a file gave us cannot be used."""


class BadUrl(BadInput):
    """A string that is no URL, or a URL that Periplus does not fetch."""


class BadFile(BadInput):
    """A file to import or to evaluate that cannot be read."""


class NotOwner(BadInput):
    """Something that another publisher has published, and only that one may change."""


class DataError(PeriplusError):
    """The data folder cannot be used as it is."""


class NothingHere(DataError):
    """No pages, or no index, where some are needed."""


class NewerFormat(DataError):
    """The file or folder was written by a later version of Periplus."""


class CorruptFile(DataError):
    """A checksum, a magic number or a length is wrong. The message names the file."""


class FolderInUse(DataError):
    """Another process is writing to this data folder."""


class DiskFailed(PeriplusError):
    """The disk is full, read-only or failing. What was committed before is safe."""


class StorageFull(DiskFailed):
    """A limit of disk space would be exceeded. Nothing was written."""


class PortInUse(PeriplusError):
    """Cannot listen at the address we were told to use."""


class Overloaded(PeriplusError):
    """More requests at once than the queue holds; they may come back."""


class ExpensiveQuery(Overloaded):
    """A query is estimated to cost more than its caller allows; it was planned, and nothing else."""


class NoNetwork(PeriplusError):
    """Nothing can be reached: not one of the hosts answered."""


class ProcessFailed(PeriplusError):
    """A process that we need ends by itself, however often it is started. The message names its log."""


class ClusterError(PeriplusError):
    """A cluster cannot do what was asked of it."""


class Unauthenticated(ClusterError):
    """A message that the cluster's key has not signed, one that is too old, or one that has come before."""


class PeerFailed(ClusterError):
    """A peer is not reached, does not answer in time, or sends what is not a message."""


class WrongVersion(ClusterError):
    """A node or a peer runs another version of Periplus; the message names both."""


class CoordinatorConflict(ClusterError):
    """Another coordinator has changed the cluster's record; this one must stop."""


class SiteError(PeriplusError):
    """A federation of sites cannot do what was asked of it."""


class SiteUnreachable(SiteError):
    """Another site is not reached, does not answer in time, or refuses; the message names it."""


class SiteRefused(SiteUnreachable):
    """Another site answers that it cannot do what was asked; the message says why."""


class BadBatch(SiteError):
    """Another site has sent what cannot be accepted: wrongly signed, too large, or not of the expected form."""


class StorageFailed(PeriplusError):
    """The storage of a cluster is full, refuses a request or cannot be reached. The message names the URL."""


class StorageConflict(StorageFailed):
    """Another process has changed a record of the storage first."""


class MissingPart(PeriplusError):
    """An optional extra or a system program is not installed."""
