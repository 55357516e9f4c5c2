# SPDX-License-Identifier: Apache-2.0
"""The structural answer against sampled regressors, for trees of mixed joints."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, Rotor, parameter_transform

JOINTS = {
    "RX": pin.JointModelRX,
    "RY": pin.JointModelRY,
    "RZ": pin.JointModelRZ,
    "continuous": pin.JointModelRUBZ,
    "unaligned": lambda: pin.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
    "PX": pin.JointModelPX,
    "PZ": pin.JointModelPZ,
    "planar": pin.JointModelPlanar,
    "spherical": pin.JointModelSpherical,
    "floating": pin.JointModelFreeFlyer,
    "Euler": pin.JointModelSphericalZYX,
    "translation": pin.JointModelTranslation,
    "helical": lambda: pin.JointModelHX(0.3),
    "universal": lambda: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
}
RIGHT_ANGLES = [pin.utils.rotate(axis, k * np.pi / 2) for axis in "xyz" for k in range(4)]
SOMEHOW = pin.rpy.rpyToMatrix(0.4, -0.9, 1.3)
# Parallel, perpendicular and coincident axes are likely; skew ones happen.
ROTATIONS = st.one_of(
    st.just(np.eye(3)), st.sampled_from([R.round() for R in RIGHT_ANGLES]), st.just(SOMEHOW)
)
OFFSETS = st.sampled_from(
    [(0, 0, 0), (0, 0, 0), (0.5, 0, 0), (0, 0.3, 0), (0, 0, 0.4), (0.2, -0.1, 0.3)]
)
GRAVITIES = st.sampled_from([(0, 0, -9.81), (9.81, 0, 0), (0, 0, 0), (1.0, -2.0, 8.0)])


@st.composite
def trees(draw, joints=tuple(JOINTS), max_bodies=12):
    model = pin.Model()
    for i in range(draw(st.integers(1, max_bodies))):
        parent = draw(st.integers(max(0, i - 2), i))
        placement = pin.SE3(draw(ROTATIONS), np.array(draw(OFFSETS), dtype=float))
        # Revolute joints are what robots are made of.
        kind = draw(st.one_of(st.sampled_from(["RX", "RZ", "RZ"]), st.sampled_from(joints)))
        model.addJoint(parent, JOINTS[kind](), placement, f"joint{i + 1}")
    model.gravity.linear = np.array(draw(GRAVITIES), dtype=float)
    return RobotModel("tree", model)


def states(model, n, rng):
    pin_model = model.pin_model
    q = np.array(
        [
            pin.integrate(pin_model, pin.neutral(pin_model), rng.uniform(-1.5, 1.5, model.nv))
            for _ in range(n)
        ]
    )
    return q, 2 * rng.normal(size=(n, model.nv)), 5 * rng.normal(size=(n, model.nv))


def rank_and_gap(Y):
    scale = np.linalg.norm(Y, axis=0)
    seen = scale > 1e-12 * scale.max(initial=1e-300)
    if not seen.any():
        return 0, np.inf
    s = np.linalg.svd(Y[:, seen] / scale[seen], compute_uv=False)
    rank = int(np.count_nonzero(s > 1e-10 * s[0]))
    return rank, s[rank - 1] / s[rank] if rank < len(s) else np.inf


def sampled(model, rng, static=False, rotors=()):
    q, v, a = states(model, 12 * model.n_bodies + 20, rng)
    if static:
        v, a = 0 * v, 0 * a
    Y = model.torque_regressor(q, v, a)
    if rotors:
        Y = np.concatenate([Y, Rotor.regressor(model, rotors, q, v, a)], axis=2)
    return Y.reshape(-1, Y.shape[-1])


few = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes here
)


@few
@given(model=trees(), seed=st.integers(0, 2**16))
def test_structural_rank_is_that_of_a_sampled_regressor(model, seed):
    answer = structural_identifiability(model)
    rank, gap = rank_and_gap(sampled(model, np.random.default_rng(seed)))

    assert answer.n_base == rank
    assert gap > 1e3


@few
@given(model=trees(), seed=st.integers(0, 2**16))
def test_nullspace_is_invisible_in_100_random_states(model, seed):
    answer = structural_identifiability(model)
    q, v, a = states(model, 100, np.random.default_rng(seed))
    Y = model.torque_regressor(q, v, a).reshape(-1, answer.n_parameters)
    size = np.abs(Y).max() if Y.any() else 1.0

    assert answer.nullspace.shape == (answer.n_parameters, answer.n_parameters - answer.n_base)
    assert np.abs(Y @ answer.nullspace).max(initial=0.0) < 1e-11 * size


@few
@given(model=trees())
def test_identifiable_combinations_are_orthogonal_to_the_nullspace_and_reduce_to_the_base(model):
    answer = structural_identifiability(model)
    N, R, base = answer.combinations, answer.nullspace, answer.base

    assert N.shape[0] == answer.n_base
    assert np.abs(N @ R).max(initial=0.0) < 1e-12
    assert np.abs(base.regrouping @ R).max(initial=0.0) < 1e-10
    # Row-reduced form: each row of N is a combination of the rows of the regrouping.
    np.testing.assert_allclose(N[:, list(base.independent)] @ base.regrouping, N, atol=1e-9)


@few
@given(model=trees(), seed=st.integers(0, 2**16))
def test_base_regressor_times_regrouping_is_the_full_regressor(model, seed):
    base = structural_identifiability(model).base
    Y = sampled(model, np.random.default_rng(seed))

    assert base.exact
    np.testing.assert_allclose(
        base.base_regressor(Y) @ base.regrouping, Y, atol=1e-9 * (1 + np.abs(Y).max())
    )


@few
@given(model=trees(), seed=st.integers(0, 2**16))
def test_resting_postures_show_the_static_rank(model, seed):
    answer = structural_identifiability(model, static=True)
    rank, _ = rank_and_gap(sampled(model, np.random.default_rng(seed), static=True))
    assert answer.n_base == rank


SINGLE = ("RX", "RY", "RZ", "continuous", "unaligned", "PX", "PZ", "helical")


@few
@given(model=trees(joints=SINGLE), seed=st.integers(0, 2**16))
def test_rotors_add_what_a_sampled_regressor_shows(model, seed):
    rng = np.random.default_rng(seed)
    rotors = tuple(
        Rotor(
            joint,
            rng.choice([1.0, -1.0, 5.0, 60.0]),
            [None, (1.0, 0, 0), (0, 0, 1.0)][rng.integers(3)],
        )
        for i, joint in enumerate(model.joint_names)
        if rng.random() < 0.7 and model.pin_model.joints[i + 1].nv == 1
    )
    rotors = tuple(rotors[i] for i in rng.permutation(len(rotors)))  # any order
    answer = structural_identifiability(model, rotors=rotors)
    Y = sampled(model, rng, rotors=rotors)
    base = answer.base

    assert base.rank == rank_and_gap(Y)[0]
    assert answer.n_base == structural_identifiability(model).n_base
    np.testing.assert_allclose(
        base.base_regressor(Y) @ base.regrouping, Y, atol=1e-9 * (1 + np.abs(Y).max())
    )


@few
@given(model=trees(), seed=st.integers(0, 2**16))
def test_verdicts_are_those_of_a_sampled_nullspace(model, seed):
    answer = structural_identifiability(model)
    Y = sampled(model, np.random.default_rng(seed))
    unseen = np.abs(Y).max(axis=0) < 1e-10 * (1 + np.abs(Y).max())
    _, _, Vt = np.linalg.svd(np.linalg.qr(Y, mode="r"))
    alone = np.linalg.norm(Vt[answer.n_base :], axis=0) < 1e-7

    for parameter, invisible, single in zip(answer.parameters, unseen, alone, strict=True):
        assert (parameter.verdict.symbol == "✕") == invisible
        assert (parameter.verdict.symbol == "★") == (single and not invisible)
        assert parameter.is_base == (parameter.verdict.symbol in "★●")


@few
@given(model=trees(joints=("RX", "RZ", "PZ", "spherical", "floating")), data=st.data())
def test_link_frames_dont_matter(model, data):
    moved = pin.Model()
    frames = [pin.SE3.Identity()]  # new frame of each link in its old one
    for j in range(1, model.pin_model.njoints):
        joint = model.pin_model.joints[j]
        kind = joint.shortname().removeprefix("JointModel")
        R = pin.rpy.rpyToMatrix(*data.draw(st.tuples(*[st.floats(-3, 3)] * 3)))
        p = np.array(data.draw(st.tuples(*[st.floats(-0.5, 0.5)] * 3)))
        axis = {"X": [1.0, 0, 0], "Z": [0, 0, 1.0]}.get(kind[-1])
        if kind in ("RX", "RZ"):
            p = p * axis  # the frame of a revolute joint stays on its axis
            joint = pin.JointModelRevoluteUnaligned(R.T @ axis)
        elif kind == "PZ":
            joint = pin.JointModelPrismaticUnaligned(R.T @ axis)
        elif kind == "Spherical":
            p = np.zeros(3)
        frames.append(pin.SE3(R, p))
        parent = model.pin_model.parents[j]
        placement = frames[parent].actInv(model.pin_model.jointPlacements[j]) * frames[j]
        moved.addJoint(parent, joint, placement, f"joint{j}")
    moved.gravity.linear = model.pin_model.gravity.linear
    here = structural_identifiability(model)
    there = structural_identifiability(RobotModel("moved", moved))

    assert there.n_base == here.n_base
    assert [(b.dim_v, b.dim_k, b.dim_transfer) for b in there.bodies] == [
        (b.dim_v, b.dim_k, b.dim_transfer) for b in here.bodies
    ]


def test_nullspace_of_a_revolute_pair_is_a_rod_on_the_axis():
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    X = pin.SE3(pin.utils.rotate("x", 0.7), np.array([0.3, 0.1, -0.2]))
    model.addJoint(1, pin.JointModelRZ(), X, "hinge")
    R = structural_identifiability(RobotModel("pair", model)).nullspace
    # m, mz, Ixx + Iyy of the second body, less what the first one gets.
    rod = np.zeros((10, 3))
    rod[0, 0] = rod[3, 1] = rod[4, 2] = rod[6, 2] = 1.0
    expected = np.vstack([-parameter_transform(X.homogeneous) @ rod, rod])

    assert np.linalg.matrix_rank(np.hstack([R, expected]), tol=1e-9) == R.shape[1] == 3


def test_composite_joint_equals_its_joints_with_a_massless_link_between():
    between = pin.SE3(SOMEHOW, np.array([0.1, 0.2, 0.0]))
    composite = pin.JointModelComposite(pin.JointModelRX(), pin.SE3.Identity())
    composite.addJoint(pin.JointModelRY(), between)
    model = pin.Model()
    model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "base")
    model.addJoint(1, composite, pin.SE3(np.eye(3), np.array([0.4, 0, 0])), "wrist")
    model.addJoint(2, pin.JointModelRZ(), pin.SE3(SOMEHOW, np.array([0, 0, 0.3])), "tool")
    robot = RobotModel("composite", model)
    rank, gap = rank_and_gap(sampled(robot, np.random.default_rng(0)))

    assert gap > 1e6
    assert structural_identifiability(robot).n_base == rank


def test_joint_with_changing_free_modes_is_refused_by_name():
    model = pin.Model()
    model.addJoint(0, pin.JointModelEllipsoid(), pin.SE3.Identity(), "egg")
    with pytest.raises(IdentifiabilityError, match=r"egg.*Model it with"):
        structural_identifiability(RobotModel("egg", model))
