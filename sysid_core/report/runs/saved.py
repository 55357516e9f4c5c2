# SPDX-License-Identifier: Apache-2.0
"""Saved results of one run, for reports on several runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate
from sysid_core.files import FileKind, FileSchema, read_json, read_yaml, validated
from sysid_core.report.html import cell_text

_RESULT = FileKind("result", "Repeat the command that wrote it.", SignalError)
_SETTINGS = FileKind("identified robot", "Give a result folder of `sysid identify`.")
_SAID = ("method", "gravity", "prior_weight", "delay_corrected", "differentiate", "friction_terms")


class _More(FileSchema):
    MORE_KEYS: ClassVar[bool] = True


class _Input(_More):
    role: str = ""
    sha256: str


class _Inputs(_More):
    files: list[_Input] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)


class _Recording(_More):
    source: str
    relative_error: float | None = None


class _Verdict(_More):
    outcome: str = "–"
    failures: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class SavedResult(_More):
    """Fields read from a result.json."""

    inputs: _Inputs = Field(default_factory=_Inputs)
    verdict: _Verdict = Field(default_factory=_Verdict)
    training: list[_Recording] = Field(default_factory=list)
    validation: list[_Recording] = Field(default_factory=list)


class _Parameters(_More):
    processing: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """Result of one run, as it was saved.

    Attributes:
        name: Name of the folder.
        folder: With estimate.yaml, result.json and perhaps parameters.yaml.
        estimate: The result.
        result: Of result.json.
        settings: Names and values of everything that was set.
    """

    name: str
    folder: Path
    estimate: Estimate
    result: SavedResult
    settings: Mapping[str, str]

    @classmethod
    def read(cls, folder: str | Path) -> SavedRun:
        """Read the folder that `sysid identify` or `sysid payload` wrote.

        Raises:
            SysIdError: It isn't there, or holds no result.
        """
        folder = Path(folder)
        if not (folder / "estimate.yaml").is_file():
            raise SignalError(
                f"'{folder}' has no estimate.yaml.",
                remedy="Give result folders of `sysid identify` or `sysid payload` (--out).",
            )
        content = read_json(folder / "result.json", _RESULT)
        result = validated(content, SavedResult, _RESULT, folder / "result.json")
        estimate = Estimate.load(folder / "estimate.yaml")
        settings = {"URDF": estimate.urdf_hash, "samples": str(estimate.n_samples)}
        settings |= {k: _text(content[k]) for k in _SAID if k in content}
        settings |= {k: _text(x) for k, x in result.inputs.options.items()}
        if (folder / "parameters.yaml").is_file():
            raw = read_yaml(folder / "parameters.yaml", _SETTINGS)
            used = validated(raw, _Parameters, _SETTINGS, folder / "parameters.yaml").processing
            settings |= {k: _text(x) for k, x in used.items()}
        return cls(folder.resolve().name, folder, estimate, result, settings)

    @property
    def recordings(self) -> frozenset[str]:
        """Hashes of the fitted recordings, if they are stored."""
        files = self.result.inputs.files
        return frozenset(f.sha256 for f in files if f.role in ("recordings", "loaded"))

    def errors(self, kind: str) -> dict[str, float]:
        """Relative error of the predicted efforts for each recording; kind: training or validation."""
        runs = self.result.validation if kind == "validation" else self.result.training
        return {
            Path(run.source).stem: run.relative_error
            for run in runs
            if run.relative_error is not None
        }


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(x)}" for key, x in value.items())
    if isinstance(value, list):
        return ", ".join(_text(x) for x in value) or "–"
    return cell_text(value) or "–"
