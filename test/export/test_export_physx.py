# SPDX-License-Identifier: Apache-2.0
"""The exported USD in PhysX, the engine of Isaac Sim: pip install ovphysx physx-usd-schemas newton-usd-schemas."""

from __future__ import annotations

import numpy as np
import pytest
from exported_arm import USUAL, with_drives
from random_tree import random_urdf, with_consistent_bodies

from sysid_core.export.projection import Projection
from sysid_core.export.usd import prim_names, usd_of
from sysid_core.robot import RobotModel, example_robots

ovphysx = pytest.importorskip("ovphysx", reason="ovphysx isn't installed")
ROBOTS = ["panda", *range(5)] if "panda" in example_robots() else [*range(5)]
PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<origin xyz="0.2 0 0"/><inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
</joint></robot>"""
SCENE = """#usda 1.0
(
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def PhysicsScene "scene"
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
    }
    def "robot" (prepend references = @robot.usda@)
    {
    }
}
"""


class InPhysx:
    """A robot in PhysX on the CPU."""

    def __init__(self, robot: Projection, folder) -> None:
        import ovstage
        from ovphysx.samples.python_samples.schema_support import physx_schema_paths

        (folder / "robot.usda").write_text(usd_of(robot))
        (folder / "scene.usda").write_text(SCENE)
        ovphysx.PhysX.set_cpu_mode(True)
        schemas = [*map(str, physx_schema_paths()), str(ovphysx.newton_schema_root())]
        ovstage.population.register_usd_schemas(schemas)
        self.stage = ovstage.Stage(folder.name)
        domains = ovstage.PopulationDomain.ALL
        path = str(folder / "scene.usda")
        ovstage.population.open_usd(self.stage, path, ordinal=1, domains=domains)
        self.stage.advance_write_floor(ordinal=1).wait()
        self.engine = ovphysx.PhysX()
        self.engine.wait_task(self.engine.attach_ovstage(self.stage, read_ordinal=1))
        names = list(self._bound("POSITION").dof_names)
        exported = prim_names(robot.model)
        self.at = [names.index(exported[f"joint {joint}"]) for joint in robot.model.joint_names]

    def _bound(self, what: str, of: str = "DOF_"):
        kind = getattr(ovphysx.types.TensorType, f"ARTICULATION_{of}{what}")
        return self.engine.create_tensor_binding(pattern="/World/robot*", tensor_type=kind)

    def read(self, what: str, of: str = "DOF_") -> np.ndarray:
        bound = self._bound(what, of)
        values = np.zeros(bound.shape, dtype=np.float32)
        bound.read(values)
        return values[0][self.at].astype(float)

    def write(self, what: str, values: np.ndarray) -> None:
        bound = self._bound(what)
        row = np.zeros(bound.shape, dtype=np.float32)
        row[0, self.at] = values
        bound.write(row)

    def torques(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Torques of the bodies, from PhysX's mass matrix, Coriolis and gravity torques."""
        out = np.empty_like(q)
        for k in range(len(q)):
            self.write("POSITION", q[k])
            self.write("VELOCITY", v[k])
            M = self.read("MASS_MATRIX", "")[:, self.at]
            fast = self.read("CORIOLIS_AND_CENTRIFUGAL_FORCE", "")
            out[k] = M @ a[k] + fast + self.read("GRAVITY_FORCE", "")
        return out

    def step(self, seconds: float) -> None:
        self.engine.step(seconds)
        self.engine.wait_all()

    def close(self) -> None:
        self.engine.wait_task(self.engine.detach_ovstage())
        self.stage.destroy()
        self.engine.destroy()


@pytest.fixture
def in_physx(tmp_path):
    opened = []

    def open_(robot: Projection) -> InPhysx:
        opened.append(InPhysx(robot, tmp_path))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_physx_has_our_torques_and_fields(name, rng, in_physx):
    text = random_urdf(np.random.default_rng(name)) if isinstance(name, int) else name
    robot = with_drives(with_consistent_bodies(RobotModel.from_urdf(text), rng), USUAL, rng)
    model = robot.model
    plant = in_physx(robot)
    lower, upper = (np.clip(x, -2.0, 2.0) for x in model.position_limits)
    q = rng.uniform(lower, upper, size=(20, model.nv))
    v, a = rng.uniform(-1.0, 1.0, size=(2, 20, model.nv))
    v *= np.minimum(model.velocity_limits, 2.0)  # PhysX cuts those above
    expected = model.inverse_dynamics(q, v, a)
    largest = max(1.0, np.abs(expected).max())
    assert plant.torques(q, v, a) == pytest.approx(expected, abs=1e-5 * largest)
    assert plant.read("ARMATURE") == pytest.approx(robot.of("I_a"), rel=1e-6)
    dry, viscous = robot.of("F_c"), robot.of("F_v")
    friction = np.stack([dry, dry, viscous], axis=1)
    assert plant.read("FRICTION_PROPERTIES") == pytest.approx(friction, rel=1e-5)
    limits = np.stack(model.position_limits, axis=1)
    bounded = np.isfinite(limits[:, 0])
    assert plant.read("LIMIT")[bounded] == pytest.approx(limits[bounded], abs=1e-5)
    assert plant.read("MAX_VELOCITY") == pytest.approx(model.velocity_limits, rel=1e-5)
    assert plant.read("MAX_FORCE") == pytest.approx(model.effort_limits, rel=1e-6)


def test_a_joint_in_physx_sticks_below_its_friction_and_slides_above(in_physx):
    model = RobotModel.from_urdf(PENDULUM)  # about the vertical: gravity has no torque
    dry, viscous = 2.0, 1.5
    plant = in_physx(with_drives(model, USUAL, F_c=dry, F_v=viscous, I_a=0.3))
    for _ in range(500):
        plant.write("ACTUATION_FORCE", [1.9])
        plant.step(0.001)
    assert abs(plant.read("POSITION")[0]) < 1e-6
    for _ in range(3000):
        plant.write("ACTUATION_FORCE", [3.5])
        plant.step(0.001)
    # After six time constants (inertia over viscous friction), the rest of the torque is viscous.
    assert plant.read("VELOCITY")[0] == pytest.approx((3.5 - dry) / viscous, rel=0.01)
