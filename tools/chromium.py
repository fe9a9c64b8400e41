"""A headless Chromium, driven through its driver with the WebDriver protocol: a few requests with
JSON, for which Python has all that is needed.
"""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
}


def missing():
    """What is not installed, or None."""
    if shutil.which("chromedriver") is None:
        return "chromedriver"
    return None if any(map(shutil.which, BROWSERS)) else "chromium"


class Chromium:
    """One window of a browser."""

    def __init__(self):
        browser = next(path for path in map(shutil.which, BROWSERS) if path)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver"), f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._url = f"http://127.0.0.1:{port}"
        try:
            self._wait_for_driver()
            options = {
                "binary": browser,
                "args": [
                    "--headless=new",
                    "--no-sandbox",  # which is not there for root, as in containers
                    "--disable-dev-shm-usage",
                    "--disable-gpu",
                    "--hide-scrollbars",
                    f"--user-data-dir={self._profile.name}",
                ],
            }
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._end_driver()
            raise
        self._url += f"/session/{made['sessionId']}"

    def close(self):
        try:
            self._ask("DELETE", "")
        finally:
            self._end_driver()

    def _end_driver(self):
        self._driver.terminate()
        self._driver.wait(10)
        self._profile.cleanup()

    def _wait_for_driver(self):
        for _ in range(200):
            try:
                self._ask("GET", "/status")
            except URLError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("chromedriver did not start.")

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data, {"Content-Type": "application/json"})
        request.method = method
        try:
            with urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    # What tests do

    def open(self, path, *, dark=False, size=(1440, 900)):
        """Opens a file. The console begins anew."""
        self._command("Emulation.setEmulatedMedia", features=[_scheme(dark)])
        self._command(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.console()
        self._ask("POST", "/url", {"url": Path(path).resolve().as_uri()})

    def run(self, script, *args):
        """Runs JavaScript, and gives what it returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def console(self):
        """What the page has said since the last time."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def find(self, selector):
        return self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._ask("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        value = KEYS.get(text, text)
        self._ask("POST", f"/element/{self.find(selector)}/value", {"text": value})

    def press(self, *keys):
        """Presses keys, one after the other, wherever the page has its focus."""
        actions = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        body = {"actions": [{"type": "key", "id": "keys", "actions": actions}]}
        self._ask("POST", "/actions", body)

    def texts(self, selector):
        """The text of each element that a selector finds."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(e => e.textContent.toWellFormed())",
            selector,
        )

    @contextmanager
    def frame(self, number):
        """A block in which all this happens in a frame of the page."""
        self._ask("POST", "/frame", {"id": number})
        try:
            yield
        finally:
            self._ask("POST", "/frame", {"id": None})

    def picture(self, path):
        """Leaves a picture of the window."""
        Path(path).write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def _command(self, command, **params):
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": params})


def _scheme(dark):
    return {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
