"""A count of checks, printed as they run.

A suite is a program that makes one `Report`, checks things through it, and ends with `report.close()`: the last line is
`N passed, N failed`, and the exit status is non-zero if anything failed.
"""
import sys
import time
import traceback
from contextlib import contextmanager


class Report:
    def __init__(self, suite: str):
        self.suite = suite
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.started = time.monotonic()

    def ok(self, name: str, detail: str = "") -> None:
        self.passed += 1
        self._line("ok", name, detail)

    def fail(self, name: str, detail: str = "") -> None:
        self.failed += 1
        self._line("FAILED", name, detail)

    def skip(self, name: str, why: str) -> None:
        self.skipped += 1
        self._line("skipped", name, why)

    def note(self, text: str) -> None:
        """A figure to be read, not a check."""
        print(f"  {'':7} {self.suite}/{text}", flush=True)

    def check(self, condition: bool, name: str, detail: str = "") -> bool:
        (self.ok if condition else self.fail)(name, "" if condition else detail)
        return condition

    def equal(self, seen, expected, name: str) -> bool:
        return self.check(seen == expected, name, f"expected {expected!r}, saw {seen!r}")

    @contextmanager
    def case(self, name: str):
        """One check that fails if its body raises."""
        try:
            yield
        except Exception as error:  # whatever went wrong in there is this check's failure
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.fail(name, f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})")
        else:
            self.ok(name)

    def close(self) -> None:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.suite}: {self.passed} passed, {self.failed} failed{skipped}", flush=True)
        sys.exit(1 if self.failed or not (self.passed or self.skipped) else 0)

    def _line(self, verdict: str, name: str, detail: str) -> None:
        shown = f": {detail}" if detail else ""
        print(f"  {verdict:7} {self.suite}/{name}{shown}", flush=True)
