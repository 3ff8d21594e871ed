"""``python -m groundplan`` is the same as ``groundplan``."""

from groundplan.cli.main import main

if __name__ == "__main__":
    main()
