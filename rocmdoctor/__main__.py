"""The program: `rocmdoctor` and `python -m rocmdoctor`. Everything around the command line that is about speed and signals.

A user waits for each run, so the process skips what only long-lived ones need: the cyclic garbage collector (about 6 ms), and
taking the interpreter apart at the end (about 11 ms of 78, measured for `--version` with Python 3.11).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave at once with its exit status."""
    gc.disable()
    try:
        from rocmdoctor.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules were still being loaded
        code = 130
    for stream in (sys.stdout, sys.stderr):
        # the reader has gone, the stream was closed, or there never was one
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
