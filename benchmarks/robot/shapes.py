# SPDX-License-Identifier: Apache-2.0
"""Points inside a closed mesh: our grid of vertical lines against `trimesh.contains` (needs rtree)."""

from __future__ import annotations

import time

import numpy as np
import trimesh

from sysid_core.robot.shapes import Shape


def main() -> None:
    print(
        f"{'mesh':12s} {'faces':>6s} {'cut [ms]':>9s} {'trimesh.contains [ms]':>22s} {'same':>6s}"
    )
    for name, mesh in (
        ("annulus", trimesh.creation.annulus(0.3, 1.0, 1.0)),
        ("sphere", trimesh.creation.icosphere(3)),
    ):
        start = time.perf_counter()
        shape = Shape.from_mesh(mesh, cells=4000)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        inside = mesh.contains(shape.points)
        theirs = time.perf_counter() - start
        print(
            f"{name:12s} {len(mesh.faces):6d} {1e3 * ours:9.1f} {1e3 * theirs:22.1f}"
            f" {100.0 * np.mean(inside):5.1f}%"
        )


if __name__ == "__main__":
    main()
