# SPDX-License-Identifier: Apache-2.0
"""What `sysid identify` prints and writes as numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_cli.app import console
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from sysid_core.estimation.arm import Identification
    from sysid_core.validation import Prediction


def result_dict(
    result: Identification, training: list[Prediction], validation: list[Prediction]
) -> dict[str, object]:
    """Contents of result.json."""
    estimate = result.estimate
    return {
        "schema": "robot_sysid/identification/1",
        "robot": estimate.robot,
        "urdf_hash": estimate.urdf_hash,
        "method": estimate.method,
        "friction_terms": {
            axis: [term.value for term in result.friction.terms_of(axis)]
            for axis in result.friction.drives.axis_names
        },
        "rank": estimate.rank,
        "structural_rank": estimate.structural_rank,
        "rank_tolerance": estimate.rank_tolerance,
        "condition_number": estimate.condition_number,
        "physically_consistent": result.physically_consistent,
        "n_samples": estimate.n_samples,
        "joints": {
            name: {
                kind: _pooled(predictions, name)
                for kind, predictions in (("training", training), ("validation", validation))
                if predictions
            }
            for name in result.model.joint_names
        },
        "training": [p.to_dict() for p in training],
        "validation": [p.to_dict() for p in validation],
        "friction": result.friction_parameters,
        "warnings": [reason.to_dict() for reason in estimate.certify()],
        "notes": list(estimate.notes),
    }


def json_text(value: object) -> str:
    """JSON that every parser takes: null where a number isn't finite."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _pooled(predictions: list[Prediction], joint: str) -> dict[str, float]:
    """RMS and R² of a joint over all runs, in motion."""
    import numpy as np

    from sysid_core.estimation import residual_statistics

    pairs = [p.columns(joint) for p in predictions]
    measured, predicted = (np.concatenate(x)[:, None] for x in zip(*pairs, strict=True))
    return residual_statistics((joint,), measured, predicted)[joint]


def print_summary(
    result: Identification, training: list[Prediction], validation: list[Prediction]
) -> None:
    """Errors run by run, and what is doubtful."""
    from rich.table import Table

    from sysid_core.report import consistency_sentence

    estimate = result.estimate
    table = Table(title=f"{estimate.robot}, {estimate.method}: raw efforts against prediction")
    for column in ("joint", "RMS", "URDF's RMS", "R²", "R² whole run"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    for kind, predictions in (("fitted", training), ("not fitted", validation)):
        for p in predictions:
            still = not p.motion.any()  # R² of a constant says nothing
            beside = p if p.nominal is None else p.beside()
            whole, nominal = p.joints(whole=True), beside.joints()
            shares = (p.relative_error(), beside.relative_error(), p.relative_error(whole=True))
            error, other, all_of_it = (f"{100 * share:.2f} %" for share in shares)
            table.add_row(
                f"{kind}: {Path(p.source).stem}{' (at rest)' if still else ''}",
                *(f"{error} (whole run {all_of_it})", other),
                style="bold",
            )
            for i, (name, stats) in enumerate(p.joints().items(), 1):
                table.add_row(
                    name,
                    f"{stats['rms']:.4g} {p.unit}",
                    f"{nominal[name]['rms']:.4g} {p.unit}",
                    *("–" if still else f"{s[name]['r2']:.4f}" for s in (p.joints(), whole)),
                    end_section=i == len(p.joint_names),
                )
    print_table(table)
    console.print(
        f"rank {estimate.rank} of {estimate.structural_rank}, condition number"
        f" {estimate.condition_number:.0f}; {consistency_sentence(result)}",
        soft_wrap=True,
    )
    for note in estimate.notes:
        console.print(f"· {note}", highlight=False, soft_wrap=True, markup=False)
