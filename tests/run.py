"""Everything that is tested, in the order of the list below. `./test` runs this program.

    ./test                          everything (about 35 minutes on two cores, builds included)
    ./test --quick                  everything, smaller
    ./test SUITE...                 only these suites
    ./test SUITE FILTER...          only what has one of the filters in its name: `./test golden locks/fairness unit tree::`
    ./test hunt [HUNT...] [--seconds N] [--seed N] [--against HOST:PORT:USER] [--executions N]
    ./test --list                   the suites

What a filter is compared with: a script's path in golden, a test's name in unit, a seed in schedules, a round in crash, a
package in format and clippy (and in unit, where a word is a package's name), elsewhere the name of a case as it is printed.

Every suite draws from a fixed seed, so a run repeats the run before it as far as a program of many threads can. A hunt
draws from a fresh one, prints it, and goes on for so many seconds; what it finds is printed as a script, or as the command
that repeats it. HUNT is one of: {hunts}.
With `--executions` each fuzz target plays so many inputs instead. Without `--against`, a MySQL server, schedules are compared with Debian's MariaDB, and placement and differential are left out.

Two suites run at once, since most wait more than they work: each has servers, ports and directories of its own. The output of the one that
began first is printed as it comes, that of the other when the first has ended. Suites that load the machine on purpose run alone.

Every check is printed, and the last line is `N passed, N failed[, N skipped]`; the exit status says whether anything failed.
What is missing is installed by tests/setup.sh. Only the standard library is imported here, so that any Python will do.
"""
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "target/test-python/bin/python"
# Unit tests and the suite `sabotage` share one build of everything, in which nothing is broken until the environment asks for it.
SHARED = ["--workspace", "--features", "tidemark/sabotage"]
COUNT = re.compile(r"^\w+: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
UNIT_COUNT = re.compile(r"^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored")
HUNT_SECONDS = 300
# How many suites run at once.
AT_ONCE = 2
# Tools without which nothing can begin.
COMPILERS = {"cargo", "rustfmt", "clippy"}


@dataclass
class Part:
    """What one suite says; held back while an older one speaks."""
    held: list[bytes] = field(default_factory=list)
    has_ended: bool = False


class Output:
    """Prints the output of suites that run at once: that of the one that began first as it comes, that of the others after it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.parts: list[Part] = []

    def begin(self) -> Part:
        with self.lock:
            self.parts.append(Part())
            return self.parts[-1]

    def say(self, part: Part, line: bytes) -> None:
        with self.lock:
            if part is self.parts[0]:
                self._print([line])
            else:
                part.held.append(line)

    def end(self, part: Part) -> None:
        with self.lock:
            part.has_ended = True
            while self.parts and self.parts[0].has_ended:
                self.parts.pop(0)
                if self.parts:
                    self._print(self.parts[0].held)
                    self.parts[0].held.clear()

    @staticmethod
    def _print(lines: list[bytes]) -> None:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()


class Runner:
    """Runs commands and adds up what they count. Several threads may use it, each for a suite."""

    def __init__(self, quick: bool):
        self.quick = quick
        self.passed = self.failed = self.skipped = 0
        self.is_built = False
        self.building, self.adding = threading.Lock(), threading.Lock()
        self.output, self.own = Output(), threading.local()

    def suite(self, run: Callable[["Runner", list[str]], None], filters: list[str]) -> None:
        """Runs a suite, whose words are kept together."""
        self.own.part = self.output.begin()
        try:
            run(self, filters)
        finally:
            self.output.end(self.own.part)

    def say(self, line: str) -> None:
        self.output.say(self.own.part, f"{line}\n".encode())

    def add(self, passed: int = 0, failed: int = 0, skipped: int = 0) -> None:
        with self.adding:
            self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def command(self, command: Iterable[str], environment: dict[str, str] | None = None, see: Callable[[str], None] = lambda line: None) -> int:
        """Runs it, passes on what it prints, and returns its exit status."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}) as process:
            for line in process.stdout:
                self.output.say(self.own.part, line)
                see(line.decode(errors="replace").rstrip())
        return process.returncode

    def step(self, name: str, *command: str) -> None:
        """One check that is right if the command is."""
        self.say(f"== {name}")
        started = time.monotonic()
        is_right = self.command(command) == 0
        self.add(passed=is_right, failed=not is_right)
        self.say(f"  ok      {name} ({time.monotonic() - started:.0f} s)" if is_right else f"  FAILED  {name}")

    def counted(self, name: str, count: re.Pattern, command: Iterable[str], environment: dict[str, str] | None = None) -> None:
        """Many checks: what the command counts, in the lines that match `count`, is added up."""
        self.say(f"== {name}")
        started, counts = time.monotonic(), []

        def see(line: str) -> None:
            if found := count.match(line):
                counts.append([int(number or 0) for number in found.groups()])

        status = self.command(command, environment, see)
        passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
        if not counts or status and not failed:
            failed += 1
            self.say(f"  FAILED  {name}: {'its exit status is' if counts else 'it ended without a count, its exit status is'} {status}")
        self.add(passed, failed, skipped)
        self.say(f"   {name} took {time.monotonic() - started:.0f} s")

    def build(self) -> None:
        """Builds the server that is tested, unless `TIDEMARK_BINARY` names one."""
        with self.building:
            if not self.is_built and "TIDEMARK_BINARY" not in os.environ:
                self.step("build", "cargo", "build", "--release")
                self.is_built = True

    def close(self) -> int:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{skipped}", flush=True)
        return 0 if self.passed and not self.failed else 1


@dataclass(frozen=True)
class Suite:
    needs: list[str]
    run: Callable[[Runner, list[str]], None]
    is_alone: bool = False      # runs after all others, by itself


def packages(filters: list[str]) -> list[str]:
    return [part for name in filters for part in ("-p", name)]


def formatted(runner: Runner, filters: list[str]) -> None:
    runner.step("format", "cargo", "fmt", "--check", *(packages(filters) or ["--all"]))


def clippy(runner: Runner, filters: list[str]) -> None:
    runner.step("clippy", "cargo", "clippy", "-q", *(packages(filters) or ["--workspace"]), "--all-targets", "--", "-D", "warnings")


def floors(runner: Runner, filters: list[str]) -> None:
    runner.counted("floors", COUNT, [sys.executable, "tests/floors.py", *filters])


def build(runner: Runner, _: list[str]) -> None:
    runner.build()


def unit(runner: Runner, filters: list[str]) -> None:
    members = {path.name if path.name == "tidemark" else f"tidemark-{path.name}" for path in (ROOT / "crates").iterdir()}
    which = packages([word for word in filters if word in members]) or SHARED
    names = [word for word in filters if word not in members]
    runner.counted("unit", UNIT_COUNT, ["cargo", "test", *which, "--no-fail-fast", *(["--", *names] if names else [])])


def debug_build(runner: Runner, name: str) -> Path:
    """The programs as the unit tests have them, with assertions; returns their folder."""
    with runner.building:
        runner.step(name, "cargo", "build", "-q", "--bins", "--tests", *SHARED)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug"


def counted_rows(runner: Runner, filters: list[str]) -> None:
    """The golden scripts with a hook on every table: after each statement it must have been told of the rows that the engine counts."""
    built = debug_build(runner, "counted_rows_build")
    which = filters or (["sql/", "isolation/locks/"] if runner.quick else [])
    environment = {"TIDEMARK_BINARY": str(built / "tidemark"), "TIDEMARK_COUNT_ROWS": "1"}
    runner.counted("counted_rows", COUNT, [PYTHON, "tests/golden.py", *which], environment)


def sabotage(runner: Runner, filters: list[str]) -> None:
    """The suite `history` against a server that was built to be broken, and the simulation of disks with an engine that was."""
    built = debug_build(runner, "sabotage_build")
    seconds = "2" if runner.quick else "5"
    runner.counted("sabotage", COUNT, [PYTHON, "tests/history/run.py", "--sabotaged", str(built / "tidemark"), "--seconds", seconds, *filters])
    if not filters:
        runner.counted("sabotaged_disks", COUNT, [str(built / "simulate"), "sabotage", "--cuts", "10"])


def examples(runner: Runner, filters: list[str]) -> None:
    for file in sorted((ROOT / "examples").glob("*.rs")):
        if not filters or any(word in file.stem for word in filters):
            runner.step(f"example_{file.stem}", "cargo", "run", "-q", "--release", "-p", "tidemark-engine", "--example", file.stem)


def program(path: str, *needs: str, full: str = "", quick: str | None = None, is_alone: bool = False) -> Suite:
    """A Python program below tests/, with its arguments in full and in quick runs (the same if None)."""
    name = Path(path).parent.name or Path(path).stem

    def run(runner: Runner, filters: list[str]) -> None:
        runner.build()
        runner.counted(name, COUNT, [PYTHON, f"tests/{path}", *(quick if runner.quick and quick is not None else full).split(), *filters])

    return Suite(["cargo", "packages", *needs], run, is_alone)


SUITES = {
    "format": Suite(["cargo", "rustfmt"], formatted),
    "clippy": Suite(["cargo", "clippy"], clippy),
    "floors": Suite([], floors),
    "build": Suite(["cargo"], build),
    "unit": Suite(["cargo"], unit),
    "golden": program("golden.py"),
    "counted_rows": Suite(["cargo", "packages"], counted_rows),
    "lock_reports": program("lock_reports/run.py"),
    "schedules": program("schedules/run.py", "mariadbd", full="--mariadb --count 1000", quick="--mariadb --count 200"),
    "history": program("history/run.py", full="--seconds 6", quick="--seconds 1"),
    "sabotage": Suite(["cargo", "packages"], sabotage),
    "stress": program("stress/run.py", full="--seconds 10", quick="--seconds 2", is_alone=True),
    "protocol": program("protocol/run.py"),
    "files": program("files/run.py"),
    "security": program("security/run.py"),
    "status": program("status/run.py", "chromium"),
    "monitoring": program("monitoring/run.py", "monitoring"),
    "oracle": program("oracle/run.py", full="--seeds 60", quick="--seeds 15"),
    "plan_space": program("oracle/plan_space.py", full="--queries 80 --plans 10", quick="--queries 30 --plans 5"),
    "planner": program("planner/run.py"),
    "sargable": program("planner/sargable.py"),
    "parameters": program("parameters/run.py"),
    "clients": program("clients/run.py", "mariadb"),
    "drivers": program("drivers/run.py", "go", "java", "node"),
    "frameworks": program("frameworks/run.py", "mariadb", "go", full="--short", quick="--short"),
    "invariants": program("invariants/run.py", quick="--seconds 0.5"),
    "lab": program("lab/run.py", "chromium", "sysbench", "postgres"),
    "sysbench": program("sysbench/run.py", "sysbench", quick="--quick"),
    "crash": program("crash/run.py", "sysbench", full="--rounds 20", quick="--rounds 3"),
    "larger_than_pool": program("larger_than_pool/run.py", "sysbench", quick="--pool-mb 8 --seconds 1"),
    "examples": Suite(["cargo"], examples),
}


@dataclass(frozen=True)
class Hunt:
    needs: list[str]
    command: str                # {seed} and {seconds} are filled in, {against} with what the other server is
    with_mysql: bool = False    # without a MySQL server to compare with there is nothing to hunt
    tests: str = ""             # in place of a program below tests/: cargo's tests with this in their names, which read the environment


HUNTS = {
    "schedules": Hunt(["packages", "mariadbd"], "schedules/run.py {against} --seed {seed} --seconds {seconds}"),
    "placement": Hunt(["packages"], "schedules/placement.py {against} --seed {seed} --seconds {seconds} --count 1000000000", with_mysql=True),
    "differential": Hunt(["packages"], "differential/run.py {against} --seed {seed} --seconds {seconds}", with_mysql=True),
    "history": Hunt(["packages"], "history/run.py --seed {seed} --total-seconds {seconds}"),
    "crash": Hunt(["packages", "sysbench"], "crash/run.py --seed {seed} --seconds {seconds}"),
    "protocol": Hunt(["packages"], "protocol/run.py random --seed {seed} --seconds {seconds}"),
    "endless": Hunt(["packages"], "security/endless.py --seed {seed} --megabytes 64"),
    "oracle": Hunt(["packages"], "oracle/run.py --seed {seed} --seconds {seconds}"),
    "plan_space": Hunt(["packages"], "oracle/plan_space.py --seed {seed} --seconds {seconds}"),
    "fuzz": Hunt([], "", tests="of_any_"),
    "properties": Hunt([], "", tests="properties"),
}
CASES_A_SECOND = 500        # of a property, more or less


def hunt(runner: Runner, names: list[str], seconds: int, seed: int, against: str | None, executions: str | None) -> None:
    runner.say(f"seed {seed}, {seconds} seconds for each: {' '.join(names)}")
    runner.build()
    for name in names:
        if HUNTS[name].with_mysql and not against:
            runner.add(skipped=1)
            runner.say(f"  skipped {name}: it needs --against, a MySQL server")
            continue
        if word := HUNTS[name].tests:
            length = {"TIDEMARK_FUZZ_EXECUTIONS": executions} if executions else {"TIDEMARK_FUZZ_SECONDS": str(seconds)}
            environment = {"TIDEMARK_FUZZ_SEED": str(seed), **length, "TIDEMARK_PROPERTY_CASES": str(seconds * CASES_A_SECOND)}
            runner.counted(name, UNIT_COUNT, ["cargo", "test", "--workspace", "--no-fail-fast", "--", "--nocapture", word], environment)
            continue
        other = f"--against {against}" if against else "--mariadb"
        command = HUNTS[name].command.format(seed=seed, seconds=seconds, against=other).split()
        runner.counted(name, COUNT, [PYTHON, f"tests/{command[0]}", *command[1:]])


def usage(complaint: str) -> None:
    print(f"{complaint}; --help says what there is", file=sys.stderr)
    sys.exit(2)


def take_option(words: list[str], name: str) -> str | None:
    """Takes `name VALUE` out of the words."""
    if name not in words:
        return None
    at = words.index(name)
    if at + 1 == len(words):
        usage(f"{name} wants a value")
    value = words[at + 1]
    del words[at:at + 2]
    return value


def number(text: str | None, default: int) -> int:
    if text is not None and not text.isdigit():
        usage(f"{text} is no number")
    return int(text) if text else default


def asked_suites(words: list[str]) -> list[tuple[str, list[str]]]:
    """The suites in the order of the list above, each with the words that stand behind it, which are its filters."""
    asked: dict[str, list[str]] = {}
    suite = None
    for word in words:
        if word in SUITES:
            suite = word
            asked.setdefault(suite, [])
        elif suite is None:
            usage(f"no suite is called {word}")
        else:
            asked[suite].append(word)
    return [(name, asked.get(name, [])) for name in SUITES if not asked or name in asked]


def run_suites(runner: Runner, asked: list[tuple[str, list[str]]]) -> None:
    """Runs AT_ONCE of them at a time, in the order that they are asked for; then those that are to be alone.

    Those that compile begin while what the others need is installed.
    """
    beside = iter([item for item in asked if not SUITES[item[0]].is_alone])
    tools, taking = Tools(asked), threading.Lock()

    def work() -> None:
        while not tools.are_missing:
            with taking:
                name, filters = next(beside, (None, []))
            if name is None:
                return
            if tools.are_there_for(name):
                runner.suite(SUITES[name].run, filters)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
    for worker in workers:
        worker.start()
    tools.prepare()
    for worker in workers:
        worker.join()
    for name, filters in asked:
        if SUITES[name].is_alone:
            runner.suite(SUITES[name].run, filters)


class Tools:
    """What suites need: the compiler's at once, the others' when they are installed."""

    def __init__(self, asked: list[tuple[str, list[str]]]):
        needs = dict.fromkeys(need for name, _ in asked for need in SUITES[name].needs)
        self.others = [need for need in needs if need not in COMPILERS]
        prepare(need for need in needs if need in COMPILERS)
        self.are_missing = False
        self.are_prepared = threading.Event()

    def prepare(self) -> None:
        """Installs the others; ends the run if they cannot be had."""
        try:
            if self.others:
                prepare(self.others)
        except SystemExit:
            self.are_missing = True
            raise
        finally:
            self.are_prepared.set()

    def are_there_for(self, suite: str) -> bool:
        """Waits until they are; false if they cannot be had."""
        if not set(SUITES[suite].needs) <= COMPILERS:
            self.are_prepared.wait()
        return not self.are_missing


def prepare(needs: Iterable[str]) -> None:
    if subprocess.run(["tests/setup.sh", *dict.fromkeys(needs)]).returncode:
        sys.exit(1)


def main() -> int:
    os.chdir(ROOT)
    # Where rustup puts cargo, and Debian mariadbd.
    os.environ["PATH"] = f"{Path.home()}/.cargo/bin:{os.environ['PATH']}:/usr/sbin"
    words = sys.argv[1:]
    if "-h" in words or "--help" in words:
        print(__doc__.format(hunts=", ".join(HUNTS)).strip())
        return 0
    if "--list" in words:
        print("\n".join(SUITES))
        return 0
    started = time.monotonic()
    if words[:1] == ["hunt"]:
        names = words[1:]
        seconds, seed = number(take_option(names, "--seconds"), HUNT_SECONDS), number(take_option(names, "--seed"), int(time.time()) * 1000)
        against, executions = take_option(names, "--against"), take_option(names, "--executions")
        if unknown := [name for name in names if name not in HUNTS]:
            usage(f"no hunt is called {unknown[0]}")
        runner = Runner(quick=False)
        names = names or list(HUNTS)
        prepare(["cargo", *(need for name in names for need in HUNTS[name].needs)])
        runner.suite(lambda runner, names: hunt(runner, names, seconds, seed, against, executions), names)
    else:
        runner = Runner(quick="--quick" in words)
        words = [word for word in words if word != "--quick"]
        if unknown := [word for word in words if word.startswith("-")]:
            usage(f"unknown option {unknown[0]}")
        asked = asked_suites(words)
        run_suites(runner, asked)
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    print(f"in {minutes} min {seconds} s", flush=True)
    return runner.close()


if __name__ == "__main__":
    sys.exit(main())
