"""Headless Chromium with a page in it: opened at a width and in a scheme, watched, and used."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HEIGHT = 900
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # root may have none, and the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--disable-background-networking",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_MORE_ROWS = "tbody tr:nth-child(n + 15):not(.is-diverged)"
_CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser with its files in a folder; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    pytest.importorskip("selenium_axe_python", reason="selenium-axe-python is not installed")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no Chromium: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (*_ARGUMENTS, f"--user-data-dir={folder}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # a group of its own, so that whatever the driver starts can be ended with it
    service = Service(driver, popen_kw={"start_new_session": True})
    found = webdriver.Chrome(options=options, service=service)
    with _ended(service.process.pid):
        found.set_script_timeout(60)
        yield Browser(found)
        found.quit()


@contextlib.contextmanager
def _ended(group: int) -> Iterator[None]:
    """Ends a group of processes with a block, or with this process, however it ends."""
    watcher = subprocess.Popen(
        ["sh", "-c", f"read nothing; kill -s KILL -- -{group}"],
        stdin=subprocess.PIPE,  # which closes when this process is killed
        stderr=subprocess.DEVNULL,  # where the group has ended by itself
        start_new_session=True,
    )
    try:
        yield
    finally:
        watcher.communicate()


class Browser:
    """What a reader does with a page, and what they would see go wrong."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1440, scheme: str = "light", anchor: str = "") -> None:
        """Opens a page anew, at a width in pixels, in the scheme `light` or `dark`."""
        self.driver.get("about:blank")  # else another anchor alone would load nothing
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", features=[feature])
        self.driver.get(page.as_uri() + anchor)

    def command(self, name: str, **words: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, words)

    def run(self, script: str, *words: Any) -> Any:
        return self.driver.execute_script(script, *words)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def one(self, selector: str) -> Any:
        (found,) = self.all(selector)
        return found

    def shown(self, selector: str) -> list[Any]:
        """The elements that can be seen."""
        return [one for one in self.all(selector) if one.is_displayed()]

    def in_view(self, element: Any) -> bool:
        """Whether the top of an element is on the screen."""
        top = self.run("return arguments[0].getBoundingClientRect().top", element)
        return -1 <= top < HEIGHT

    @property
    def anchor(self) -> str:
        return str(self.run("return location.hash"))

    @property
    def ground(self) -> str:
        """`light` or `dark`, by the colour of the background."""
        color = self.run("return getComputedStyle(document.body).backgroundColor")
        return "light" if int(re.findall(r"\d+", color)[0]) > 127 else "dark"

    @property
    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    # --- what goes wrong ---

    def problems(self) -> list[str]:
        """All that is wrong with the page now, in words; [] if nothing is.

        The scripts that look for it come last, so that they cannot be taken for the page's own.
        """
        found = [*self._console(), *self._requests(), *self._overflow()]
        self.run("for (const one of document.querySelectorAll('details')) one.open = true")
        return [*found, *self._overflow(), *self.run(_CONTRAST), *self._inaccessible()]

    def _console(self) -> list[str]:
        """Errors, warnings and whatever a policy forbade: a good page says nothing."""
        return [f"console: {one['message']}" for one in self.driver.get_log("browser")]

    def _requests(self) -> list[str]:
        sent = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        urls = [
            one["params"]["request"]["url"]
            for one in sent
            if one["method"] == "Network.requestWillBeSent"
        ]
        own = self.driver.current_url.partition("#")[0]
        assert own in (url.partition("#")[0] for url in urls), "requests are not watched"
        return [f"request: {url}" for url in urls if url.partition("#")[0] != own]

    def _overflow(self) -> list[str]:
        wide, room = self.run(
            "const root = document.documentElement; return [root.scrollWidth, root.clientWidth]"
        )
        tables = self.run(
            "return [...document.querySelectorAll('.wide')].map("
            "one => [one.ariaLabel, one.scrollWidth, one.clientWidth])"
        )
        found = [("overflow", wide, room)] if wide > room else []
        found += [(f"sideways: {name[:40]}", *size) for name, *size in tables if size[0] > size[1]]
        return [f"{what}, {wide} pixels of {room}" for what, wide, room in found]

    def _inaccessible(self) -> list[str]:
        """What axe finds, of any impact; in a long table only in the first rows, as it is slow."""
        self.run(f"for (const row of document.querySelectorAll('{_MORE_ROWS}')) row.remove()")
        self.run(_axe())
        found = self.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(arguments[0], arguments[0])"
        )
        return [
            f"axe: {one['id']} ({one['impact']}) at {one['nodes'][0]['html'][:200]}"
            for one in found["violations"]
        ]


@cache
def _axe() -> str:
    import selenium_axe_python

    script = Path(selenium_axe_python.__file__).parent / "axe-core" / "axe.min.js"
    return script.read_text(encoding="utf-8")
