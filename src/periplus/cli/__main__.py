"""Let `python -m periplus.cli` do what `periplus` does."""

import sys

from periplus.cli import main

if __name__ == "__main__":
    sys.exit(main())
