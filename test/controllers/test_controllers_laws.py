# SPDX-License-Identifier: Apache-2.0
"""Update laws of the C++ controllers, compiled without ROS."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import BPoly
from two_joint_arm import URDF

from sysid_core.export.c_code import c_parameters, write_c
from sysid_core.export.projection import Projection
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    is_physically_consistent,
)

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = ROOT / "robot_sysid_controllers"
pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("gcc")), reason="no C++ compiler"
)
STATES = ("holding", "playing", "asked", "executor", "wrench", "state", "deviation")
STATES += ("interrupted",)
DT = 1e-3


def ptr(x: np.ndarray):
    return np.ascontiguousarray(x, dtype=float).ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def compiled(folder: Path):
    """The laws as a library of C functions."""
    library = folder / "laws.so"
    command = ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared"]
    command += ["-fPIC", "-pthread", f"-I{CONTROLLERS / 'include'}"]
    command += [str(Path(__file__).with_name("laws.cpp"))]
    command += [str(CONTROLLERS / "src" / "exported_model.cpp"), "-o", str(library), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    for name in ("guarded", "law", "handed_over"):
        getattr(loaded, name).restype = ctypes.c_long
    return loaded


@pytest.fixture(scope="module")
def laws(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("laws"))


# ---- paths and guards


def wave(n=3, seconds=4.0, points=81):
    """A smooth motion from rest to rest: times, q, v, a, and the largest |v| and |a| of each joint."""
    t = np.linspace(0.0, seconds, points)
    w, phase = 2 * np.pi * np.arange(1, n + 1) / seconds, np.linspace(0.3, 0.9, n)
    s = 10 * (t / seconds) ** 3 - 15 * (t / seconds) ** 4 + 6 * (t / seconds) ** 5
    ds = (30 * (t / seconds) ** 2 - 60 * (t / seconds) ** 3 + 30 * (t / seconds) ** 4) / seconds
    dds = (60 * t / seconds - 180 * (t / seconds) ** 2 + 120 * (t / seconds) ** 3) / seconds**2
    x = s[:, None] * seconds * w  # angle of each wave, ends at rest
    dx, ddx = ds[:, None] * seconds * w, dds[:, None] * seconds * w
    q = phase * np.sin(x)
    v = phase * np.cos(x) * dx
    a = phase * (np.cos(x) * ddx - np.sin(x) * dx**2)
    return t, q, v, a


def sampled(laws, path, u):
    t, q, v, a = path
    n = q.shape[1]
    out = np.empty((len(u), 3, n))
    laws.sample(
        n, len(t), *map(ptr, (t, q, v, a)), len(u), ptr(u), out.ctypes.data_as(ctypes.c_void_p)
    )
    return out


def limits_of(laws, path, share=1.0):
    """Acceleration limits that a path just keeps."""
    fine = sampled(laws, path, np.arange(0.0, path[0][-1], 1e-4))
    return np.abs(fine[:, 2]).max(axis=0) * share


def guarded(laws, path, events, acceleration, wrench=0.0, dt=DT):
    t, q, v, a = path
    n, m = q.shape[1], len(events)
    out = np.empty((m, 3 * n + 3))
    allocated = laws.guarded(
        *(n, len(t), *map(ptr, (t, q, v, a)), ptr(acceleration), ctypes.c_double(dt)),
        *(ctypes.c_double(wrench), m, ptr(events), out.ctypes.data_as(ctypes.c_void_p)),
    )
    return allocated, out[:, : 3 * n].reshape(m, 3, n), out[:, 3 * n], out[:, 3 * n + 1 :]


def all_well(m):
    events = np.zeros((m, 6))
    events[:, 0] = events[:, 1] = events[:, 3] = 1.0
    return events


def test_a_path_is_the_quintic_through_its_points(laws):
    path = wave()
    u = np.linspace(-0.1, 4.1, 500)
    spline = BPoly.from_derivatives(path[0], np.stack(path[1:], axis=1))
    here = np.clip(u, 0.0, 4.0)
    theirs = np.stack([spline(here, k) for k in range(3)], axis=1)
    assert sampled(laws, path, u) == pytest.approx(theirs, abs=1e-7)


def test_paths_beyond_a_limit_or_malformed_are_refused(laws):
    t, q, v, a = wave()
    a_max = limits_of(laws, (t, q, v, a))
    v_max = 1.01 * np.abs(v).max(axis=0)
    most = np.abs(q).max(axis=0) + 0.01
    good = np.stack([-most, most, v_max, a_max * 1.001])

    def why(limits=good, t=t, v=v):
        text = ctypes.create_string_buffer(200)
        laws.refusal(3, len(t), *map(ptr, (t, q, v, a)), ptr(limits), text)
        return text.value.decode()

    assert why() == ""
    for row, name in ((1, "position"), (2, "velocity"), (3, "acceleration")):
        limits = good.copy()
        limits[row, 1] *= 0.9
        assert name in why(limits)
    assert "times" in why(t=t[::-1].copy())
    assert "times" in why(t=t + 1.0)
    wide = np.outer([-9.0, 9.0, 9.0, 999.0], np.ones(3))
    assert "velocity at an end" in why(
        wide, v=np.where(np.arange(len(t))[:, None] == len(t) - 1, 0.1, v)
    )
    assert why(v=np.full_like(v, np.nan))


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 1e-2])
@pytest.mark.parametrize("speed", [1.0, 0.6])
@pytest.mark.parametrize("cause", ["asked", "executor", "wrench", "state", "deviation"])
def test_a_guard_brakes_along_the_path_inside_the_limits(laws, rng, cause, speed, dt):
    path = wave()
    limit = limits_of(laws, path)
    for when in rng.uniform(0.5, 3.5, size=6):
        m, k = int(6.0 / speed / dt), int(when / speed / dt)
        events = all_well(m)
        events[:, 3] = speed
        column = {"asked": 2, "executor": 0, "wrench": 1, "state": 4, "deviation": 4}[cause]
        events[k:, column] = {"asked": 1, "executor": 0, "wrench": 0, "state": np.nan}.get(
            cause, 0.2
        )
        allocated, x, place, doing = guarded(laws, path, events, limit, wrench=0.1, dt=dt)
        assert allocated == 0
        assert STATES[int(doing[k - 1, 0])] == "playing"
        assert STATES[int(doing[-1, 1])] == cause
        assert STATES[int(doing[-1, 0])] == "holding"
        # velocities never change faster than the limits; positions agree with them
        before = np.concatenate([np.zeros((1, 3)), x[:, 1]])
        assert np.all(np.abs(np.diff(before, axis=0)) <= limit * dt * (1 + 1e-9))
        second = np.abs(np.diff(x[:, 0], n=2, axis=0)) / dt**2
        assert np.all(second <= limit * 1.05 + 1e-6)
        # on the path, and at rest after what the limits ask for
        assert x[:, 0] == pytest.approx(sampled(laws, path, place)[:, 0], abs=1e-9)
        stands = np.flatnonzero(doing[k:, 0] == 0)[0] * dt
        heard = 0.1 + dt if cause in ("executor", "wrench") else 0.0
        assert stands <= heard + 2.0 * np.max(np.abs(x[k:, 1]).max(axis=0) / limit) + 0.3


def test_a_guard_goes_on_at_another_speed_but_never_after_braking(laws):
    path, m = wave(), 9000
    limit = limits_of(laws, path)
    events = all_well(m)
    events[1000:2000, 3] = 0.0  # the slider at zero: stands, and goes on
    events[2000:3000, 3] = np.nan  # no speed is no speed
    _, x, place, doing = guarded(laws, path, events, limit)
    assert place[1990] == place[2990] < place[3500]
    assert place[-1] == pytest.approx(4.0, abs=0.01)
    assert x[-1, 0] == pytest.approx(path[1][-1], abs=1e-6)
    before = np.concatenate([np.zeros((1, 3)), x[:, 1]])
    assert np.all(np.abs(np.diff(before, axis=0)) <= limit * DT * (1 + 1e-9))
    events = all_well(m)
    events[1000:1001, 2] = 1.0
    _, x, place, doing = guarded(laws, path, events, limit)
    assert place[-1] < 2.0 and doing[-1, 0] == 0


@pytest.mark.parametrize("missed", [3, 80, 200])
def test_missed_periods_make_no_step_and_after_an_interruption_the_robot_is_held(laws, missed):
    """The path went on at once by as much as was missed: 4 s of it if the manager was stopped for 4 s."""
    path, k = wave(), 2000
    events = all_well(4000)
    events[k, 4:] = 0.01, missed  # the drives have stopped the robot somewhere
    _, x, _, doing = guarded(laws, path, events, limits_of(laws, path))
    if missed * DT > 0.1:
        assert STATES[int(doing[k, 0])] == "holding" and STATES[int(doing[-1, 1])] == "interrupted"
        assert x[k:, 0] == pytest.approx(np.tile(x[k - 1, 0] + 0.01, (len(x) - k, 1)), abs=1e-12)
        assert np.all(x[k:, 1] == 0.0)
    else:
        assert np.abs(x[k, 0] - x[k - 1, 0]).max() <= 2.1 * DT * np.abs(x[k - 1, 1]).max()
        assert STATES[int(doing[k, 0])] == "playing"


def test_nothing_begins_elsewhere_or_while_somebody_is_silent(laws):
    path, limit = wave(), np.full(3, 100.0)
    assert guarded(laws, path, all_well(10), limit)[0] == 0
    assert guarded(laws, path, all_well(10), limit, dt=0.2)[0] == 0
    t, q, v, a = path
    moved = q.copy()
    moved[0] += np.nan
    assert guarded(laws, (t, moved, v, a), all_well(10), limit)[0] == -1


# ---- bodies


def test_bodies_that_cannot_exist_are_seen_as_in_the_core(laws, rng):
    seen = set()
    for _ in range(300):
        L = rng.normal(size=(4, 4))
        J = L @ L.T - rng.choice([0.0, 1.0]) * np.diag(rng.uniform(0, 2, size=4))
        E = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        pi = np.array([J[3, 3], *J[:3, 3], *E[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
        ours = bool(is_physically_consistent(pi))
        assert bool(laws.consistent(ptr(pi))) == ours
        seen.add(ours)
    assert seen == {True, False}
    assert laws.consistent(ptr(np.zeros(10)))
    assert laws.consistent(ptr(np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])))  # a point
    assert not laws.consistent(ptr(np.full(10, np.nan)))


def test_a_body_in_another_frame_is_pinocchios(laws, rng):
    for _ in range(20):
        body = pin.Inertia.Random()
        M = pin.SE3.Random()
        own = np.array(
            [body.mass, *body.lever, *body.inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
        )
        pi = np.empty(10)
        laws.moved(
            ptr(own), ptr(M.rotation), ptr(M.translation), pi.ctypes.data_as(ctypes.c_void_p)
        )
        assert pi == pytest.approx(M.act(body).toDynamicParameters(), abs=1e-9)


# ---- torques


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    rng = np.random.default_rng(3)
    model = RobotModel.from_urdf(URDF)
    terms = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.INERTIA, FrictionTerm.PLAY)
    friction = FrictionModel(DriveTrain.direct(model.joint_names), terms)
    robot = Projection(model, friction, rng.uniform(0.1, 1.0, size=len(friction.names)))
    folder = tmp_path_factory.mktemp("model")
    _, source = write_c(folder, robot, "arm")
    library = folder / "libarm.so"
    subprocess.run(
        ["gcc", "-O3", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True
    )
    return robot, library


def swing(m=2000, n=2):
    t = DT * np.arange(m)[:, None]
    w = np.linspace(1.0, 2.0, n)
    return np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)


def torques(
    laws,
    library,
    mode=1,
    at=-1,
    parameters=None,
    measured=None,
    options=(),
    m=2000,
    reference=None,
):
    q, v, a = swing(m) if reference is None else reference
    m, n = q.shape
    row = np.stack([q, v, a], axis=1)
    now = row[:, :2] if measured is None else measured
    out, text, us = np.empty((m, n + 2)), ctypes.create_string_buffer(200), np.empty(m)
    values = {"bandwidth": 10.0, "feedback": 50.0, "damping": 0.5, "change": 20.0, "effort": 1e3}
    values |= {"velocity": 1e3, "period": DT}
    allocated = laws.law(
        *(
            str(library).encode(),
            mode,
            m,
            at,
            ptr(np.zeros(1) if parameters is None else parameters),
        ),
        *(ptr(row), ptr(now), ptr(np.array(list((values | dict(options)).values())))),
        *(ctypes.c_double(DT), out.ctypes.data_as(ctypes.c_void_p), text),
        us.ctypes.data_as(ctypes.c_void_p),
    )
    return allocated, out[:, :n], out[:, n], out[:, n + 1], text.value.decode(), us


def test_computed_torque_is_the_identified_model_on_its_reference(laws, robot):
    ours, library = robot
    allocated, tau, _, fine, _, _ = torques(laws, library)
    assert allocated == 0 and np.all(fine == 1.0)
    assert tau == pytest.approx(ours.torques(*swing()), abs=1e-9)


def test_tracking_errors_ask_for_bounded_accelerations(laws, robot):
    ours, library = robot
    q, v, a = swing()
    measured = np.stack([q - 0.01, v + 0.02], axis=1)
    _, tau, *_ = torques(laws, library, measured=measured)
    error = 2 * 10.0 * -0.02 + 10.0**2 * 0.01
    assert tau == pytest.approx(ours.torques(q - 0.01, v, a + error), abs=1e-9)
    _, tau, *_ = torques(laws, library, measured=np.stack([q - 5.0, v], axis=1))
    most = 50.0 + np.maximum(a, 0.0)  # a deceleration of the reference may be cancelled as well
    assert tau == pytest.approx(ours.torques(q - 5.0, v, most), abs=1e-9)


def test_the_feedback_is_that_of_the_python_controller(laws, robot, rng):
    """`2 w (clip(v_d + w e / 2) - v)`, plus the term that cancels the acceleration of the
    reference.
    """
    ours, library = robot
    q, v, a = swing()
    now = np.stack([q + rng.normal(0, 0.5, q.shape), v + rng.normal(0, 2.0, q.shape)], axis=1)
    _, tau, *_ = torques(laws, library, measured=now, options={"velocity": 1.5})
    speed = np.clip(v + 5.0 * (q - now[:, 0]), -1.5, 1.5)
    low, high = -50.0 - np.maximum(a, 0.0), 50.0 - np.minimum(a, 0.0)
    feedback = np.clip(20.0 * (speed - now[:, 1]), low, high)
    assert 0.1 < np.mean(np.abs(feedback) >= 50.0) < 0.9
    assert tau == pytest.approx(ours.torques(now[:, 0], v, a + feedback), abs=1e-9)


def test_a_reference_that_creeps_at_zero_velocity_drives_no_joint_beyond_its_limit(laws, robot):
    """A linear feedback with a limited acceleration reached several times the limit."""
    ours, library = robot
    tree, data, fastest = ours.model.pin_model, ours.model.pin_model.createData(), 1.5
    q, v, speeds = np.zeros(2), np.zeros(2), []
    for k in range(1000):
        reference = np.stack([q[None] + 0.049 * min(k, 20), np.zeros((1, 2)), np.zeros((1, 2))])
        tau = torques(
            laws,
            library,
            measured=np.stack([q, v])[None],
            options={"velocity": fastest},
            reference=reference,
        )[1][0]
        v = v + DT * pin.aba(tree, data, q, v, tau)
        q = q + DT * v
        speeds.append(np.abs(v).max())
    assert 0.9 * fastest < max(speeds) <= 1.05 * fastest


def test_without_a_reference_gravity_is_held_and_motion_damped(laws, robot):
    ours, library = robot
    q, v, _ = swing()
    _, tau, *_ = torques(laws, library, mode=0)
    still = np.zeros_like(q)
    assert tau == pytest.approx(ours.model.inverse_dynamics(q, still, still) - 0.5 * v, abs=1e-9)


def test_new_parameters_come_in_no_faster_than_allowed(laws, robot):
    ours, library = robot
    theta = np.concatenate([ours.model.pi.ravel(), ours.values])
    assert len(c_parameters(ours)) == len(theta)
    heavier = Projection(ours.model.with_pi(2.0 * ours.model.pi), ours.friction, 1.5 * ours.values)
    allocated, tau, share, _, _, _ = torques(
        laws,
        library,
        at=500,
        parameters=theta * np.r_[np.full(20, 2.0), np.full(len(ours.values), 1.5)],
    )
    assert allocated == 0
    old, new = ours.torques(*swing()), heavier.torques(*swing())
    assert np.all(share[:500] == 1.0)
    share[:500] = 0.0
    assert tau == pytest.approx(old + share[:, None] * (new - old), abs=1e-9)
    assert share[500] < 0.1 and share[-1] == 1.0
    step = np.diff(np.r_[0.0, share[500:]])  # 20 N m/s
    assert np.all(step >= 0.0)
    caused = step[:, None] * np.abs((new - old)[500:])
    assert np.all(caused[:-1] <= 20.0 * DT * (1 + 1e-9) + 1e-12)
    assert tau[-1] == pytest.approx(new[-1], abs=1e-9)


def test_after_an_interruption_the_robot_is_held_until_the_reference_is_near_it(laws, robot):
    """It was driven to the reference, wherever that had gone; and new parameters came in at once."""
    ours, library = robot
    q, v, a = swing()
    stands = np.tile(q[0], (2000, 1))
    theta = 2.0 * np.concatenate([ours.model.pi.ravel(), ours.values])
    heavier = Projection(ours.model.with_pi(2.0 * ours.model.pi), ours.friction, 2.0 * ours.values)
    _, tau, share, *_ = torques(
        laws,
        library,
        at=500,
        parameters=theta,
        measured=np.stack([stands, 0.0 * v], axis=1),
        options={"period": 4.0},
    )
    assert np.all(np.abs(tau[500] - tau[501]) < 1.0) and share[500] < 0.1
    held = heavier.torques(stands, 0.0 * v, 0.0 * a)
    assert share[-1] == 1.0 and tau[-1] == pytest.approx(held[-1], abs=1e-9)
    near = np.where(np.arange(2000)[:, None] < 1000, stands, q)  # carried to the reference
    _, tau, *_ = torques(
        laws,
        library,
        at=500,
        measured=np.stack([near, v], axis=1),
        options={"period": 4.0},
        parameters=0.5 * theta,
    )
    assert tau[1010:] == pytest.approx(ours.torques(q, v, a)[1010:], abs=1e-9)  # without its play


def test_torques_stay_within_the_drives_and_are_numbers(laws, robot):
    _, library = robot
    _, tau, _, fine, *_ = torques(laws, library, options={"effort": 1.0})
    assert np.abs(tau).max() == 1.0 and np.all(fine == 1.0)
    q, v, _ = swing()
    q[100] = np.nan
    _, tau, _, fine, *_ = torques(laws, library, measured=np.stack([q, v], axis=1))
    assert fine[100] == 0.0 and np.all(tau[100] == 0.0) and np.all(np.isfinite(tau))


def test_parameters_that_would_let_the_robot_fall_or_lift_it_are_refused(laws, robot):
    ours, library = robot
    exported = np.concatenate([ours.model.pi.ravel(), ours.values])

    def why(scale):
        text = ctypes.create_string_buffer(200)
        laws.gravity(str(library).encode(), ptr(exported * scale), ctypes.c_double(3.0), text)
        return text.value.decode()

    assert why(1.0) == why(2.9) == why(0.34) == ""
    assert "gravity torque of j1" in why(3.1) and "gravity torque of j1" in why(-1.0 * 2.1)
    assert "of the exported model's weight" in why(0.32) and why(-1.0) and why(np.nan)


def test_libraries_of_others_are_refused_with_a_remedy(laws, tmp_path, robot):
    (tmp_path / "other.c").write_text("int other_sizes[3] = {0, 0, 0};")
    library = tmp_path / "libother.so"
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "other.c", "-o", library], check=True)
    assert "sysid export --to c" in torques(laws, library, m=1)[4]
    assert "can't be loaded" in torques(laws, tmp_path / "none.so", m=1)[4]


def test_what_is_handed_over_arrives_once_and_in_order(laws):
    arrived = laws.handed_over(ctypes.c_long(20000))
    assert 0 < arrived <= 20000
