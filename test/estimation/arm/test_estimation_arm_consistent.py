# SPDX-License-Identifier: Apache-2.0
"""The physically consistent fit of an arm, and MuJoCo's arm."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from whole_arm_estimators import WIDE
from whole_arm_simulation import (
    USUAL_VALUES,
    arm,
    friction_model,
    motion,
    recording,
)

from sysid_core.estimation.arm import (
    ArmEquations,
    Identification,
)
from sysid_core.estimation.fit import LeastSquares
from sysid_core.estimation.fit.consistent_problem import (
    Prior,
    build_consistent_problem,
    solve_consistent,
    solve_convex,
)
from sysid_core.estimation.fit.regression import compress
from sysid_core.robot import (
    is_physically_consistent,
    pseudo_inertia_from_pi,
)
from sysid_core.signals import EffortKind


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_the_consistent_fit_is_the_best_that_is_consistent(noise):
    rng = np.random.default_rng(3)
    truth, friction = arm(), friction_model()
    urdf = truth.with_pi(truth.pi * rng.uniform(0.7, 1.3, (3, 1)))
    run = recording(truth, friction, USUAL_VALUES, rng, duration=15.0, noise=noise)
    regression = ArmEquations.build(urdf, [run], friction, WIDE).regression(urdf.pi.ravel())
    free = np.ones(len(regression.names), dtype=bool)
    R, r = compress(regression).weighted(np.full(3, 1e4))
    rho = np.ones(len(free))
    for prior in ("quadratic", "entropic"):
        problem = build_consistent_problem(regression, free, R, r, rho, Prior(prior))
        assert {"link1 consistent", "link3 consistent", "non-negative"} <= set(problem.constraints)
        found, certificate = solve_consistent(problem)
        residuals = (certificate.primal_residual, certificate.dual_residual, certificate.gap)
        assert max(residuals) <= 1e-6 and not certificate.notes
        assert np.all(is_physically_consistent(found[:30].reshape(3, 10)))

        def cost(pi, prior=prior):
            far = ((pi - regression.prior) / regression.prior_sd) ** 2
            if prior == "entropic":
                P_0, P = (
                    pseudo_inertia_from_pi(x[:30].reshape(3, 10)) for x in (urdf.pi.ravel(), pi)
                )
                ratio = np.linalg.solve(P_0, P)
                far[:30] = 0.0
                far[0] = np.sum(np.trace(ratio, axis1=1, axis2=2) - np.linalg.slogdet(ratio)[1])
            return np.sum((R @ pi - r) ** 2) + np.sum(far)

        # The true parameters are consistent, and so is everything between them and the result.
        true = np.concatenate([truth.pi.ravel(), USUAL_VALUES])
        best = cost(found)
        assert all(
            cost(found + t * (true - found)) >= best * (1.0 - 1e-6) for t in (1e-3, 0.1, 1.0)
        )


def test_a_problem_that_is_almost_solved_says_so():
    x = cp.Variable(2)
    barely = cp.bmat([[x[0], 1e-7], [1e-7, x[1]]]) >> 0  # impossible with x_0 = 0, but for 1e-7
    program = cp.Problem(cp.Minimize(x[1]), [barely, x[0] == 0.0])
    notes = solve_convex(program, "the test").notes
    assert len(notes) == 1 and "the test is solved only approximately" in notes[0]


def test_mujoco_torques_give_its_damping_and_armature():
    mujoco = pytest.importorskip("mujoco")
    from whole_arm_simulation import arm_urdf

    from sysid_core.signals import JointStream, Recording

    model = mujoco.MjModel.from_xml_string(
        arm_urdf().replace("<link", '<mujoco><compiler fusestatic="false"/></mujoco><link', 1)
    )
    model.dof_armature[:] = [0.4, 0.5, 0.1]
    model.dof_damping[:] = [2.0, 3.0, 0.8]
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    t, q, v, a = motion(np.random.default_rng(11), 15.0, 200.0)
    tau = np.empty_like(q)
    for k in range(len(t)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        tau[k] = data.qfrc_inverse
    robot = arm()
    stream = JointStream(
        robot.joint_names,
        np.round(t * 1e9).astype(np.int64),
        q,
        v,
        effort=tau,
        effort_kind=EffortKind.LINK_TORQUE,
    )
    friction = friction_model(gains=(1.0, 1.0, 1.0))
    fixed = LeastSquares("joint", fixed=["inertials"])
    values = Identification.of(
        robot, [Recording(stream)], friction, fixed, WIDE
    ).friction_parameters
    assert [values[f"joint{i}.I_a"] for i in (1, 2, 3)] == pytest.approx([0.4, 0.5, 0.1], rel=1e-2)
    assert [values[f"joint{i}.F_v"] for i in (1, 2, 3)] == pytest.approx([2.0, 3.0, 0.8], rel=1e-2)
