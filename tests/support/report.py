"""A count of checks, printed as they run.

A suite is a program that makes one `Report`, checks things through it, and ends with `report.close()`: the last line is
`SUITE: N passed, N failed`, and the exit status is non-zero if anything failed. Its options begin with those of `suite_parser`:
words that say which cases to run. A suite asks `report.wants` before each case that can run without the others.
"""
import argparse
import sys
import threading
import time
import traceback
from contextlib import contextmanager


FIXED_SEED = 1      # what every suite draws from, so that runs repeat each other; a hunt draws from a fresh one


def suite_parser(about: str) -> argparse.ArgumentParser:
    """Options of a suite: so far the filters, to be given to its `Report`."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("filters", nargs="*", metavar="FILTER", help="run only cases that have one of these in their name")
    return options


class Report:
    def __init__(self, suite: str, filters: list[str] | tuple[str, ...] = ()):
        self.suite = suite
        self.filters = filters
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.started = time.monotonic()
        self.lock = threading.Lock()      # cases may run in several threads

    def wants(self, name: str) -> bool:
        """True if the case of this name is to run: there is no filter, or one is part of the name."""
        return not self.filters or any(word in name for word in self.filters)

    def ok(self, name: str, detail: str = "") -> None:
        self._line("ok", name, detail)

    def fail(self, name: str, detail: str = "") -> None:
        self._line("FAILED", name, detail)

    def skip(self, name: str, why: str) -> None:
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
        with self.lock:
            self.passed += verdict == "ok"
            self.failed += verdict == "FAILED"
            self.skipped += verdict == "skipped"
            print(f"  {verdict:7} {self.suite}/{name}{shown}", flush=True)
