# SPDX-License-Identifier: Apache-2.0
"""Sequential estimates: exact without noise, covered with it, refused when not exciting."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import EstimationError
from sysid_core.estimation import ParameterVerdict
from sysid_core.estimation.fit import LeastSquares, Regression
from sysid_core.estimation.sequential import (
    SequentialIdentification,
    SequentialLeastSquares,
    motion_segments,
)
from sysid_core.identifiability.composite_bodies import MinimalConstants
from sysid_core.planning import Segment, Trajectory
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.signals import EffortKind, JointStream, Mark, Recording

TERMS = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.OFFSET)
SWING = 2.0  # [s]


def swing(posture, joints, samples=30):
    """Both directions, two speeds; shapes (K, n)."""
    t = np.linspace(0.0, SWING, samples)
    q, v, a = np.tile(posture, (samples, 1)), np.zeros((samples, len(posture))), None
    a = v.copy()
    for k, i in enumerate(joints):
        for size, w in ((0.5, (1 + k) * np.pi), (0.2, 2 * (1 + k) * np.pi)):
            q[:, i] += size * np.sin(w * t)
            v[:, i] += size * w * np.cos(w * t)
            a[:, i] -= size * w**2 * np.sin(w * t)
    return q, v, a


class Bench:
    """A robot, its true parameters, and motions of one joint at a time."""

    def __init__(self, model: RobotModel, moves, seed=0, postures=6, terms=TERMS) -> None:
        rng = np.random.default_rng(seed)
        n = model.nv
        self.model, self.minimal = model, MinimalConstants.of(model)
        self.friction = FrictionModel(DriveTrain.direct(model.joint_names), terms)
        parts = [swing(rng.uniform(-2, 2, n), m) for m in moves for _ in range(postures)]
        q, v, a = (np.concatenate(x) for x in zip(*parts, strict=True))
        self.Y = self.rows(q, v, a)
        self.starts = tuple(range(0, len(q), len(parts[0][0])))
        # The rows' span that ideal motion of all joints reaches.
        states = model.random_states(150, rng)
        spread = self.rows(*states).reshape(-1, self.Y.shape[2])
        self.structure = np.linalg.qr(spread, mode="r")
        self.names = model.parameter_names + self.friction.names
        truth = model.pi * rng.uniform(0.8, 1.25, size=(n, 1))
        per_joint = {"coulomb": 2.0, "viscous": 1.5, "offset": 0.1, "inertia": 0.4}
        self.truth = np.concatenate([truth.ravel(), np.tile([per_joint[t] for t in terms], n)])

    def rows(self, q, v, a):
        return np.concatenate(
            [self.model.torque_regressor(q, v, a), self.friction.regressor(q, v, a)], 2
        )

    def regression(self, noise=0.0, rng=None) -> Regression:
        tau = self.Y @ self.truth
        if noise:
            tau = tau + noise * rng.normal(size=tau.shape)
        p, n_inertial = len(self.names), 10 * self.model.n_bodies
        return Regression(
            Y=self.Y,
            tau=tau,
            names=self.names,
            units=RobotModel.INERTIAL_UNITS * self.model.n_bodies + self.friction.units,
            joints=self.model.joint_names,
            bodies=self.model.body_names,
            prior=np.concatenate([self.model.pi.ravel(), np.zeros(p - n_inertial)]),
            prior_sd=np.concatenate(
                [
                    self.model.inertial_scale,
                    Regression.friction_scale(self.Y[:, :, n_inertial:], tau),
                ]
            ),
            non_negative=np.zeros(p, dtype=bool),
            structure=self.structure,
            starts=self.starts,
        )


def singles(n: int):
    return [(i,) for i in range(n)]


@pytest.fixture(scope="module")
def stanford() -> Bench:
    """With motions of two joints for parameters that motor torques of single joints don't
    determine.
    """
    return Bench(RobotModel.from_urdf("stanford"), [*singles(6), (0, 1), (0, 2), (1, 3)])


@pytest.mark.parametrize("locked", ["hidden", "measured"])
def test_noise_free_estimate_is_exact(stanford, locked) -> None:
    regression = stanford.regression()
    fit = SequentialLeastSquares(stanford.minimal, locked=locked).fit_steps(regression)
    expected = regression.base.base_values(stanford.truth)
    np.testing.assert_allclose(fit.estimate.values, expected, atol=1e-9)
    assert fit.estimate.maximally_exciting
    assert fit.estimate.structural_rank == regression.base.rank


def test_estimate_has_the_form_of_every_other(stanford, rng) -> None:
    regression = stanford.regression(0.2, rng)
    sequential = SequentialLeastSquares(stanford.minimal).fit(regression)
    at_once = LeastSquares("joint").fit(regression)
    assert sequential.names == at_once.names
    assert sequential.units == at_once.units
    distance = np.abs(sequential.values - at_once.values)
    assert np.all(distance < 5.0 * (sequential.standard_deviations + at_once.standard_deviations))


@pytest.mark.slow
@pytest.mark.parametrize(("locked", "seeds"), [("hidden", 50), ("measured", 20)])
def test_reported_deviations_cover_the_truth(stanford, locked, seeds) -> None:
    estimator = SequentialLeastSquares(stanford.minimal, locked=locked)
    truth = stanford.regression().base.base_values(stanford.truth)
    inside = []
    for seed in range(seeds):
        estimate = estimator.fit(stanford.regression(0.3, np.random.default_rng(seed)))
        z = (estimate.values - truth) / estimate.standard_deviations
        inside.append(np.abs(z) < 1.96)
    assert 0.93 <= np.mean(inside) <= 0.995  # fits without a block scatter more than the whole


def test_recursion_is_never_better_than_all_rows_at_once(stanford, rng) -> None:
    fit = SequentialLeastSquares(stanford.minimal).fit_steps(stanford.regression(0.3, rng))
    assert np.all(fit.standard_deviations >= 0.999 * fit.at_once_sd)
    assert np.median(fit.standard_deviations / fit.at_once_sd) > 1.05
    shares = fit.inherited_shares()
    # What is left is the prior's, in directions that were postponed to the end.
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=5e-3)
    # The first joint's step takes all others as known, and their errors with them.
    first = fit.constants.index("U1_33")
    assert shares[:-1, first].sum() > 0.05


def test_motion_of_too_few_joints_is_refused_and_says_what_stays_open() -> None:
    bench = Bench(RobotModel.from_urdf("stanford"), singles(6))
    with pytest.raises(EstimationError, match="U2_13") as caught:
        SequentialLeastSquares(bench.minimal).fit(bench.regression(0.1, np.random.default_rng(1)))
    assert "friction is undetermined" in str(caught.value)
    assert caught.value.data["open"]


def test_locked_torques_show_what_motors_hide() -> None:
    # Rotating the first joint alone in several postures is Lin's own procedure.
    bench = Bench(RobotModel.from_urdf("stanford"), singles(6))
    estimator = SequentialLeastSquares(bench.minimal, locked="measured")
    estimate = estimator.fit(bench.regression(0.1, np.random.default_rng(1)))
    assert estimate.maximally_exciting


def test_unexcited_constants_keep_the_prior_and_say_so() -> None:
    bench = Bench(RobotModel.from_urdf("stanford"), singles(6))
    regression = bench.regression(0.1, np.random.default_rng(1))
    estimate = SequentialLeastSquares(bench.minimal, unexcited="prior").fit(regression)
    assert estimate.rank < estimate.structural_rank
    assert any("URDF's value is kept" in note for note in estimate.notes)
    assert estimate.certify()
    truth = regression.base.base_values(bench.truth)
    z = (estimate.values - truth) / estimate.standard_deviations
    assert np.all(np.abs(z) < 6.0)


def test_rotor_inertia_is_told_from_link_inertia_where_structure_allows(rng) -> None:
    moves = [*singles(6), *[(i, j) for i in range(6) for j in range(i + 1, 6)]]
    bench = Bench(
        RobotModel.from_urdf("stanford"), moves, postures=4, terms=(*TERMS, FrictionTerm.INERTIA)
    )
    regression = bench.regression()
    fit = SequentialLeastSquares(bench.minimal).fit_steps(regression)
    truth = regression.base.base_values(bench.truth)
    np.testing.assert_allclose(fit.estimate.values, truth, atol=1e-8)
    assert "joint1.I_a" not in fit.constants  # always together with U1_33
    assert "joint4.I_a" in fit.constants


def test_another_robots_constants_are_refused(stanford) -> None:
    other = MinimalConstants.of(RobotModel.from_urdf("ur5"))
    with pytest.raises(EstimationError, match="another robot"):
        SequentialLeastSquares(other).fit(stanford.regression())


def recording(bench: Bench, q, v, a, rate_hz=100.0, marks=(), noise=0.02) -> Recording:
    rng = np.random.default_rng(9)
    tau = bench.rows(q, v, a) @ bench.truth
    stamps = (np.arange(len(q)) / rate_hz * 1e9).astype(np.int64)
    return Recording(
        JointStream(
            bench.model.joint_names,
            stamps,
            q + 1e-6 * rng.normal(size=q.shape),
            v=v,
            effort=tau + noise * rng.normal(size=tau.shape),
            effort_kind=EffortKind.ACTUATOR_TORQUE,
        ),
        marks=marks,
        source="bench",
    )


def one_joint_recording(bench: Bench, seed=3, swings=8):
    """Swings of one joint after another, with ways of all joints between; and its trajectory."""
    rng = np.random.default_rng(seed)
    n, rate = bench.model.nv, 100.0
    rows, segments, posture = [], [], np.zeros(n)
    t = np.arange(0.0, 1.0, 1 / rate)
    s, ds, dds = (
        10 * t**3 - 15 * t**4 + 6 * t**5,
        30 * t**2 * (1 - t) ** 2,
        60 * t * (1 - t) * (1 - 2 * t),
    )
    count = 0
    for k in range(swings * n):
        goal = rng.uniform(-1.5, 1.5, n)
        way = [posture + np.outer(s, goal - posture), np.outer(ds, goal - posture), np.outer(dds, goal - posture)]  # fmt: skip
        rows.append(way)
        count += len(t)
        i = k % n
        w = 2 * np.pi * t
        q, v, a = np.tile(goal, (len(t), 1)), np.zeros((len(t), n)), np.zeros((len(t), n))
        q[:, i] += 0.3 * (1 - np.cos(w))
        v[:, i] = 0.6 * np.pi * np.sin(w)
        a[:, i] = 1.2 * np.pi**2 * np.cos(w)
        rows.append([q, v, a])
        label = f"{bench.model.joint_names[i]} alone, posture {k}"
        segments.append(Segment(label, count / rate, (count + len(t)) / rate, (bench.model.joint_names[i],)))  # fmt: skip
        count += len(t)
        posture = goal
    q, v, a = (np.concatenate(x) for x in zip(*rows, strict=True))
    plan = Trajectory(bench.model.name, "", bench.model.joint_names, np.arange(len(q)) / rate, q, v, a, tuple(segments))  # fmt: skip
    return recording(bench, q, v, a), plan


def test_segments_are_found_from_the_data_alone(stanford) -> None:
    run, plan = one_joint_recording(stanford)
    stream = run.joints
    found = motion_segments(stream.time, stream.v, stream.names)
    alone = [s for s in found if len(s.joints) == 1]
    assert [s.joints for s in alone] == [s.joints for s in plan.segments]
    for a, b in zip(alone, plan.segments, strict=True):
        assert b.start - 0.05 <= a.start and a.end <= b.end + 0.05


@pytest.mark.parametrize("hint", ["none", "plan", "marks"])
def test_recording_is_identified_with_and_without_its_plan(hint) -> None:
    bench = Bench(RobotModel.from_urdf("stanford"), singles(6))
    run, plan = one_joint_recording(bench)
    if hint == "marks":
        marks = tuple(
            Mark(int(t * 1e9), f"{s.label}:{edge}")
            for s in plan.segments
            for t, edge in ((s.start, "start"), (s.end, "end"))
        )
        run = Recording(run.joints, marks=marks, source=run.source)
    result = SequentialIdentification.of(
        bench.model,
        [run],
        bench.friction,
        SequentialLeastSquares(bench.minimal, locked="measured"),
        trajectory=plan if hint == "plan" else None,
    )
    labels = {s.label for s in result.segments}
    if hint != "none":
        assert labels == {s.label for s in plan.segments}
    assert any("excluded" in note for note in result.identification.estimate.notes)
    truth = bench.truth[: 10 * 6]
    q, v, a = np.random.default_rng(4).uniform(-1, 1, size=(3, 40, 6))
    expected = bench.model.torque_regressor(q, v, a) @ truth
    found = bench.model.with_pi(result.identification.pi).inverse_dynamics(q, v, a)
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.03 * np.sqrt(np.mean(expected**2))


def test_recording_of_all_joints_at_once_is_refused(stanford) -> None:
    t = np.arange(0.0, 5.0, 0.01)[:, None]
    phase = np.arange(6.0)
    q, v, a = np.sin(3 * t + phase), 3 * np.cos(3 * t + phase), -9 * np.sin(3 * t + phase)
    with pytest.raises(EstimationError, match="a motion of a single joint"):
        SequentialIdentification.of(
            stanford.model,
            [recording(stanford, q, v, a)],
            stanford.friction,
            SequentialLeastSquares(stanford.minimal),
        )


def test_verdicts_tell_alone_from_in_combination(stanford, rng) -> None:
    estimate = SequentialLeastSquares(stanford.minimal).fit(stanford.regression(0.05, rng))
    verdicts = set(estimate.verdicts)
    assert ParameterVerdict.COMBINATION in verdicts and ParameterVerdict.IDENTIFIABLE in verdicts
