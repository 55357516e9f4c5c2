# SPDX-License-Identifier: Apache-2.0
"""`sysid export`, and `sysid verify` on its proof."""

from __future__ import annotations

import json
import shutil
import struct
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import yaml
from two_joint_arm import URDF, call, columns, swing

from sysid_core.errors import EstimationError, ModelError, SysIdError
from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import Identification
from sysid_core.export import arm
from sysid_core.export.files import LossCode
from sysid_core.files import hash_of
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia

ENDINGS = {"mjcf": "xml"}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Folder of an identified arm with friction, drive inertia and offsets."""
    folder = tmp_path_factory.mktemp("result")
    rng, model = np.random.default_rng(5), RobotModel.from_urdf(URDF)
    for name, seconds in (("train", 20.0), ("test", 8.0)):
        t, q, v, a = swing(rng, seconds)
        tau = model.inverse_dynamics(q, v, a)
        tau += [1.5, 0.8] * np.tanh(v / 0.005) + [1.0, 0.5] * v + [0.3, 0.1] * a + [0.5, 0.2]
        tau += 0.05 * rng.normal(size=tau.shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, q, v, tau]), delimiter=",")
    corners = np.vstack([np.zeros(3), 0.1 * np.eye(3)])
    triangles = [struct.pack("<12fH", *np.zeros(3), *corners[list(three)].ravel(), 0)
                 for three in combinations(range(4), 3)]  # fmt: skip
    (folder / "part.stl").write_bytes(bytes(80) + struct.pack("<I", 4) + b"".join(triangles))
    shape = '<visual><geometry><mesh filename="part.stl"/></geometry></visual>'
    (folder / "robot.urdf").write_text(
        URDF.replace("</link>\n<joint", f"{shape}</link>\n<joint", 1)
    )
    (folder / "columns.yaml").write_text(yaml.safe_dump(columns("link_torque")))
    status, output = call(
        *("identify", folder / "train.csv", "--robot", folder / "robot.urdf"),
        *("--columns", folder / "columns.yaml", "--validate", folder / "test.csv"),
        *("--friction", "usual", "--to", "mjcf", "--out", folder / "out"),
    )
    assert status == 0, output
    assert "identified.urdf" in output and "mjcf/two.xml" in output
    return folder


def payload_estimate() -> Estimate:
    held = pi_from_mass_com_inertia(0.7, [0.1, 0.02, 0.0], 0.002 * np.eye(3))
    known = (ParameterVerdict.IDENTIFIABLE,) * 10
    names = tuple(f"payload.{name}" for name in RobotModel.INERTIAL_NAMES)
    return Estimate("map", names, held, RobotModel.INERTIAL_UNITS, np.eye(10), known)


def test_an_identification_judges_each_file_that_it_writes(result):
    out = result / "out"
    told = json.loads((out / "result.json").read_text())
    errors = {one["target"]: one for one in told["exports"]}
    assert set(errors) == {"urdf", "mjcf"}
    assert errors["urdf"]["inside"] == errors["mjcf"]["inside"] < errors["urdf"]["exported"]
    assert errors["urdf"]["lost_terms"]["inertia"] > 0.0
    page = (out / "report.html").read_text()
    assert "identified.urdf" in page and "mjcf/two.xml" in page
    status, output = call("verify", out / "exports" / "proof.json")
    assert status == 0, output


def has_its_mesh(urdf: Path) -> bool:
    mesh = ET.parse(urdf).getroot().find("link/visual/geometry/mesh")
    return (urdf.parent / mesh.get("filename")).is_file()


def test_exports_and_their_proof(result, tmp_path):
    out = tmp_path / "exports"
    status, output = call("export", result / "out", "--to", "urdf,mjcf,ros2_control", "--out", out)
    assert status == 0, output
    proof = json.loads((out / "proof.json").read_text())
    found = {one["target"]: one for one in proof["exports"]}
    assert set(found) == {"urdf", "mjcf", "ros2_control"}
    assert has_its_mesh(result / "out" / "identified.urdf") and has_its_mesh(out / "urdf/two.urdf")
    for target, one in found.items():
        assert max(one["largest_difference"].values()) < 1e-9
        errors = one["errors"]
        explained = errors["inside"] + errors["lost"]
        if target != "mjcf":  # MuJoCo takes friction's sign a step ahead
            assert errors["exported"] < 1.05 * explained
        assert (explained < 1.02 * errors["inside"]) == (target == "ros2_control")
    assert set(found["urdf"]["errors"]["lost_terms"]) == {"inertia", "offset", "smooth_sign"}
    assert "inertia +" in output and "velocity limits of j1, j2" in output
    assert "acceleration limits (fill them in) of j1, j2" in output
    status, output = call("verify", out / "proof.json")
    assert status == 0, output
    row = proof["exports"][0]
    joint = {"rms_inside": 0.0, "rms_exported": 0.0}
    for edited in (
        {"tolerance": 1.0},
        {"losses": [{"code": "names", "names": ["a"]}]},
        {"losses": [*row["losses"], {"code": "mesh_missing", "names": ["a.stl"]}]},
        {"largest_difference": row["largest_difference"] | {"j1": 1e-3}},
        {"errors": row["errors"] | {"joints": row["errors"]["joints"] | {"j2": joint}}},
        {"errors": row["errors"] | {"lost_terms": {}}},
    ):
        forged = proof | {"exports": [row | edited, *proof["exports"][1:]]}
        (out / "proof.json").write_text(json.dumps(forged))
        assert call("verify", out / "proof.json")[0] == 1
    first, *others = proof["data"]
    for data in (others, [first | {"sha256": "0" * 64}, *others]):  # other recordings
        (out / "proof.json").write_text(json.dumps(proof | {"data": data}))
        status, output = call("verify", out / "proof.json")
        assert status == 1 and "data" in output
    (out / "proof.json").write_text(json.dumps(proof))
    code = out / "ros2_control" / "two.c"
    parameters = yaml.safe_load(code.with_name("two_controllers.yaml").read_text())
    told = parameters["torque_controller"]["ros__parameters"]
    assert told["model_library"] == str(code.with_name("libtwo.so"))
    assert (
        told["effort_limit"] == [50.0, 50.0]
        and told["velocity_limit"] == [5.0, 5.0]
        and len(told["urdf_hash"]) == 16
    )
    limits = parameters["motion_guard"]["ros__parameters"]["limits"]
    assert limits == {"lower": [-3.0, -3.0], "upper": [3.0, 3.0], "velocity": [5.0, 5.0]}
    code.write_text(code.read_text() + "/* changed */\n")
    status, output = call("verify", out / "proof.json")
    assert status == 1 and "two.c has changed" in output
    one = proof["exports"][0]
    for odd in (
        {"exports": []},
        {"exports": [one | {"files": []}]},
        {"exports": [one | {"errors": None}]},
        {"states": 1e308},
        {"states": 10**9},
        {"model": {"path": 5}},
    ):
        (out / "proof.json").write_text(json.dumps(proof | odd))
        with pytest.raises(SysIdError, match="proof"):
            call("verify", out / "proof.json")
    (out / "proof.json").write_text(json.dumps(proof | {"exports": [one | {"target": "NaN"}]}))
    with pytest.raises(SysIdError, match="target"):
        call("verify", out / "proof.json")
    for target, odd in (("mjcf", "<mujoco"), ("urdf", ""), ("sdf", "<sdf/>"), ("c", "")):
        file = out / f"damaged.{ENDINGS.get(target, target)}"
        file.write_text(odd)
        files = [{"path": file.name, "sha256": hash_of(file)}]
        damaged = proof | {"exports": [one | {"target": target, "files": files}]}
        (out / "proof.json").write_text(json.dumps(damaged))
        with pytest.raises(SysIdError, match=rf"{file.name}.*read as {target}"):
            call("verify", out / "proof.json")


def test_a_payload_is_exported_as_a_body_of_the_link_that_holds_it(result, tmp_path):
    estimate = payload_estimate()
    held = estimate.values
    folder = tmp_path / "weighed"
    folder.mkdir()
    estimate.save(folder / "estimate.yaml")
    given = ("--payload", folder, "--payload-frame", "b")
    out = tmp_path / "exports"
    assert call("export", result / "out", "--to", "urdf,c", "--out", out, *given)[0] == 0
    assert call("export", result / "out", "--to", "urdf", "--out", tmp_path / "bare")[0] == 0
    loaded, bare = (
        pin.buildModelFromUrdf(str(p / "urdf/two.urdf")) for p in (out, tmp_path / "bare")
    )
    more = loaded.inertias[2].toDynamicParameters() - bare.inertias[2].toDynamicParameters()
    assert more == pytest.approx(held, abs=1e-9)
    assert loaded.inertias[1].isApprox(bare.inertias[1])
    errors = {one["target"]: one for one in json.loads((out / "proof.json").read_text())["exports"]}
    assert errors["c"]["errors"]["rise"] == pytest.approx(1.0, abs=1e-6)
    assert call("verify", out / "proof.json")[0] == 0
    text = (folder / "estimate.yaml").read_text()
    (folder / "estimate.yaml").write_text(text + "# changed\n")
    assert call("verify", out / "proof.json")[0] == 1
    with pytest.raises(ModelError, match="--payload-frame"):
        call("export", result / "out", "--out", out, *given[:2])
    with pytest.raises(EstimationError, match="no joint carries it"):
        call("export", result / "out", "--out", out, *given[:3], "base")


def test_what_cannot_be_exported_is_refused(result, tmp_path):
    with pytest.raises(ModelError, match="simulink"):
        call("export", result / "out", "--to", "simulink", "--out", tmp_path)
    with pytest.raises(EstimationError, match="result"):
        call("export", tmp_path, "--to", "c", "--out", tmp_path / "x")
    chain = tmp_path / "chain"
    shutil.copytree(result / "out", chain)
    (chain / "parameters.yaml").unlink()
    with pytest.raises(EstimationError, match="only results of `sysid identify`"):
        call("export", chain, "--to", "c", "--out", tmp_path / "x")


@pytest.mark.parametrize(
    "change",
    [
        lambda inputs: inputs.pop("files"),
        lambda inputs: inputs.__setitem__("files", ["train.csv"]),
        lambda inputs: inputs["files"][0].pop("sha256"),
        lambda inputs: inputs["options"].pop("robot"),
        lambda inputs: inputs.__setitem__("files", []),
        lambda inputs: inputs["options"].__setitem__("recordings", 3),
        lambda inputs: inputs["options"].__setitem__("recordings", []),
        lambda inputs: inputs["options"].__setitem__("recordings", "train.csv"),
        lambda inputs: inputs.__setitem__("options", ["train.csv"]),
    ],
)
def test_a_result_that_lacks_what_it_came_from_is_refused(change, result, tmp_path):
    shutil.copytree(result / "out", tmp_path / "out")
    raw = json.loads((tmp_path / "out" / "result.json").read_text())
    change(raw["inputs"])
    (tmp_path / "out" / "result.json").write_text(json.dumps(raw))
    with pytest.raises(EstimationError, match=r"input files|list its recordings"):
        call("export", tmp_path / "out", "--to", "urdf", "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_parameters_belong_to_the_named_drives_and_are_finite(result, tmp_path):
    shutil.copytree(result / "out", tmp_path / "out")
    file, model = tmp_path / "out" / "parameters.yaml", RobotModel.from_urdf(result / "robot.urdf")
    raw = yaml.safe_load(file.read_text())
    before = Identification.load(tmp_path / "out", model)
    raw["drives"]["joints"].reverse()
    file.write_text(yaml.safe_dump(raw))
    after = Identification.load(tmp_path / "out", model)
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 2))
    assert after.torques(q, v, a) == pytest.approx(before.torques(q, v, a), rel=1e-12)
    raw["parameters"]["b.m"] = 1e308
    file.write_text(yaml.safe_dump(raw))
    with pytest.raises(ModelError, match="not finite"):
        call("export", tmp_path / "out", "--to", "urdf", "--out", tmp_path / "x")


def test_an_export_writes_all_its_files_or_none(result, tmp_path, monkeypatch):
    out, mesh = tmp_path / "new" / "exports", result / "part.stl"
    command = ("export", result / "out", "--out", out, "--to")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pxr", None)
        with pytest.raises(ModelError, match="usd-core"):
            call(*command, "urdf,usd")
    with monkeypatch.context() as without:
        without.setenv("PATH", "")
        with pytest.raises(ModelError, match="compiler"):
            call(*command, "urdf,c")
    with monkeypatch.context() as wrong:
        differences = ({"j1": 0.0, "j2": float("nan")}, 1.0)
        wrong.setattr(arm, "largest_differences", lambda *_, **__: differences)
        with pytest.raises(ModelError, match=r"urdf/two\.urdf.*differ .*j2 nan"):
            call(*command, "urdf")
    whole = mesh.read_bytes()
    mesh.write_bytes(whole[:-10])
    try:
        with pytest.raises(ModelError, match=r"part\.stl.* truncated"):
            call(*command, "urdf,mjcf")
    finally:
        mesh.write_bytes(whole)
    assert not out.parent.exists()
    assert call(*command, "mjcf")[0] == 0
    before = (out / "proof.json").read_text()
    (out / "urdf").write_text("in the way")
    with pytest.raises(SysIdError, match="cannot be written to"):
        call(*command, "mjcf,urdf")
    assert {path.name for path in out.iterdir()} == {"mjcf", "urdf", "proof.json"}
    assert (out / "proof.json").read_text() == before
    assert len(list((out / "mjcf" / "meshes").iterdir())) == 1


def test_no_target_and_no_folder_are_refused_before_anything_is_read(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="No format"):
        call("export", tmp_path, "--to", " ,", "--out", tmp_path / "x")
    with pytest.raises(SysIdError, match="is a file"):
        call("export", tmp_path, "--to", "urdf", "--out", tmp_path / "file" / "x")


def test_recordings_that_were_moved_or_changed_are_told(result, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(result, moved)
    raw = json.loads((moved / "out" / "result.json").read_text())
    for file in raw["inputs"]["files"]:
        file["path"] = file["path"].replace(str(result), str(tmp_path / "gone"))
    (moved / "out" / "result.json").write_text(json.dumps(raw))
    arguments = ("export", moved / "out", "--to", "urdf", "--out", tmp_path / "x")
    with pytest.raises(EstimationError, match="was not found"):
        call(*arguments)
    assert call(*arguments, "--data", moved)[0] == 0
    (moved / "train.csv").write_text((moved / "train.csv").read_text() + "1,2,3,4,5,6,7\n")
    with pytest.raises(EstimationError, match="has changed"):
        call(*arguments, "--data", moved)


def test_a_result_in_memory_is_exported_without_a_proof_to_repeat(result, tmp_path):
    import sysid_core as sysid
    from sysid_core.signals import ColumnMap
    from sysid_core.workflows import ArmData

    columns_map = ColumnMap.load(result / "columns.yaml")
    runs = [ArmData.recording(result / f"{name}.csv", columns_map) for name in ("train",)]
    found = sysid.identify(str(result / "robot.urdf"), runs, friction="usual")
    made = found.export(tmp_path, ["urdf", "mjcf"])
    assert [one.target.value for one in made] == ["urdf", "mjcf"]
    assert all(one.equal and one.file.is_file() for one in made)
    with pytest.raises(EstimationError, match="in memory"):
        call("verify", tmp_path / "proof.json")
    with pytest.raises(ModelError, match="simulink"):
        found.export(tmp_path / "none", ["simulink"])
    held = payload_estimate()
    out = tmp_path / "loaded"
    written = found.export(out, ["mjcf"], payload=held, payload_frame="b", meshes=[result])
    assert not any(loss.code is LossCode.MESH_MISSING for loss in written[0].losses)
    bare, loaded = (
        mujoco.MjModel.from_xml_path(str(one.file)).body("b").mass for one in (made[1], written[0])
    )
    assert loaded - bare == pytest.approx(held.values[0])
    with pytest.raises(EstimationError, match="in memory"):
        call("verify", out / "proof.json")
