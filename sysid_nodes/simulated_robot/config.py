# SPDX-License-Identifier: Apache-2.0
"""Parameters of the simulated robot, and the simulation that they describe."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from sysid_core.robot import RobotModel
from sysid_core.robot.loops import ClosedChain, load_closed_chain
from sysid_core.simulation import ClosedChainPlant, MujocoPlant, PositionPlant, SensorNoise
from sysid_nodes.lifecycle import CommonConfig, parameter


@dataclass(frozen=True)
class SimulatedRobotConfig(CommonConfig):
    """Parameters of `simulated_robot`."""

    robot: str = parameter("xarm7", "URDF file, or a robot of example-robot-data.")
    loops: str = parameter(
        "",
        "YAML file of the kinematic loops of a closed chain, which also names its drives, or own-leg (reference robot); empty: no closed loops.",
    )
    servos: str = parameter(
        "",
        "Output folder of `sysid servos identify`, or the servos.yaml in it: the robot is simulated with"
        " the identified position servos and publishes no torques; empty: torque-controlled drives.",
    )
    sensor_frame: str = parameter("link_eef", "Frame of the force-torque sensor; empty for none.")
    payload: tuple[float, ...] = parameter(
        (), "Load on the sensor: m mx my mz Ixx Ixy Iyy Ixz Iyz Izz in its frame [SI], or empty."
    )
    start: tuple[float, ...] = parameter(
        (), "Posture at the start; list of numbers, one per joint [rad], empty for zero."
    )
    link_error: float = parameter(
        0.1,
        "Largest relative difference of the simulated links' inertial parameters from the URDF; uniformly distributed, one factor per link.",
        minimum=0.0,
        maximum=0.5,
    )
    drive_error: float = parameter(
        0.3,
        "Largest relative error of a closed chain's friction and drive inertia [-].",
        minimum=0.0,
        maximum=1.0,
    )
    coulomb: float = parameter(0.5, "True Coulomb friction of every joint [N m].", minimum=0.0)
    viscous: float = parameter(
        0.5, "True viscous friction of every joint [N m s/rad].", minimum=0.0
    )
    armature: float = parameter(0.05, "True drive inertia of every joint [kg m^2].", minimum=0.0)
    rate_hz: float = parameter(
        200.0, "Rate of joint_states and wrench [Hz].", minimum=1.0, maximum=1000.0
    )
    timestep: float = parameter(0.001, "Time step of the physics [s].", minimum=1e-5, maximum=0.01)
    position_noise: float = parameter(
        1e-4, "Standard deviation of the position noise [rad].", minimum=0.0
    )
    velocity_noise: float = parameter(
        1e-3, "Standard deviation of the velocity noise [rad/s].", minimum=0.0
    )
    effort_noise: float = parameter(
        0.05, "Standard deviation of the effort noise [N m].", minimum=0.0
    )
    force_noise: float = parameter(0.1, "Standard deviation of the force noise [N].", minimum=0.0)
    torque_noise: float = parameter(
        0.005, "Standard deviation of the torque noise [N m].", minimum=0.0
    )
    wrench_bias: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), "Constant bias of the sensor: force, torque [N, N m]."
    )
    command_timeout_s: float = parameter(
        0.1,
        "Time without new efforts after which the robot brakes and holds [s].",
        minimum=0.01,
        maximum=2.0,
    )
    clock: bool = parameter(
        False,
        "Publish /clock, for nodes with use_sim_time. Simulated time then waits for late streamed commands, so that an overloaded machine only slows the simulation down."
        "",
    )
    pace: float = parameter(
        1.0,
        "Only with `clock`: largest ratio of simulated to real time; choose a smaller value for slow computers.",
        minimum=0.05,
        maximum=1.0,
    )
    patience_s: float = parameter(
        3.0,
        "Only with `clock`: longest wait, in real time, for the next streamed command; after it, the sender is assumed to have ended [s]."
        "",
        minimum=0.1,
        maximum=60.0,
    )
    seed: int = parameter(0, "Seed of noise and link errors.", minimum=0)

    @property
    def noise(self) -> SensorNoise:
        """Noise of the simulated sensors."""
        return SensorNoise(
            self.position_noise,
            self.velocity_noise,
            self.effort_noise,
            self.force_noise,
            self.torque_noise,
            tuple(self.wrench_bias) or (0.0,) * 6,
        )


def described_robot(config: SimulatedRobotConfig) -> RobotModel:
    """Return the robot that is simulated, without its locked joints; with position servos, the robot
    of the servo file.
    """
    if config.servos:
        from sysid_core.servos import load_servos

        model = load_servos(config.servos).robot
    else:
        model = RobotModel.from_urdf(config.robot).holding(joints=config.joints, lock=config.lock)
    return model.mounted(mount=config.mount)


def differing_pi(model: RobotModel, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return the true inertial parameters of a simulated robot that differs from its URDF, shape
    (n_bodies, 10).
    """
    return model.pi * (1 + share * rng.uniform(-1, 1, (model.n_bodies, 1)))


def differing_chain(
    chain: ClosedChain, link_error: float, drive_error: float, rng: np.random.Generator
) -> ClosedChain:
    """Return the true mechanism of a simulated robot, whose links and drives differ from its files."""
    true_model = chain.model.with_pi(differing_pi(chain.model, link_error, rng))
    drives = {}
    for joint in chain.actuated:
        drive = chain.drive(joint)
        F_c, F_v, I_a = np.array(drive.values[:3]) * (1 + drive_error * rng.uniform(-1, 1, 3))
        drives[joint] = dataclasses.replace(drive, F_c=F_c, F_v=F_v, I_a=I_a)
    return chain.with_model(true_model).with_drives(drives)


def build_plant(
    config: SimulatedRobotConfig, model: RobotModel, rng: np.random.Generator
) -> MujocoPlant | ClosedChainPlant | PositionPlant:
    """Return the MuJoCo simulation for the parameters of `simulated_robot`."""
    c, n = config, model.nv
    if c.servos:
        from sysid_core.servos import ServoMjcf, load_servos  # compiles: only where it is used

        true = model.with_pi(differing_pi(model, c.link_error, rng))
        return ServoMjcf.plant(dataclasses.replace(load_servos(c.servos), robot=true))
    if c.loops:
        chain = load_closed_chain(c.loops, model.urdf_xml)
        return ClosedChainPlant(differing_chain(chain, c.link_error, c.drive_error, rng))
    return MujocoPlant(
        model.with_pi(differing_pi(model, c.link_error, rng)),
        sensor_frame=c.sensor_frame or None,
        payload=c.payload or None,
        friction=np.full(n, c.coulomb),
        damping=np.full(n, c.viscous),
        armature=np.full(n, c.armature),
        timestep=c.timestep,
    )
