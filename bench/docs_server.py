"""A plain static server on loopback: a folder for each host name, by the standard library alone.

It knows nothing of crawling: files with the content types of their names, index.html for a folder, a redirect where the
slash of a folder is missing, 404 for all else. It lists no folders.
"""

import multiprocessing
import os
from collections.abc import Mapping
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any

__all__ = ["StaticServer"]


def _serve(folders: dict[str, str], ready: "Connection[Any, Any]") -> None:
    class Handler(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def translate_path(self, path: str) -> str:
            host = self.headers.get("Host", "").partition(":")[0]
            self.directory = folders.get(host, "/nonexistent")
            return super().translate_path(path)

        def list_directory(self, path: str | os.PathLike[str]) -> IO[bytes] | None:  # type: ignore[override]
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    ready.send(server.server_address[1])
    server.serve_forever()


class StaticServer:
    """Serves folders by host name in a process of its own, until it is closed."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        named = {name: str(path) for name, path in folders.items()}
        self._process: BaseProcess = context.Process(target=_serve, args=(named, sender), daemon=True)
        self._process.start()
        self.port: int = receiver.recv()

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()
