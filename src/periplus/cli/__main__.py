"""`python -m periplus.cli` is the same as `periplus`."""

import sys

from periplus.cli import main

if __name__ == "__main__":
    sys.exit(main())
