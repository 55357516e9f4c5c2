# SPDX-License-Identifier: Apache-2.0
"""Result of every estimator: values, uncertainty, checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, StrictBool, StrictFloat, model_validator

from sysid_core.arrays import own_arrays
from sysid_core.errors import EstimationError
from sysid_core.files import Count, FileKind, FileSchema, Name, Number, write_yaml
from sysid_core.reasons import Reason
from sysid_core.robot import Array
from sysid_core.settings import Kind

SCHEMA = "robot_sysid/estimate/1"
_FILE = FileKind(
    "estimate",
    "Give the estimate.yaml that `sysid identify` or `sysid payload` wrote.",
    EstimationError,
)


class ParameterVerdict(Kind):
    """Identifiability verdict of one parameter."""

    IDENTIFIABLE = "identifiable"  # alone, from these data
    COMBINATION = "in combination"  # only together with others
    UNIDENTIFIABLE = "not identifiable"  # no motion of this robot shows it
    PRIOR_DOMINATED = "prior-dominated"  # identifiable, but these data say less than the prior


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values of p identified parameters with their covariance. `certify` lists possible problems.

    Attributes:
        method: Name of the estimator.
        names: Names of the p parameters, such as `link3.mx` or `joint2.F_c`.
        values: Estimated values in SI units, shape (p,).
        units: Units of the p parameters.
        covariance: Covariance matrix of the values, shape (p, p).
        verdicts: Identifiability verdicts of the p parameters.
        consistent: Physical consistency (pseudo-inertia positive definite) of each body, by name;
            empty if only base parameters were estimated, which do not determine it.
        residual_rms: RMS residual of each joint or wrench axis, in the unit of the measurement.
        condition_number: Condition number of the column-scaled regressor.
        rank: Numerical rank of the regressor at the tolerance `rank_tolerance`.
        structural_rank: Largest possible rank, that of an ideal motion.
        rank_tolerance: Relative tolerance of `rank` [-].
        n_samples: Number of samples in the fit.
        robot: Name of the robot.
        urdf_hash: Hash of the robot's description.
        source: Names of the recordings.
        notes: Remarks, one sentence each.
        warnings: Possible problems found by the estimator.
        unknown: Names of parameters that the data do not determine, or only in combination with
            others. Their values come from the URDF, and their standard deviations are NaN. They are
            necessary for predictions.
        combinations: Terms and coefficients of the linear combination that defines each base
            parameter, by name.
        measured: Estimate of the base parameters without prior; None: not available.
        changes: RMS change of the values in each iteration of an iterative method, in units of the
            standard deviations computed for independent noise; not stored in files.

    Raises:
        EstimationError: Arrays and names have different lengths.

    References:
        Siciliano et al. 2009, section 7.3; GUM (JCGM 100) for standard uncertainties.

    Examples:
        >>> known = (ParameterVerdict.IDENTIFIABLE,)
        >>> estimate = Estimate("ols", ("j1.F_c",), np.ones(1), ("N m",), 0.01 * np.eye(1), known)
        >>> estimate["j1.F_c"], estimate.standard_deviations.tolist()
        (1.0, [0.1])
    """

    method: str
    names: tuple[str, ...]
    values: Array
    units: tuple[str, ...]
    covariance: Array
    verdicts: tuple[ParameterVerdict, ...]
    consistent: Mapping[str, bool] = field(default_factory=dict)
    residual_rms: Mapping[str, float] = field(default_factory=dict)
    condition_number: float = float("nan")
    rank: int = 0
    structural_rank: int = 0
    rank_tolerance: float = float("nan")
    n_samples: int = 0
    robot: str = ""
    urdf_hash: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[Reason, ...] = ()
    unknown: tuple[str, ...] = ()
    combinations: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    measured: Estimate | None = None
    changes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        p = len(self.names)
        remedy = "Give arrays for the same parameters and the same samples."
        own_arrays(self, EstimationError, remedy, values=(p,), covariance=(p, p))
        for key in ("units", "verdicts"):
            if len(getattr(self, key)) != p:
                raise EstimationError(
                    f"'{key}' has {len(getattr(self, key))} entries, expected {p}.",
                    remedy="Give one entry for each parameter.",
                )

    def rows(self) -> Iterator[tuple[str, float, float, str, ParameterVerdict]]:
        """Table rows with name, value, standard deviation, unit and verdict of each parameter."""
        return zip(
            self.names,
            self.values.tolist(),
            self.standard_deviations.tolist(),
            self.units,
            self.verdicts,
            strict=True,
        )

    @property
    def standard_deviations(self) -> Array:
        """Standard deviations of the parameters, shape (p,); NaN if the data do not determine a
        value (see `unknown`).
        """
        sd = np.sqrt(np.clip(np.diag(self.covariance), 0.0, None))
        unknown = set(self.unknown)
        return np.where([name in unknown for name in self.names], np.nan, sd)

    @property
    def physically_consistent(self) -> bool | None:
        """True if every body is physically consistent; None without full inertial parameters."""
        return all(self.consistent.values()) if self.consistent else None

    @property
    def maximally_exciting(self) -> bool:
        """True if the data reach the structural rank."""
        return self.rank == self.structural_rank > 0

    def __getitem__(self, name: str) -> float:
        try:
            return float(self.values[self.names.index(name)])
        except ValueError:
            raise EstimationError(
                f"No parameter '{name}' in this estimate.",
                remedy=f"The estimate has: {', '.join(self.names)}.",
            ) from None

    def certify(self) -> tuple[Reason, ...]:
        """Return a list of reasons to distrust the values; empty if there are none."""
        reasons = []
        if not np.all(np.isfinite(self.values)) or not np.all(np.isfinite(self.covariance)):
            reasons.append(Reason.failure("estimate-not-finite"))
        bad = [body for body, ok in self.consistent.items() if not ok]
        if bad:
            reasons.append(Reason.failure("estimate-inconsistent", bodies=bad))
        if self.structural_rank and not self.maximally_exciting:
            code = "payload-rank" if "payload.m" in self.names else "estimate-rank"
            reasons.append(Reason.warning(code, rank=self.rank, full=self.structural_rank))
        return (*reasons, *self.warnings)

    def to_dict(self) -> dict[str, object]:
        """Estimate as plain data for YAML and JSON."""
        return {
            "schema": SCHEMA,
            "method": self.method,
            "robot": self.robot,
            "urdf_hash": self.urdf_hash,
            "source": self.source,
            "parameters": self._parameters(),
            "covariance": self.covariance.tolist(),
            "consistent": dict(self.consistent),
            "physically_consistent": self.physically_consistent,
            "residual_rms": {k: float(x) for k, x in self.residual_rms.items()},
            "condition_number": float(self.condition_number),
            "rank": int(self.rank),
            "structural_rank": int(self.structural_rank),
            "rank_tolerance": float(self.rank_tolerance),
            "n_samples": int(self.n_samples),
            "notes": list(self.notes),
            "warnings": [reason.to_dict() for reason in self.warnings],
            **({"measured": self.measured._parameters()} if self.measured is not None else {}),
        }

    def _parameters(self) -> list[dict[str, object]]:
        return [
            {
                "name": name,
                "value": value,
                "sd": None if np.isnan(sd) else sd,
                "unit": unit,
                "verdict": verdict.value,
                **({"stands_for": dict(terms)} if (terms := self.combinations.get(name)) else {}),
            }
            for name, value, sd, unit, verdict in self.rows()
        ]

    def save(self, path: str | Path) -> None:
        """Write `estimate.yaml`, and create its folder. Each row of the covariance is one string,
        which is read 20 times faster than a list.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        raw = {**self.to_dict(), "covariance": _rows_as_text(self.covariance)}
        if self.measured is not None:
            raw["measured_covariance"] = _rows_as_text(self.measured.covariance)
        write_yaml(path, raw)

    @classmethod
    def load(cls, path: str | Path) -> Estimate:
        """Read an estimate written by `save`.

        Raises:
            EstimationError: The file is not an estimate.
        """
        file = _FILE.read_schema(path, _EstimateFile)
        shared = {"method", "robot", "urdf_hash", "source", "residual_rms", "n_samples"}
        shared |= {"rank", "structural_rank", "rank_tolerance", "condition_number"}
        same = {key: getattr(file, key) for key in shared}
        measured = None
        if file.measured:
            measured = cls(**same, **_columns(file.measured, file.measured_covariance))
        return cls(
            **same,
            **_columns(file.parameters, file.covariance),
            consistent=file.consistent,
            notes=file.notes,
            warnings=tuple(map(_reason, file.warnings)),
            measured=measured,
        )

    @property
    def measured_part(self) -> Estimate:
        """Return the estimate without the influence of the prior if one is stored; otherwise the
        estimate itself.
        """
        return self if self.measured is None else self.measured


def _reason(raw: Mapping[str, object]) -> Reason:
    try:
        return Reason.from_dict(raw)
    except (KeyError, ValueError, TypeError, AssertionError) as err:
        raise EstimationError(
            "A warning of this estimate has no known code.",
            remedy="The file was edited, or written by a newer version: identify again.",
        ) from err


def _rows_as_text(matrix: Array) -> list[str]:
    return [" ".join(map(repr, row)) for row in matrix.tolist()]


def _columns(
    rows: Sequence[_ParameterRow], covariance: Sequence[str | list[float]]
) -> dict[str, Any]:
    """Fields of an estimate with one entry per parameter."""
    return {
        "names": tuple(row.name for row in rows),
        "values": np.array([row.value for row in rows]),
        "units": tuple(row.unit for row in rows),
        "verdicts": tuple(row.verdict for row in rows),
        "covariance": _matrix(covariance),
        "unknown": tuple(row.name for row in rows if row.sd is None),
        "combinations": {row.name: row.stands_for for row in rows if row.stands_for},
    }


def _matrix(covariance: Sequence[str | list[float]]) -> Array:
    rows = [row.split() if isinstance(row, str) else row for row in covariance]
    return np.array(rows, dtype=float).reshape(len(rows), -1 if rows else 0)


class _ParameterRow(FileSchema):
    name: Name
    value: Number
    sd: StrictFloat | None
    unit: str
    verdict: ParameterVerdict
    stands_for: dict[str, Number] = Field(default_factory=dict)


class _EstimateFile(FileSchema):
    schema_: Literal["robot_sysid/estimate/1"] = Field(alias="schema")
    method: str
    robot: str
    urdf_hash: str
    source: str
    parameters: list[_ParameterRow]
    covariance: list[str | list[StrictFloat]]
    consistent: dict[str, StrictBool]
    physically_consistent: StrictBool | None = None
    residual_rms: dict[str, StrictFloat]
    condition_number: StrictFloat
    rank: Count
    structural_rank: Count
    rank_tolerance: StrictFloat
    n_samples: Count
    notes: tuple[str, ...]
    warnings: list[dict[str, Any]] = Field(default_factory=list)
    measured: list[_ParameterRow] = Field(default_factory=list)
    measured_covariance: list[str | list[StrictFloat]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _sound(self) -> _EstimateFile:
        for key, rows, covariance in (
            ("parameters", self.parameters, self.covariance),
            ("measured", self.measured, self.measured_covariance),
        ):
            names = [row.name for row in rows]
            if len(set(names)) < len(names):
                raise ValueError(f"`{key}` has a name twice")
            try:
                shape = _matrix(covariance).shape
            except ValueError as err:
                raise ValueError(f"`covariance` isn't a matrix of numbers ({err})") from err
            if shape != (len(names), len(names)):
                raise ValueError(f"`covariance` isn't {len(names)} x {len(names)}")
        return self
