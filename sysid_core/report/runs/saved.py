# SPDX-License-Identifier: Apache-2.0
"""Saved files of one run, as read by the pages on several runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate
from sysid_core.files import FileKind, read_json, read_yaml
from sysid_core.report.html import cell_text

_RESULT = FileKind("result", "Repeat the command that wrote it.", SignalError)
_SETTINGS = FileKind("identified robot", "Give a result folder of `sysid identify`.")
_SAID = ("method", "gravity", "prior_weight", "delay_corrected", "differentiate", "friction_terms")


@dataclass(frozen=True, eq=False)
class SavedRun:
    """Saved files of one run.

    Attributes:
        name: Name of the folder.
        folder: With estimate.yaml, result.json and perhaps parameters.yaml.
        estimate: The result.
        result: Contents of result.json.
        settings: Names and values of everything that was set.
    """

    name: str
    folder: Path
    estimate: Estimate
    result: Mapping[str, Any]
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
        result = read_json(folder / "result.json", _RESULT)
        estimate = Estimate.load(folder / "estimate.yaml")
        settings = {"URDF": estimate.urdf_hash, "samples": str(estimate.n_samples)}
        settings |= {k: _text(result[k]) for k in _SAID if k in result}
        settings |= {k: _text(x) for k, x in result.get("inputs", {}).get("settings", {}).items()}
        if (folder / "parameters.yaml").is_file():
            raw = read_yaml(folder / "parameters.yaml", _SETTINGS)
            settings |= {k: _text(x) for k, x in dict(raw.get("processing", {})).items()}
        return cls(folder.resolve().name, folder, estimate, result, settings)

    @property
    def recordings(self) -> frozenset[str]:
        """Hashes of the recordings that were fitted, where they are known."""
        files = self.result.get("inputs", {}).get("files", [])
        return frozenset(f["sha256"] for f in files if f.get("role") in ("recordings", "loaded"))

    def errors(self, kind: str) -> dict[str, float]:
        """Relative error of the predicted efforts by recording; kind: training or validation."""
        runs = self.result.get(kind) or []
        return {
            Path(str(run["source"])).stem: float(run["relative_error"])
            for run in runs
            if run.get("relative_error") is not None
        }


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(x)}" for key, x in value.items())
    if isinstance(value, list):
        return ", ".join(_text(x) for x in value) or "–"
    return cell_text(value) or "–"
