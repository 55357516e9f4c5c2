# SPDX-License-Identifier: Apache-2.0
"""Shapes: their cells carry exactly the shape's own mass properties."""

import numpy as np
import pytest
import trimesh

from sysid_core.errors import ModelError
from sysid_core.robot import (
    is_physically_consistent,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
    transform_pi,
)
from sysid_core.robot.shapes import Shape, load_shape

MESHES = {
    "box": trimesh.creation.box((0.1, 0.2, 0.05)),
    "cylinder": trimesh.creation.cylinder(0.05, 0.2),
    "sphere": trimesh.creation.icosphere(subdivisions=3, radius=0.1),
    "torus": trimesh.creation.torus(0.1, 0.03),
}


def rigid(rng):
    X = np.eye(4)
    X[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X[:3, :3] *= np.sign(np.linalg.det(X[:3, :3]))
    X[:3, 3] = rng.normal(size=3)
    return X


def homogeneous_mesh(mesh, mass):
    return pi_from_mass_com_inertia(
        mass, mesh.center_mass, mesh.moment_inertia * mass / mesh.volume
    )


def test_cells_of_a_box_have_exactly_its_inertia():
    size = np.array([0.2, 0.1, 0.05])
    pi = Shape.box(size, centre=(0.1, -0.2, 0.3)).homogeneous(2.0)
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    assert mass == pytest.approx(2.0, rel=1e-12)
    assert np.allclose(com, [0.1, -0.2, 0.3], atol=1e-12)
    assert np.allclose(inertia, np.diag(2.0 / 12.0 * (size @ size - size**2)), atol=1e-12)


@pytest.mark.parametrize("name", MESHES)
def test_cells_of_a_mesh_have_its_inertia(name):
    mesh = MESHES[name]
    shape = Shape.from_mesh(mesh)
    truth = homogeneous_mesh(mesh, 1.5)
    assert shape.volume == pytest.approx(mesh.volume, rel=1e-9)
    assert np.allclose(shape.homogeneous(1.5), truth, atol=1e-9 * np.abs(truth[4:]).max())


def test_the_number_of_cells_is_about_what_was_asked_for():
    for cells in (30, 60, 200):
        assert 0.5 < len(Shape.from_mesh(MESHES["torus"], cells=cells)) / cells < 2.5


def test_cell_centres_of_a_mesh_lie_in_its_bounding_box():
    shape = Shape.from_mesh(MESHES["torus"])
    assert np.all(shape.points > shape.lower) and np.all(shape.points < shape.upper)


def test_a_mesh_file_is_read_in_its_unit(tmp_path):
    mesh = MESHES["cylinder"].copy()
    mesh.apply_scale(1000.0)
    for suffix in ("stl", "obj", "ply"):
        path = tmp_path / f"part.{suffix}"
        mesh.export(path)
        assert Shape.from_mesh(path, scale=0.001).size == pytest.approx([0.1, 0.1, 0.2], rel=1e-5)
    with pytest.raises(ModelError, match="millimetres"):
        Shape.from_mesh(path)


@pytest.mark.parametrize("text", ["box 0.2 0.3 0.05", "cylinder 0.05 0.2", "sphere 0.05"])
def test_a_shape_in_words_stands_where_it_is_told(text):
    shape = load_shape(f"{text} at 0.01 -0.02 0.03")
    np.testing.assert_allclose(
        shape.points, load_shape(text).points + [0.01, -0.02, 0.03], atol=1e-15
    )
    with pytest.raises(ModelError, match="'at' takes 3 numbers, not 2"):
        load_shape(f"{text} at 0.01 0.02")


def test_posing_a_shape_transforms_its_parameters(rng):
    shape, X = Shape.cylinder(0.05, 0.2), rigid(rng)
    masses = rng.uniform(size=len(shape))
    moved = shape.posed(X).parameters_per_mass @ masses
    assert np.allclose(moved, transform_pi(X, shape.parameters_per_mass @ masses), atol=1e-12)


def test_any_masses_in_the_cells_are_physically_consistent(rng):
    shape = Shape.sphere(0.1).posed(rigid(rng))
    masses = rng.uniform(size=(100, len(shape))) * (rng.uniform(size=(100, len(shape))) < 0.1)
    assert np.all(is_physically_consistent(masses @ shape.parameters_per_mass.T))


def test_a_point_cloud_becomes_its_convex_hull(rng):
    cloud = rng.uniform(-0.5, 0.5, size=(3000, 3)) * [0.1, 0.2, 0.05]
    assert Shape.from_mesh(trimesh.Trimesh(cloud), hull=True).volume == pytest.approx(
        0.001, rel=0.06
    )


def test_unusable_shapes_are_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match="overlap"):
        Shape.from_boxes([((1, 1, 1), (0, 0, 0), (2, 2, 2)), ((1, 1, 1), (0.5, 0, 0), (2, 2, 2))])
    open_mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    with pytest.raises(ModelError, match="not closed"):
        Shape.from_mesh(open_mesh)
    with pytest.raises(ModelError, match="can't be read"):
        Shape.from_mesh(tmp_path / "missing.stl")
    with pytest.raises(ModelError, match="no convex hull"):
        Shape.from_mesh(trimesh.Trimesh(np.zeros((10, 3))), hull=True)
    with pytest.raises(ModelError, match="rigid"):
        Shape.box((0.1, 0.1, 0.1)).posed(2 * np.eye(4))


def test_solids_that_touch_at_an_edge_are_one_closed_shape(tmp_path):
    parts = [trimesh.creation.box((0.1, 0.1, 0.1)) for _ in range(2)]
    parts[1].apply_translation((0.1, 0.1, 0.0))  # four faces share an edge
    mesh = trimesh.util.concatenate(parts)
    mesh.merge_vertices()
    assert not mesh.is_watertight
    mesh.export(tmp_path / "assembly.stl")
    shape = load_shape(tmp_path / "assembly.stl")
    assert shape.volume == pytest.approx(2e-3, rel=1e-6)
    com = mass_com_inertia_from_pi(shape.homogeneous(1.0))[1]
    assert np.allclose(com, [0.05, 0.05, 0.0], atol=1e-7)


def test_a_thin_frame_has_its_exact_volume():
    bars = []
    for k in range(4):  # a saw's frame: bars of 4 mm in a box of 300 mm
        bar = trimesh.creation.box((0.3, 0.004, 0.004) if k < 2 else (0.004, 0.142, 0.004))
        bar.apply_translation([[0, 0.073, 0], [0, -0.073, 0], [0.148, 0, 0], [-0.148, 0, 0]][k])
        bars.append(bar)
    mesh = trimesh.util.concatenate(bars)
    assert Shape.from_mesh(mesh).volume == pytest.approx(mesh.volume, rel=1e-9)


def test_an_open_mesh_and_a_point_cloud_are_used_by_their_hull(tmp_path, rng):
    mesh = trimesh.creation.box((0.1, 0.2, 0.05))
    mesh.update_faces(np.arange(len(mesh.faces)) > 0)
    mesh.export(tmp_path / "open.stl")
    with pytest.raises(ModelError, match="not closed"):
        load_shape(tmp_path / "open.stl")
    assert load_shape(f"hull {tmp_path / 'open.stl'}").volume == pytest.approx(1e-3, rel=1e-6)
    corners = trimesh.creation.box((100, 200, 50)).vertices
    trimesh.PointCloud(corners).export(tmp_path / "cloud.ply")
    shape = load_shape(f"{tmp_path / 'cloud.ply'} scale 0.001")
    assert shape.volume == pytest.approx(1e-3, rel=1e-6)


def test_a_mesh_file_is_cut_again_only_when_its_content_changes(tmp_path):
    path = tmp_path / "part.stl"
    MESHES["box"].export(path)
    first = load_shape(path)
    assert load_shape(path).volume == first.volume
    MESHES["sphere"].export(path)
    assert load_shape(path).volume != pytest.approx(first.volume, rel=0.1)


def test_a_grasped_thing_carries_its_width_along(tmp_path):
    shape = load_shape("gripper 0.06 at 0 0 0.15")
    np.testing.assert_allclose(shape.fingers, [0.0, 0.06, 0.0])
    file = tmp_path / "finger.yaml"
    file.write_text("gripper: 0.06\npose_in_sensor: {xyz: [0, 0, 0.15], rpy: [0, 0, 1.5707963]}\n")
    turned = load_shape(file)
    np.testing.assert_allclose(turned.fingers, [-0.06, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(0.5 * (turned.lower + turned.upper), [0.0, 0.0, 0.15], atol=1e-9)
    file.write_text("gripper: 0.06\nmesh: part.stl\n")
    with pytest.raises(ModelError, match="one of the three"):
        load_shape(file)
