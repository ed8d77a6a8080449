"""An ftp and a gopher server on loopback, just real enough, and told what to do wrong."""

import socket
import socketserver
import threading


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class FtpServer:
    """Serves `files` (path to bytes) and `folders` (path to listing). Says `greeting` first."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.files: dict[str, bytes] = {}
        self.folders: dict[str, bytes] = {}
        self.commands: list[str] = []
        self.greeting = b"220 ready\r\n"
        self.passive_host = ""
        """What PASV claims, when it is to lie."""
        self.endless = False
        self.changed = b"20240102030405"
        server = self

        class Talk(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                try:
                    server.talk(self)
                except (OSError, ValueError):
                    return

        self._server = _Server((host, 0), Talk)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"ftp://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def talk(self, peer: socketserver.StreamRequestHandler) -> None:
        peer.wfile.write(self.greeting)
        listener = None
        while line := peer.rfile.readline(4_096):
            word, _, argument = line.decode("latin-1").strip().partition(" ")
            self.commands.append(f"{word} {argument}".strip())
            if word in ("EPSV", "PASV"):
                listener = socket.create_server((self._server.server_address[0], 0))
                port = listener.getsockname()[1]
                if word == "EPSV" and self.passive_host:
                    peer.wfile.write(b"502 not here\r\n")
                elif word == "EPSV":
                    peer.wfile.write(b"229 Entering (|||%d|)\r\n" % port)
                else:
                    claimed = (self.passive_host or "127.0.0.1").replace(".", ",")
                    peer.wfile.write(f"227 Entering ({claimed},{port >> 8},{port & 255})\r\n".encode())
            elif word in ("LIST", "RETR"):
                found = (self.folders if word == "LIST" else self.files).get("/" + argument.strip("/"))
                if found is None:
                    peer.wfile.write(b"550 no such file\r\n")
                    continue
                peer.wfile.write(b"150 here it comes\r\n")
                assert listener is not None
                data, _ = listener.accept()
                with data:
                    data.sendall(found)
                    while self.endless:
                        data.sendall(b"x" * 65_536)
                peer.wfile.write(b"226 done\r\n")
            elif word == "SIZE":
                found = self.files.get("/" + argument.strip("/"))
                known = b"550 no\r\n" if found is None else b"213 %d\r\n" % len(found)
                peer.wfile.write(b"502 what?\r\n" if self.endless else known)
            elif word == "MDTM":
                known = "/" + argument.strip("/") in self.files
                peer.wfile.write(b"213 %s\r\n" % self.changed if known else b"550 no\r\n")
            else:
                said = {"USER": b"331 password?", "PASS": b"230 in", "PWD": b'257 "/"', "QUIT": b"221 bye"}
                peer.wfile.write(said.get(word, b"200 fine") + b"\r\n")


class GopherServer:
    """Answers selectors with bytes."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.endless = False
        server = self

        class Talk(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                try:
                    selector = self.rfile.readline(4_096).decode("latin-1").rstrip("\r\n")
                    server.asked.append(selector)
                    self.wfile.write(server.items.get(selector, b"3not here\t\terror.host\t1\r\n.\r\n"))
                    while server.endless:
                        self.wfile.write(b"ieternity\t\t-\t0\r\n" * 1_000)
                except OSError:
                    return

        self._server = _Server(("127.0.0.1", 0), Talk)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"gopher://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
