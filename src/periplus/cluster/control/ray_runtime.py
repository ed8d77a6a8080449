"""Ray, imported when it is needed, and the connection to a cluster of it."""

import contextlib
import importlib
import logging
import socket
from collections.abc import Iterator
from typing import Any, Final

from periplus.errors import ClusterError, MissingPart, WrongVersion

__all__ = ["connect_ray", "load_ray", "ray_session"]

_CONNECT_SECONDS: Final = 5.0


def load_ray() -> Any:
    """Import and return Ray; raise `MissingPart` if it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingPart("A cluster needs Ray, which is not installed.", "pip install 'periplus[cluster]'") from None


def connect_ray(address: str, namespace: str) -> Any:
    """Join the Ray cluster at an address, host:port or 'auto', and return Ray; raise `ClusterError` if none answers."""
    ray = load_ray()
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # that nodes and processes die is what the coordinator is for
    _silence(ray)
    if address != "auto":
        _check_address(address)
    try:
        ray.init(
            address=address,
            namespace=namespace,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
            include_dashboard=False,
        )
    except ConnectionError as error:
        raise ClusterError(f"No Ray cluster answers at {address}: {error}.", "Start it: ray start --head.") from error
    except RuntimeError as error:
        if "ersion" in str(error):
            raise WrongVersion(f"The Ray cluster at {address} cannot be joined: {error}") from error
        raise ClusterError(f"The Ray cluster at {address} cannot be joined: {error}") from error
    return ray


def _silence(ray: Any) -> None:
    """Keep Ray from printing that nodes and processes have died: standard output is for results."""
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *arguments, **options: None


@contextlib.contextmanager
def ray_session(address: str, namespace: str) -> Iterator[Any]:
    """Join a Ray cluster for the block, and leave it at the end; its detached actors run on."""
    ray = connect_ray(address, namespace)
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Raise `ClusterError` if nothing listens at an address: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit():
        raise ClusterError(f"{address!r} is not the address of a Ray cluster.", "For example: 10.0.0.1:6379, or auto.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"No Ray cluster answers at {address}: {error}.", "Start it: ray start --head --port=6379."
        ) from error
