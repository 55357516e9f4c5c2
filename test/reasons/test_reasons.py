# SPDX-License-Identifier: Apache-2.0
"""Reasons are values: codes with data, texts in one table, and nothing reads a sentence."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

from sysid_core.reasons import TEXTS, Outcome, Reason, Verdict

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sysid_core", "sysid_fleet", "sysid_studies", "sysid_cli", "sysid_nodes", "sysid_demos")
MAKERS = tuple(f"Reason.{name}" for name in ("failure", "warning", "held", "not_judged", "missing"))


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file, ast.parse(file.read_text(encoding="utf-8"))


def test_a_reason_survives_json() -> None:
    reason = Reason.failure("mass-unknown", mass=np.float64(1.2), sd=0.5)
    assert Reason.from_dict(json.loads(json.dumps(reason.to_dict()))) == reason
    lists = Reason.warning("followers", joints=np.array(["a", "b"]))
    assert Reason.from_dict(json.loads(json.dumps(lists.to_dict()))) == lists
    assert lists.data["joints"] == ("a", "b") and len({lists, reason, lists}) == 2


def test_the_sentence_is_made_from_the_data() -> None:
    reason = Reason.failure("mass-unknown", mass=1.234, sd=0.5)
    assert reason.text.endswith("the estimate is 1.23 ± 0.5 kg.")
    assert "through more postures" in reason.remedy
    assert reason.advice == f"{reason.text} {reason.remedy}"
    assert Reason.held("prediction-good", left=0.0123, which="a run").text.startswith("1.2 % of")
    assert "mimic joints: a, b." in Reason.warning("followers", joints=("a", "b")).text


def test_what_has_no_text_or_is_no_plain_value_is_no_reason() -> None:
    with pytest.raises(KeyError):
        Reason.failure("nonsense")
    with pytest.raises(TypeError):
        Reason.failure("refused", message=object())


def test_verdicts_add_up() -> None:
    slow, wrong = Reason.warning("clocks-unknown"), Reason.failure("effort-signs")
    both = Verdict((slow,)) + Verdict((wrong, slow))
    assert both.notable == (wrong, slow) and both.codes == ("effort-signs", "clocks-unknown")
    assert both.outcome is Outcome.FAIL and both.exit_status == 1
    assert Verdict((slow,)).outcome is Outcome.WARN and Verdict((slow,)).exit_status == 0
    text = Verdict((Reason.held("estimate-sound"),)).text
    assert text == f"pass: {TEXTS['estimate-sound'].sentence}"


def test_what_was_not_judged_neither_passes_nor_fails() -> None:
    nothing = Verdict((Reason.not_judged("runs-at-rest", which="a"),))
    assert nothing.outcome is Outcome.NOT_JUDGED and not nothing.ok and nothing.exit_status == 3
    assert (nothing + (Reason.held("estimate-sound"),)).outcome is Outcome.PASS


def test_codes_in_the_code_have_texts_and_their_data() -> None:
    """Every code written in a call exists, and a call with keywords alone fills its text."""
    wrong, seen = [], set()
    for file, tree in sources():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            maker, first = ast.unparse(call.func), call.args[0] if call.args else None
            if maker not in (*MAKERS, "say") or not isinstance(first, ast.Constant):
                continue
            if maker == "say" and not call.keywords:
                continue  # progress, not a reason
            code, keys = str(first.value), {k.arg for k in call.keywords}
            seen.add(code)
            if code not in TEXTS:
                wrong.append(f"{file.name}: {code}")
            elif None not in keys and needed(code) - keys:
                wrong.append(f"{file.name}: {code} lacks {needed(code) - keys}")
    assert wrong == [] and len(seen) > 40


def needed(code: str) -> set[str]:
    text = TEXTS[code]
    parts = [*Formatter().parse(text.sentence), *Formatter().parse(text.remedy)]
    return {name for _, name, _, _ in parts if name}


def test_every_text_is_used() -> None:
    written = {
        node.value
        for file, tree in sources()
        if file.name != "texts.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(TEXTS) - written == set()


# Names of sentences; what a program reads of them would steer it by wording.
_SENTENCES = re.compile(r"(reasons?|sentences?|notes?|warnings?|failures?|remed(y|ies)|advice)$")


@pytest.mark.parametrize(("ms", "said"), [(12.0, "lag by 12.0"), (-3.0, "lead by 3.0")])
def test_no_delay_is_negative_in_words(ms: float, said: str) -> None:
    for code in ("efforts-late", "efforts-late-corrected", "joint-late"):
        assert said in Reason.warning(code, joint="elbow", ms=ms, sd=0.5).text


def read_sentences(tree: ast.Module) -> Iterator[ast.AST]:
    """Calls and comparisons that look into a sentence."""

    def is_sentence(node: ast.AST) -> bool:
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return bool(_SENTENCES.fullmatch(name))

    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            looks = node.func.attr in ("startswith", "endswith", "find", "index", "partition")
            patterns = node.func.attr in ("search", "match", "fullmatch", "findall")
            if (looks and is_sentence(node.func.value)) or (
                patterns and any(is_sentence(argument) for argument in node.args)
            ):
                yield node
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
            if text and is_sentence(node.comparators[0]):
                yield node


def test_nothing_reads_a_sentence() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file, tree in sources()
        for node in read_sentences(tree)
    ]
    assert found == []


def test_what_was_not_judged_is_shown_beside_warnings_and_failures():
    unseen, late = (
        Reason.not_judged("unseen-missing"),
        Reason.warning("efforts-late", ms=1.0, sd=0.1),
    )
    for notable in (late, Reason.failure("masses-missing")):
        assert Verdict((unseen, notable)).decisive == (notable, unseen)
    missing = Reason.missing("nothing-predicted")
    assert Verdict((late, missing)).decisive == (missing, late)
    sound = Reason.held("estimate-sound")
    assert Verdict((unseen, sound)).decisive == (sound, unseen)
