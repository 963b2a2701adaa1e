"""A callback of Ansible for tests: one JSON object for each result of a task, in the file that ROCMDOCTOR_TEST_RECORD names."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: record
type: notification
short_description: Writes results of tasks as JSON lines
description: For tests.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "record"
    CALLBACK_NEEDS_ENABLED = True

    def _record(self, status: str, result: Any, **more: object) -> None:
        found = {"host": result._host.name, "task": result._task.name, "status": status, "result": dict(result._result), **more}
        with open(os.environ["ROCMDOCTOR_TEST_RECORD"], "a") as file:
            file.write(json.dumps(found, default=str) + "\n")

    def v2_runner_on_ok(self, result: Any) -> None:
        self._record("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._record("failed", result, ignored=ignore_errors)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._record("skipped", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._record("unreachable", result)
