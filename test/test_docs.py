# SPDX-License-Identifier: Apache-2.0
"""The documentation: it builds strictly, its references are complete, its tutorials run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = sorted(
    p for kind in ("tutorials", "start") for p in (ROOT / "docs" / kind).glob("*.md")
)


def script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hooks():
    return script("docs_hooks")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "site" / "reference" / "commands.html").is_file()
    html = "".join(f.read_text("utf-8") for f in (tmp_path / "site").rglob("*.html"))
    assert not re.search(r"</div>\n(?:\d\.|[-|]) ", html)  # a list that code has cut in two
    page = tmp_path / "site" / "reference" / "python" / "sysid_core.identifiability.rpna.html"
    text = re.sub("<[^>]*>", "", page.read_text(encoding="utf-8"))
    assert "structural_identifiability(" in text and "Returns:" in text


def test_the_version_is_the_newest_one_of_the_changelog() -> None:
    def found(file: str, pattern: str) -> str:
        return re.findall(pattern, (ROOT / file).read_text("utf-8"), flags=re.MULTILINE)[0]

    newest = found("CHANGELOG.rst", r"^(\d+\.\d+\.\d+) \(")
    assert newest == found("pyproject.toml", r'^version = "(.*)"')
    assert newest == found("package.xml", r"<version>(.*)</version>")
    assert newest == found("CITATION.cff", r"^version: (.*)")
    assert newest == found("sysid_core/__init__.py", r'^__version__ = "(.*)"')


def test_a_version_of_the_changelog_has_forty_lines_at_most() -> None:
    text = (ROOT / "CHANGELOG.rst").read_text("utf-8")
    versions = re.split(r"^(?:Forthcoming|\d+\.\d+\.\d+ .*)\n-+\n", text, flags=re.MULTILINE)[1:]
    assert max(len([x for x in v.splitlines() if x.strip()]) for v in versions) <= 40


def test_every_page_is_in_the_navigation() -> None:
    text = re.sub(r"!!python\S+", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = set(re.findall(r"[\w/]+\.md", str(yaml.safe_load(text)["nav"])))
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert not pages - listed


MEASURED = r"\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?, [0-9a-f]{7,}, .* cores: .*"


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "evidence").glob("*.md")), ids=lambda p: p.stem
)
def test_an_evidence_page_begins_with_its_conclusion_and_states_what_measured_each_table(
    page,
) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"# Evidence: .*\n\*\*[^*]+\*\*\n", text)
    below = re.findall(r"^\|.*\n\n?(?!\|)(.*)$", text, flags=re.MULTILINE)
    definitions = [line for line in below if not re.fullmatch(rf"\*{MEASURED}\*", line)]
    assert definitions == [] or (
        page.stem == "faults" and len(definitions) == 1
    )  # what is emulated


def test_a_table_of_evidence_is_measured_again_by_the_command_below_it() -> None:
    evidence = script("evidence")
    printed = evidence.tables("noise\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n┃ c ┃\n│ 3 │\n")
    assert printed == ["| a | b |\n| --- | --- |\n| 1 | 2 |", "| c |\n| --- |\n| 3 |"]
    page = (
        "x\n\n| a | b |\n|---|---|\n| 0 | 0 |\n\n*2026-11-22, 1234567, two cores: `run it`*\n\ny\n"
    )
    new = evidence.replaced(page, "run it", printed[:1], evidence.provenance())
    assert "| 1 | 2 |" in new and "| 0 | 0 |" not in new and new.startswith("x\n\n|")
    assert re.search(rf"\*{MEASURED}\*\n\ny", new) and "2026-11-22" not in new


def test_messages_of_the_troubleshooting_page_are_real() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    rows = page[page.index("## Before a fit") : page.index("## After a fit")].splitlines()
    quoted = [row.split("`")[1] for row in rows if row.startswith("| `")]
    files = [f for package in ("sysid_core", "sysid_cli") for f in (ROOT / package).rglob("*.py")]
    code = "".join(f.read_text(encoding="utf-8") for f in files)
    joined = re.sub(r'"\s*f?"', "", code)  # a message goes on over several lines
    assert len(quoted) > 4
    assert [text for text in quoted if text not in joined] == []


def test_pictures_are_small_and_shown() -> None:
    """Each is in a page, below 150 kB (animations 300), and loads nothing from outside."""
    pages = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md"))
    for picture in (ROOT / "docs" / "pictures").iterdir():
        most = 300_000 if picture.suffix == ".gif" else 150_000
        assert picture.stat().st_size < most, picture
        assert f"pictures/{picture.name}" in pages, picture
        if picture.suffix == ".svg":
            assert not re.search(r"(href|src|url\()=?[\"']?https?:", picture.read_text("utf-8"))


def test_the_references_name_every_node_and_command(hooks) -> None:
    assert {"sysid identify", "sysid plan payload"} <= set(
        re.findall("## `(.*)`", hooks.commands())
    )
    for node in ("trajectory_executor", "data_logger", "estimator", "payload_bridge"):
        assert node in hooks.parameters()
    assert "ExecutorState" in hooks.interfaces()
    assert "- structural_identifiability\n" in hooks.room("sysid_core.identifiability.rpna")


def test_reasons_lead_to_pages_that_exist(hooks) -> None:
    from sysid_core.reasons import TEXTS

    assert [t.page for t in TEXTS.values() if not (ROOT / "docs" / t.page).is_file()] == []
    assert all(f"## {code}\n" in hooks.reasons() for code in TEXTS)


def blocks(kind: str) -> list[tuple[str, str]]:
    return [
        (file.stem, "\n".join(re.findall(rf"```{kind}\n(.*?)```", file.read_text(), re.DOTALL)))
        for file in TUTORIALS
        if f"```{kind}\n" in file.read_text(encoding="utf-8")
    ]


def in_a_folder_with_examples(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    (folder / "examples").symlink_to(ROOT / "examples")
    return subprocess.run(
        command, cwd=folder, env=dict(os.environ), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "script"), blocks("bash"))
def test_the_commands_of_a_tutorial_run(name: str, script: str, tmp_path: Path) -> None:
    done = in_a_folder_with_examples(tmp_path, ["bash", "-e", "-c", script])
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    if name == "csv_without_ros":
        _finds_the_true_friction(tmp_path / "results" / "ur5")


def _finds_the_true_friction(result: Path) -> None:
    (held_out,) = json.loads((result / "result.json").read_text("utf-8"))["validation"]
    assert held_out["relative_error"] < 0.035
    truth = yaml.safe_load((ROOT / "examples" / "ur5" / "truth.yaml").read_text("utf-8"))
    found = yaml.safe_load((result / "parameters.yaml").read_text("utf-8"))["parameters"]
    for symbol in ("F_c", "F_v"):
        values = [v for name, v in found.items() if name.endswith(f".{symbol}")]
        assert values == pytest.approx(truth[symbol], rel=0.2)


@pytest.mark.parametrize(("name", "script"), blocks("python"))
def test_the_python_of_a_tutorial_runs(name: str, script: str, tmp_path: Path) -> None:
    done = in_a_folder_with_examples(tmp_path, [sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr[-1500:]
    if name == "own_estimator":
        assert re.search(r": 2\.\d+% held-out error", done.stdout)
        assert (tmp_path / "results" / "ridge" / "exports" / "mjcf" / "ur5.xml").is_file()


README = re.findall(
    r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
)


@pytest.mark.parametrize(
    ("block", "says"), list(zip(README, ("1.2", "pass", "43 of 70"), strict=True))
)
def test_a_program_of_the_readme_runs(
    block: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    assert re.match(says, capsys.readouterr().out)


def test_every_command_and_option_in_a_page_exists() -> None:
    import typer

    from sysid_cli.app import app

    wrong, root = [], typer.main.get_command(app)
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = re.sub(r"\\\n\s*", " ", page.read_text("utf-8"))
        for line in re.findall(r"^ *sysid ([^\n#;|`]+)|`sysid ([^`|]+)`", text, flags=re.MULTILINE):
            words = "".join(line).split()
            command = root
            for word in words:
                command = getattr(command, "commands", {}).get(word, command)
            known = {"--help", *(o for p in command.params for o in p.opts + p.secondary_opts)}
            if not hasattr(command, "commands"):
                given = (re.match(r"--[\w-]+", word.strip("[]")) for word in words)
                wrong += [(page.name, " ".join(words)) for m in given if m and m[0] not in known]
            elif words[0][0].islower() and words[0] not in command.commands and len(words) > 1:
                wrong.append((page.name, " ".join(words)))
    assert wrong == []


def test_commands_stand_on_lines_of_their_own() -> None:
    """Paragraphs are wrapped, blocks are not: a wrapped command can't be copied."""
    wrong = []
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"```(?:bash|text)?\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            commands = re.sub(r"\\\n|#.*", "", block).splitlines()
            begun = [line for line in commands if re.match(r" *sysid ", line)]
            wrong += [(page.name, line) for line in begun if re.search(r"\S +sysid [a-z]", line)]
            wrong += [(page.name, line) for line in block.splitlines() if line.startswith("--")]
            wrong += [(page.name, line) for line in re.findall(r"#.* sysid$", block, re.MULTILINE)]
    assert wrong == []


def test_files_named_in_a_page_exist() -> None:
    folders = (ROOT, ROOT / "sysid_core", ROOT / "docs")
    for page in (ROOT / "docs").rglob("*.md"):
        named = re.findall(r"`([\w./]+/[\w.]+\.(?:py|sh))`", page.read_text("utf-8"))
        missing = [n for n in named if not any((f / n).is_file() for f in folders)]
        assert not missing, page


def test_the_commands_of_the_readme_exist() -> None:
    from typer.testing import CliRunner

    from sysid_cli.app import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    groups = re.findall(r"`sysid (\w[\w-]*)", text)
    known = CliRunner().invoke(app, ["--help"]).output
    missing = sorted({name for name in groups if name not in known})
    assert not missing
