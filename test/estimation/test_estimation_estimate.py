# SPDX-License-Identifier: Apache-2.0
"""An estimate keeps what it knows, and says when it can't be trusted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from sysid_core.errors import EstimationError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.files import write_yaml


@pytest.fixture
def estimate() -> Estimate:
    return Estimate(
        method="test",
        names=("a.m", "a.mx"),
        values=np.array([1.0, -0.5]),
        units=("kg", "kg m"),
        covariance=np.array([[0.04, 0.01], [0.01, 0.09]]),
        verdicts=(ParameterVerdict.IDENTIFIABLE, ParameterVerdict.PRIOR_DOMINATED),
        consistent={"a": True},
        residual_rms={"joint1": 0.1},
        condition_number=3.0,
        rank=2,
        structural_rank=2,
        rank_tolerance=1e-9,
        n_samples=10,
        robot="r",
        urdf_hash="0123",
        notes=("a note",),
    )


def test_it_is_read_back_as_it_was_written(estimate: Estimate, tmp_path: Path) -> None:
    estimate.save(tmp_path / "estimate.yaml")
    back = Estimate.load(tmp_path / "estimate.yaml")
    assert back.to_dict() == estimate.to_dict()
    assert back["a.mx"] == -0.5 and back.verdicts[1] is ParameterVerdict.PRIOR_DOMINATED
    np.testing.assert_allclose(back.standard_deviations, [0.2, 0.3])


def test_it_names_the_reasons_not_to_trust_it(estimate: Estimate) -> None:
    assert estimate.certify() == () and estimate.physically_consistent
    poor = dataclasses.replace(estimate, rank=1, consistent={"a": True, "b": False})
    inconsistent, rank = poor.certify()
    assert inconsistent.code == "estimate-inconsistent" and inconsistent.data["bodies"] == ("b",)
    assert rank.code == "estimate-rank" and not poor.maximally_exciting
    unknown = dataclasses.replace(estimate, consistent={})
    assert unknown.physically_consistent is None


def test_its_arrays_cannot_be_changed(estimate: Estimate) -> None:
    with pytest.raises(ValueError, match="read-only"):
        estimate.values[0] = 2.0


def test_shapes_and_files_that_do_not_fit_are_refused(estimate: Estimate, tmp_path: Path) -> None:
    with pytest.raises(EstimationError, match="covariance"):
        dataclasses.replace(estimate, covariance=np.eye(3))
    with pytest.raises(EstimationError, match=r"a\.mz"):
        estimate["a.mz"]
    file = tmp_path / "other.yaml"
    file.write_text("schema: something else\n", encoding="utf-8")
    with pytest.raises(EstimationError, match="not of schema"):
        Estimate.load(file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"covariance": ["1 2", "3"]}, "covariance"),
        ({"covariance": ["1 x", "0 1"]}, "covariance"),
        ({"rank": 1.5}, "whole number"),
        ({"parameters": "x"}, "expected a list"),
        ({"method": None}, "`method`"),
    ],
)
def test_a_damaged_estimate_is_refused_by_file_and_key(
    estimate: Estimate, tmp_path: Path, change: dict, words: str
) -> None:
    file = tmp_path / "estimate.yaml"
    write_yaml(file, {**estimate.to_dict(), **change})
    with pytest.raises(EstimationError, match=words) as err:
        Estimate.load(file)
    assert "estimate.yaml" in err.value.message
    assert err.value.remedy
