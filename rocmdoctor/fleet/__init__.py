"""A view of many hosts at once: snapshots and reports merged into one."""

from __future__ import annotations


class FleetError(Exception):
    """Wrong input as a whole: nothing could be read, or the golden node is not among the nodes. Exit status 2."""
