"""What a search takes from this package comes without the parsers of documents."""

import subprocess
import sys

import periplus.publish

PROGRAM = """
import sys
import periplus.search, periplus.app.serving.folder_server, periplus.app.serving.server_actions
found = [name for name in ("periplus.parse", "markdown_it", "PIL") if name in sys.modules]
assert not found, found
"""


def test_searching_imports_no_parser() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there() -> None:
    assert all(getattr(periplus.publish, name) is not None for name in periplus.publish.__all__)
