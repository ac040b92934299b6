"""A browser without a screen, Debian's Chromium, driven by its DevTools protocol over a pair of pipes.

    with Browser() as browser:
        page = browser.open("file:///…/index.html", width=360, dark=True)
        page.evaluate("document.title")
        page.complaints, page.requests

A message is a line of JSON with a zero byte behind it, on descriptors 3 and 4 of the browser: no port is opened and no library
needed. Answers have the number of their command, events have none. What pages write to the console as errors, throw, or ask for is kept.
"""
import base64
import fcntl
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Any

from .patience import is_within

ANSWER_S = 60
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--mute-audio")


class BrowserFailed(Exception):
    pass


def program() -> str | None:
    """The browser's path, if there is one."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    def __init__(self) -> None:
        self.profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.of, of_browser = os.pipe()
        # Above 4, so that one does not take the other's place in the child.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, of_browser)]

        def place() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
        self.process = subprocess.Popen([program(), *OPTIONS, *sandbox, f"--user-data-dir={self.profile.name}", "about:blank"], preexec_fn=place,
                                        pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, of_browser, *ends):
            os.close(end)
        self.numbers = itertools.count(1)
        self.answers: dict[int, queue.Queue] = {}
        self.pages: dict[str, Page] = {}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        rest = b""
        while chunk := os.read(self.of, 1 << 16):
            *whole, rest = (rest + chunk).split(b"\0")
            for message in map(json.loads, whole):
                if answer := self.answers.pop(message.get("id"), None):
                    answer.put(message)
                elif page := self.pages.get(message.get("sessionId")):
                    page.event(message["method"], message["params"])
        for answer in list(self.answers.values()):
            answer.put({"error": {"message": "the browser has ended"}})

    def command(self, method: str, session: str | None = None, **parameters: Any) -> dict:
        number, answer = next(self.numbers), queue.Queue()
        self.answers[number] = answer
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        try:
            answered = answer.get(timeout=ANSWER_S)
        except queue.Empty:
            raise BrowserFailed(f"{method}: no answer within {ANSWER_S} s") from None
        if "error" in answered:
            raise BrowserFailed(f"{method}: {answered['error']['message']}")
        return answered["result"]

    def open(self, url: str, width: int = 1200, height: int = 900, dark: bool = False) -> "Page":
        """A page of its own, which is loaded when this returns."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.command(f"{domain}.enable")
        page.size(width, height)
        page.media(dark=dark)
        page.go(url)
        return page

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self.command("Browser.close")
            self.process.wait(10)
        except (BrowserFailed, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        self.reader.join(5)
        os.close(self.of)
        self.profile.cleanup()


class Page:
    def __init__(self, browser: Browser, session: str):
        self.browser, self.session = browser, session
        self.complaints: list[str] = []     # errors in the console, and what scripts have thrown
        self.requests: list[str] = []       # URLs that were asked for
        self.loaded = threading.Event()

    def command(self, method: str, **parameters: Any) -> dict:
        return self.browser.command(method, self.session, **parameters)

    def event(self, method: str, parameters: dict) -> None:
        if method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.complaints.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])

    def go(self, url: str) -> None:
        self.loaded.clear()
        if why := self.command("Page.navigate", url=url).get("errorText"):
            raise BrowserFailed(f"{url}: {why}")
        if not self.loaded.wait(ANSWER_S):
            raise BrowserFailed(f"{url} is not loaded after {ANSWER_S} s")

    def size(self, width: int, height: int) -> None:
        """Of the window. With a width below 600 it is a telephone's."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def key(self, key: str, code: int, text: str = "") -> None:
        """A key that is pressed and let go."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.command("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.command("Input.dispatchKeyEvent", type="keyUp", **common)

    def media(self, dark: bool = False, kind: str = "") -> None:
        """What style sheets are asked for: `print`, `screen`, or what it is."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.command("Emulation.setEmulatedMedia", media=kind, features=features)

    def evaluate(self, script: str) -> Any:
        done = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise BrowserFailed(f"{script}: {done['exceptionDetails']['exception'].get('description')}")
        return done["result"].get("value")

    def wait_for(self, script: str, seconds: float = 10) -> Any:
        """What the script gives, once that is true."""
        started = time.monotonic()
        while not (value := self.evaluate(script)):
            if not is_within(time.monotonic() - started, seconds):
                raise BrowserFailed(f"{script} is not true after {seconds} s")
            time.sleep(0.05)
        return value

    def pdf(self) -> bytes:
        return base64.b64decode(self.command("Page.printToPDF", printBackground=True)["data"])

    def picture(self, whole: bool = True) -> bytes:
        """PNG of the whole page, or of what is in the window."""
        return base64.b64decode(self.command("Page.captureScreenshot", captureBeyondViewport=whole)["data"])
