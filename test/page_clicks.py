# SPDX-License-Identifier: Apache-2.0
"""A browser that clicks through pages: `Clicks` in the tests, the program below in its own process.

It runs in its own process because playwright keeps an event loop running, which would disturb other
tests.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from busy_machine import patience

SIZES = {"screen": (1280, 900), "phone": (390, 844)}
# Charts whose traces have no data, of every chart on the page.
EMPTY = """[...document.querySelectorAll('.chart')].filter(chart => !chart.data?.length
  || chart.data.some(t => !((t.z ?? t.y ?? t.x)?.length || Object.keys(t.y ?? t.z ?? {}).length)))
  .map(chart => chart.getAttribute('aria-label'))"""
# Views in space of which something reaches the edge, so that it may be cut.
CUT = """[...document.querySelectorAll('canvas')].filter(c => c.width && [[0, 0, c.width, 1],
  [0, c.height - 1, c.width, 1], [0, 0, 1, c.height], [c.width - 1, 0, 1, c.height]].some(
  edge => c.getContext('2d').getImageData(...edge).data.some(v => v)))
  .map(c => c.closest('.chart').getAttribute('aria-label'))"""
# Two frames later: charts have taken a new width.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
ROBOT = "[...document.querySelectorAll('.chart')].find(c => c.data[0].type == 'points3d')"


class Clicks:
    """Clicks through pages as a reader would, and reports their errors."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    @staticmethod
    def missing() -> str:
        """Why there is no browser here; "" if there is one."""
        if find_spec("playwright") is None:
            return "no playwright here: pip install playwright"
        return "" if program() else "no chromium here: apt install chromium"

    def __call__(self, page: Path, *sizes: str) -> dict[str, Any]:
        """Contents of the page at some sizes (default: a screen's); fails on errors in it.

        Nothing where there is no browser: `test_a_browser_is_here` is skipped then, visibly.
        """
        if self.missing():
            return {}
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps([str(page.resolve()), *(sizes or ("screen",))]) + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the browser's process ended; see its traceback on standard error"
        found: dict[str, Any] = json.loads(answer)
        assert found["wrong"] == [], f"{page}: {found['wrong']}"
        return found

    def close(self) -> None:
        """End the browser."""
        if self._process is not None:
            self._process.communicate(timeout=60 * patience())


def program() -> str | None:
    """Path of a browser."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def viewport(size: str) -> dict[str, int]:
    """As playwright wants it."""
    return dict(zip(("width", "height"), SIZES[size], strict=True))


def look(browser: Any, page: Path, sizes: Sequence[str]) -> dict[str, Any]:
    """Click through a page; its errors, its links, and its number of charts.

    The page is loaded only once, at the last size, since drawing the 3D views takes most of the
    time.
    """
    tab = browser.new_page(viewport=viewport(sizes[-1]))
    tab.set_default_timeout(60_000 * patience())
    wrong: list[str] = []
    tab.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(page.as_uri())
    tab.wait_for_function("document.body.dataset.charts || !document.querySelector('.chart')")
    wrong += [f"no data in {name}" for name in tab.evaluate(EMPTY)]
    if (play := tab.get_by_text("▶ play")).count():
        before = tab.evaluate(f"JSON.stringify({ROBOT}.data[0].x)")
        play.first.click()
        tab.wait_for_function(f"JSON.stringify({ROBOT}.data[0].x) != {before!r}")
    for part in ("summary", "nav a"):
        for element in tab.query_selector_all(part):
            element.click()
    for size in reversed(sizes):
        tab.set_viewport_size(viewport(size))
        tab.evaluate(DRAWN)
        if tab.evaluate("document.documentElement.scrollWidth") > SIZES[size][0]:
            wrong.append(f"scrolls sideways on a {size}")
        wrong += [f"{view} is cut on a {size}" for view in tab.evaluate(CUT)]
    if not tab.query_selector(".headline"):
        wrong.append("no headline")
    if tab.query_selector(".chart"):
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")  # charts fit a sheet, folds open
        widths = "[...document.querySelectorAll('.chart')].map(c => c.layout.width)"
        if set(tab.evaluate(widths)) != {690}:
            wrong.append("charts don't fit a sheet of paper")
        if not tab.evaluate("[...document.querySelectorAll('details')].every(d => d.open)"):
            wrong.append("a fold is closed on paper")
    charts = len(tab.query_selector_all(".chart"))
    links = tab.evaluate("[...document.querySelectorAll('td a')].map(a => a.href)")
    for link in links[:1]:
        tab.click("td a")
        if tab.query_selector("h1") is None:
            wrong.append(f"{link} leads nowhere")
    tab.close()
    return {"wrong": wrong, "charts": charts, "links": links}


def serve() -> None:
    """Look at the pages that standard input names, one answer a line."""
    from playwright.sync_api import sync_playwright

    # A view in space is drawn by WebGL, here in software.
    flags = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), args=flags)
        for line in sys.stdin:
            page, *sizes = json.loads(line)
            print(json.dumps(look(browser, Path(page), sizes)), flush=True)
        browser.close()


if __name__ == "__main__":
    serve()
