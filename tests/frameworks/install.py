"""What the suites need that is not in this repository: each thing is fetched by its name, once, into `target/frameworks`.

Python packages come through pip, into a Python of their own (`python.txt`); sources of Django and SQLAlchemy as the sdists of the
versions that are installed there; Go modules, Maven and npm packages through their clients; Debian packages with `apt-get
download`, which unpacks nothing on the machine: `unpacked` takes the files out that a suite asks for.

Whatever cannot be had raises `Missing`, and the suite that needs it is skipped with the reason.
"""
import functools
import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.server import ROOT  # noqa: E402

BUILD = ROOT / "target/frameworks"
INSTALL_SECONDS = 900


class Missing(Exception):
    """Something that a suite needs is not on the machine and cannot be fetched."""


def run(*command: str, cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    """What the command prints; `Missing`, with the end of it, where it fails."""
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{' '.join(command[:3])}: {error}") from None
    if done.returncode:
        raise Missing(f"{' '.join(command[:4])}: {(done.stdout + done.stderr).strip()[-500:]}")
    return done.stdout


def tools(*names: str) -> None:
    """Programs of the machine, which tests/setup.sh installs where it can."""
    if missing := [name for name in names if not shutil.which(name)]:
        raise Missing(f"no {', '.join(missing)} on this machine")


@functools.cache
def python() -> Path:
    """The Python that has Django, SQLAlchemy and their drivers."""
    home, wanted = BUILD / "python", (HERE / "python.txt").read_text()
    made_for = home / "python.txt"
    if not made_for.exists() or made_for.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        run(sys.executable, "-m", "venv", str(home))
        run(str(home / "bin/pip"), "install", "-q", "--disable-pip-version-check", "-r", str(HERE / "python.txt"))
        made_for.write_text(wanted)
    return home / "bin/python"


def sdist(requirement: str) -> Path:
    """The unpacked sources of `Name==version`."""
    name, version = requirement.split("==")
    folder = BUILD / f"{name.lower()}-{version}"
    if not folder.exists():
        fetched = BUILD / "sdists"
        run(str(python().parent / "pip"), "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", "--dest", str(fetched), requirement)
        with tarfile.open(next(fetched.glob(f"{name.lower()}-{version}.tar.gz"))) as archive:
            archive.extractall(BUILD, filter="data")
    return folder


def requirement(name: str) -> str:
    """The line of `python.txt` for a package."""
    return next(line for line in (HERE / "python.txt").read_text().splitlines() if line.startswith(f"{name}=="))


def go_module(path: str, version: str) -> Path:
    """A copy of a Go module that may be written to, as its tests do."""
    copy = BUILD / f"{path.rsplit('/', 1)[-1]}-{version}"
    if not copy.exists():
        tools("go")
        run("go", "mod", "download", f"{path}@{version}", cwd=BUILD)
        cache = Path(run("go", "env", "GOMODCACHE").strip())
        shutil.copytree(cache / f"{path}@{version}", copy, copy_function=shutil.copyfile)
        for folder in [copy, *(entry for entry in copy.rglob("*") if entry.is_dir())]:
            folder.chmod(0o755)
    return copy


def debian(package: str) -> Path:
    """A Debian package, not installed."""
    folder = BUILD / "debian"
    folder.mkdir(parents=True, exist_ok=True)
    if not (found := list(folder.glob(f"{package}_*.deb"))):
        tools("apt-get", "dpkg-deb")
        run("apt-get", "download", "-qq", package, cwd=folder)
        found = list(folder.glob(f"{package}_*.deb"))
    return found[0]


def unpacked(package: str, patterns: list[str]) -> list[tuple[str, bytes]]:
    """The files of a Debian package whose path matches one of the patterns, in the order of the patterns and by name."""
    archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(debian(package))], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = sorted((member for member in tar if member.isfile()), key=lambda member: member.name)
        found = [(member.name, tar.extractfile(member).read()) for pattern in patterns for member in members if PurePosixPath(member.name).match(pattern)]
    if not found:
        raise Missing(f"the package {package} has no {' or '.join(patterns)}")
    return found
