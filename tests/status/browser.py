"""A headless Chromium, driven over its DevTools protocol."""
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import websocket


def program() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. What it complains of and what it asks for is noted."""

    def __init__(self, width: int = 1200, height: int = 900):
        self.home = tempfile.TemporaryDirectory(prefix="tidemark-browser-", ignore_cleanup_errors=True)
        command = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--remote-debugging-port=0", "--remote-allow-origins=*",
                   f"--user-data-dir={self.home.name}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self._port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=30, max_size=None)
        self.numbers = itertools.count(1)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _port(self) -> int:
        file = Path(self.home.name) / "DevToolsActivePort"
        deadline = time.monotonic() + 60
        while not (file.exists() and "\n" in file.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{program()} does not start (status {self.process.poll()})")
            time.sleep(0.1)
        return int(file.read_text().split("\n")[0])

    def _note(self, event: dict) -> None:
        name, of = event["method"], event["params"]
        if name == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(of["exceptionDetails"])[:500])
        elif name == "Runtime.consoleAPICalled" and of["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(of["args"])[:500])
        elif name == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(of["entry"])[:500])
        elif name == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])

    def call(self, method: str, **parameters) -> dict:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self._note(message)

    def evaluate(self, script: str):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def until(self, script: str, within_s: float) -> float:
        """Waits until the expression is true; returns how long that took."""
        started = time.monotonic()
        while not self.evaluate(script):
            if time.monotonic() - started > within_s:
                raise AssertionError(f"not within {within_s} s: {script}")
            time.sleep(0.05)
        return time.monotonic() - started

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def dark(self, on: bool) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def key(self, key: str, code: int, text: str = "") -> None:
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, file: Path) -> None:
        picture = self.call("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(picture["data"]))

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError, websocket.WebSocketException):
            pass
        self.socket.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.home.cleanup()
