# SPDX-License-Identifier: Apache-2.0
"""Photographs pages, terminals and panels for the documentation: `make gallery` (needs chromium; panels
need ROS 2).

Runs the commands on the shipped recording, photographs their pages on a screen and on a phone, their
terminal output, and the rqt panels beside a live graph. `--sizes [PAGE.html …]` prints instead a
table of the lengths of these and further pages, and of errors in them, in light and dark colours.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 150_000  # bytes of a picture
UR5 = "--robot ur5 --columns examples/ur5/columns.yaml"
COMMANDS = {  # name of the picture: command; OUT is a folder called results
    "identify": f"identify examples/ur5/train.csv {UR5} --method lmi"
    " --validate examples/ur5/validate.csv --out OUT/ur5",
    "validate": f"validate OUT/ur5 examples/ur5/validate.csv {UR5} --out OUT/validate",
    "ols": f"identify examples/ur5/train.csv {UR5} --method ols --validate examples/ur5/validate.csv --out OUT/ur5_ols",
    "comparison": "report compare OUT/ur5 OUT/ur5_ols --out OUT/comparison",
    "motion": "plan payload xarm7 --ground 0 --out OUT/plan_payload",
    "sequential": "plan sequential ur5 --moves 12 --out OUT/plan_sequential",
    "identifiability": "identifiability ur5 --html OUT/identifiability.html",
    "loops": "loops check own-leg --html OUT/loops.html",
    "study": "reproduce identifiability --html OUT/study.html",
}
PAGES = {  # name of the picture: page, and the chart that it begins with (none: the first screen)
    "page_identify": ("ur5/report.html", None),
    "page_torques": ("ur5/report.html", 0),
    "page_parameters": ("ur5/report.html", -7),
    "page_robot": ("ur5/report.html", -1),
    "page_validate": ("validate/validation.html", None),
    "page_motion": ("plan_payload/report.html", 2),
    "page_sequential": ("plan_sequential/report.html", None),
    "page_identifiability": ("identifiability.html", None),
    "page_loops": ("loops.html", 0),
    "page_study": ("study.html", None),
    "page_comparison": ("comparison/report.html", None),
    "page_index": ("index.html", None),
}
TERMINALS = ("identify", "identifiability", "validate")


def main() -> None:
    """Make all pictures and check that each is small."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    made = []
    only_sizes = "--sizes" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        for name, command in COMMANDS.items():
            text = run(command.replace("OUT", str(out)))
            if name in TERMINALS and not only_sizes:
                shown = command.replace("OUT", "results")
                made.append(terminal(name, shown, text.replace(str(out), "results")))
        if only_sizes:
            pages = {out / page: page for page, _ in PAGES.values()}
            further = sys.argv[sys.argv.index("--sizes") + 1 :]
            return print_sizes(pages | {Path(page): page for page in further})
        made += photograph(out)
    made += panels()
    for path in made:
        size = path.stat().st_size
        print(f"{path.relative_to(ROOT)}: {size / 1000:.0f} kB", file=sys.stderr)
        assert size < LARGEST, f"{path} is too large"


def run(command: str) -> str:
    """Output of a command, with its colours, 80 columns wide."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-m", "sysid_cli", *command.split()],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def terminal(name: str, command: str, text: str) -> Path:
    """A terminal that shows a command and the head of its output, as SVG."""
    import re

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=84, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ sysid {command}", "bold"))
    lines = text.splitlines()[:34]
    console.print(Text.from_ansi("\n".join(lines)))
    svg = console.export_svg(title=f"sysid {command.split()[0]}")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # nothing from outside
    path = PICTURES / f"terminal_{name}.svg"
    path.write_text(svg.replace("Fira Code", "monospace"), encoding="utf-8")
    return path


@contextmanager
def a_browser() -> Iterator[Any]:
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    flags = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


def print_sizes(pages: dict[Path, str]) -> None:
    """Print the length of each page as opened, in screens, its widths, and errors in it."""
    print("| page | size [MB] | screens at 1280 × 800 | at 390 × 844 | scrolls sideways | errors |")
    print("|---|---|---|---|---|---|")
    with a_browser() as browser:
        for page, name in pages.items():
            screens, wide, errors = {}, False, []
            for size in ((1280, 800), (390, 844)):
                for dark in (False, True):
                    with opened(browser, page, size, dark=dark, errors=errors) as tab:
                        root = "document.documentElement"
                        screens[size] = tab.evaluate(f"{root}.scrollHeight") / size[1]
                        wide |= tab.evaluate(f"{root}.scrollWidth") > size[0]
            numbers = [f"{page.stat().st_size / 1e6:.2f}", *(f"{n:.1f}" for n in screens.values())]
            print("|", " | ".join((name, *numbers, "yes" if wide else "no", str(len(errors)))), "|")


@contextmanager
def opened(
    browser: Any,
    page: Path,
    size: tuple[int, int],
    *,
    dark: bool = False,
    errors: list[str] | None = None,
) -> Iterator[Any]:
    """A page with its charts drawn; errors in it are added to `errors`."""
    tab = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    if errors is not None:
        tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(page.absolute().as_uri())
    tab.wait_for_function(
        "document.body.dataset.charts || !document.querySelector('.chart')", timeout=60_000
    )
    yield tab
    tab.close()


def photograph(results: Path) -> list[Path]:
    """Pages on a screen; the first one on a phone and in the dark, too."""
    made = []
    with a_browser() as browser:
        for name, (page, chart) in PAGES.items():
            made.append(shot(browser, results / page, name, chart, (1280, 800)))
        first = results / "ur5/report.html"
        made.append(shot(browser, first, "page_phone", None, (390, 844)))
        made.append(shot(browser, first, "page_dark", 0, (1280, 800), dark=True))
    return made


def shot(
    browser: Any,
    page: Path,
    name: str,
    chart: int | None,
    size: tuple[int, int],
    *,
    dark: bool = False,
) -> Path:
    """One screen of a page, from its top or from a chart on, as WebP."""
    from PIL import Image

    with opened(browser, page, size, dark=dark) as tab:
        if chart is not None:
            tab.evaluate(f"[...document.querySelectorAll('.chart')].at({chart}).scrollIntoView()")
        picture = Image.open(io.BytesIO(tab.screenshot()))
    path = PICTURES / f"{name}.webp"
    picture.convert("RGB").save(path, "WEBP", quality=70, method=6)
    return path


def panels() -> list[Path]:
    """The rqt panels beside a live graph: the test that presses their buttons takes the pictures."""
    from importlib.util import find_spec

    if find_spec("rclpy") is None:
        print("no ROS 2 here: the pictures of the panels stay as they are", file=sys.stderr)
        return []
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "test/nodes/panels/test_nodes_rqt.py"],
            cwd=ROOT, env={**os.environ, "SYSID_PICTURES": folder}, check=True,
        )  # fmt: skip
        made = []
        for file in (
            Path(folder) / f"{name}.png" for name in ("robot", "estimate", "object", "residuals")
        ):
            path = PICTURES / f"panel_{file.stem}.webp"
            Image.open(file).convert("RGB").save(path, "WEBP", quality=80, method=6)
            made.append(path)
        for file in sorted(Path(folder).glob("*.svg")):
            made.append(Path(shutil.copy(file, PICTURES / f"terminal_{file.name}")))
    return made


if __name__ == "__main__":
    main()
