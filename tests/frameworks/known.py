"""What is known to fail, and why.

`known/SUITE.txt` has a line per test: its name, and behind a tab the reason. A reason that begins with `MySQL:` says that the
test fails on MySQL 9.7, too; then nothing is expected of it here. Any other says what is missing here, and such a test must
fail: once it passes, its line has to go. A name that ends in `*` stands for every test that begins so, of which some may pass.
"""
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).resolve().parent / "known"


@dataclass
class Result:
    """What became of one test of a suite: `passed`, `failed` or `skipped` (by the suite itself), and why."""
    test: str
    outcome: str
    detail: str = ""


class Known:
    def __init__(self, suite: str):
        self.suite = suite
        path = LISTS / f"{suite}.txt"
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")] if path.exists() else []
        self.reasons = dict(line.split("\t", 1) for line in lines)

    def reason(self, test: str) -> str | None:
        starts = (reason for name, reason in self.reasons.items() if name.endswith("*") and test.startswith(name[:-1]))
        return self.reasons.get(test) or next(starts, None)

    def tell(self, report, group: str, results: list[Result], is_mysql: bool) -> None:
        """Reports the tests of a group: a line for each that failed or is known to, and one for all that passed."""
        failed = [result for result in results if result.outcome == "failed"]
        for result in failed:
            reason = self.reason(result.test)
            if reason and (reason.startswith("MySQL:") or not is_mysql):
                report.skip(f"{self.suite}/{result.test}", f"known: {reason}")
            else:
                report.fail(f"{self.suite}/{result.test}", result.detail)
        for result in results:
            reason = self.reasons.get(result.test, "MySQL:")
            if result.outcome == "passed" and not reason.startswith("MySQL:") and not is_mysql:
                report.fail(f"{self.suite}/{result.test}", f"it passes, and known/{self.suite}.txt lists it: {reason}")
        passed = sum(result.outcome == "passed" for result in results)
        if passed:
            report.ok(f"{self.suite}/{group}", f"{passed} tests")
