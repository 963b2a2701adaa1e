"""Files that the user names on the command line: read whole, within a size and a time.

A pipe is as good as a file (`--lock <(...)`), so what has no end or no writer must be told from it by waiting, not by its type.
"""

import os
import time

SECONDS = 10.0
"""How long a pipe or device may take altogether."""


class NotRead(Exception):
    """The file cannot be read; `str()` of it says why, without its name."""


def read(path: str, limit: int, seconds: float = SECONDS) -> bytes:
    """The whole content of `path`. Raises NotRead, also when it is larger than `limit` bytes or does not end within `seconds`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise NotRead(error.strerror or str(error)) from None
    except ValueError:
        raise NotRead("no file can have that name") from None
    try:
        return _read(descriptor, limit, seconds)
    except OSError as error:
        raise NotRead(error.strerror or str(error)) from None
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int, seconds: float) -> bytes:
    import select
    import stat

    waits = not stat.S_ISREG(os.fstat(descriptor).st_mode)
    end = time.monotonic() + seconds
    pieces: list[bytes] = []
    size = 0
    while True:
        if waits:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise NotRead(f"it does not end within {seconds:g} seconds")
        try:
            piece = os.read(descriptor, min(limit + 1 - size, 1 << 20))
        except BlockingIOError:  # somebody else has read it
            continue
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise NotRead(f"it is larger than {limit >> 10} KiB")
