# SPDX-License-Identifier: Apache-2.0
"""Export to C99 code without dependencies: the identified robot with all its terms, for a user's
controller.

The code consists of tables of numbers, the recursive Newton-Euler algorithm on these tables, and
one line for each term of each axis. It allocates no memory and has no branches that depend on data.
The states of the friction terms are in a struct of the caller.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.export.projection import Projection
from sysid_core.export.tree import Tree, exact, tree_of
from sysid_core.robot import (
    FrictionModel,
    FrictionTerm,
    Spring,
    SpringLaw,
)

_HEADER = """/* SPDX-License-Identifier: Apache-2.0 */
/* The robot '{robot}' as it was identified, by robot_sysid. SI units; joints in the order of
   {prefix}_joint_names. A thread of its own needs a state of its own, nothing else is kept. */
#ifndef {guard}_H
#define {guard}_H
#ifdef __cplusplus
extern "C" {{
#endif

#define {guard}_N {n}
#define {guard}_P {p}

/* Joints, axes, parameters: for what loads this code as a library. */
extern const int {prefix}_sizes[3];
extern const char *const {prefix}_joint_names[{guard}_N];
/* Identified parameters: ten of each body (m, m c_x, m c_y, m c_z, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about
   the body's origin), then those of friction and springs. */
extern const double {prefix}_parameters[{guard}_P];
extern const char *const {prefix}_parameter_names[{guard}_P];

/* State of the friction: last positions of the {axes} axes, and operators z of presliding (play) and
   breakaway friction, each from -1 to 1. */
typedef struct {{
  double q[{axes}];
  double play[{axes}];
  double breakaway[{axes}];
}} {prefix}_state;

/* Call before the first {prefix}_torques, and after a pause. */
void {prefix}_reset({prefix}_state *state, const double *q);
/* Torques that the drives give: rigid bodies, springs, friction and drive inertia. Call once a
   control period: the state follows q. */
void {prefix}_torques(const double *q, const double *v, const double *a, {prefix}_state *state,
                      double *tau);
/* The same, and gravity, with other values of {prefix}_parameters. */
void {prefix}_torques_of(const double *parameters, const double *q, const double *v,
                         const double *a, {prefix}_state *state, double *tau);
void {prefix}_gravity_of(const double *parameters, const double *q, double *tau);
/* Rigid bodies alone: M(q) a + C(q, v) v + g(q). */
void {prefix}_rigid_torques(const double *q, const double *v, const double *a, double *tau);
/* g(q). */
void {prefix}_gravity(const double *q, double *tau);
/* M(q) of the rigid bodies, {n} x {n} by rows; {prefix}_armature adds to its diagonal. */
void {prefix}_mass_matrix(const double *q, double *M);
extern const double {prefix}_armature[{guard}_N];
/* Y(q, v, a) with Y pi = rigid torques, {n} x {columns} by rows; ten parameters of each body. */
void {prefix}_regressor(const double *q, const double *v, const double *a, double *Y);

#ifdef __cplusplus
}}
#endif
#endif
"""


def c_of(robot: Projection, prefix: str) -> tuple[str, str]:
    """Return the C header and source of a robot.

    Args:
        robot: Robot with all its terms.
        prefix: Prefix of all names: a C identifier.

    Raises:
        ModelError: The prefix is not a C identifier, or a joint or body cannot be represented.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix):
        raise ModelError(
            f"'{prefix}' can't begin the names of C functions.",
            remedy="Give letters, digits and underscores, a letter first.",
        )
    tree = tree_of(robot.model)
    n, axes = len(tree.joints), len(robot.friction.drives.axis_names)
    inertial = np.concatenate([joint.pi for joint in tree.joints])
    values, armature = (exact(x, ", ") for x in ([*inertial, *robot.values], robot.of("I_a")))
    quoted = ", ".join(map(_string, c_parameters(robot)))
    header = _HEADER.format(
        robot=_comment(tree.name),
        prefix=prefix,
        guard=prefix.upper(),
        n=n,
        p=10 * n + len(robot.values),
        axes=axes,
        columns=10 * n,
    )
    names = ", ".join(_string(joint.name) for joint in tree.joints)
    source = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        f'#include "{prefix}.h"',
        "#include <math.h>",
        "",
        f"#define N_JOINTS {n}",
        f"#define PREFIX(name) {prefix}_##name",
        "",
        f"const int {prefix}_sizes[3] = {{N_JOINTS, {axes}, {prefix.upper()}_P}};",
        f"const char *const {prefix}_joint_names[N_JOINTS] = {{{names}}};",
        f"const double {prefix}_parameters[{prefix.upper()}_P] = {{{values}}};",
        f"const char *const {prefix}_parameter_names[{prefix.upper()}_P] = {{{quoted}}};",
        f"const double {prefix}_armature[N_JOINTS] = {{{armature}}};",
        *_tables(tree),
        files("sysid_core.export").joinpath("c_dynamics.c").read_text(encoding="utf-8"),
        *_torques(robot, prefix),
    ]
    return header, "\n".join(source) + "\n"


def c_parameters(robot: Projection) -> tuple[str, ...]:
    """Return the names of the parameters that the C code accepts as data: those of the estimate."""
    return (*robot.model.parameter_names, *robot.friction.names)


def write_c(folder: Path, robot: Projection, prefix: str) -> tuple[Path, Path]:
    """Write the files `PREFIX.h` and `PREFIX.c`."""
    header, source = c_of(robot, prefix)
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"{prefix}.h", folder / f"{prefix}.c"
    for path, text in zip(paths, (header, source), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def c_prefix(name: str) -> str:
    """Return the C identifier from the name of a robot."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    return plain if plain[:1].isalpha() else f"robot_{plain}".rstrip("_")


def _tables(tree: Tree) -> list[str]:
    """Constant tables of all joints in C; row 0 is the base."""
    rows: dict[str, list[Any]] = {
        key: [np.zeros(size)]
        for key, size in (
            *(("R_0", 9), ("R_S", 9), ("R_C", 9)),
            *(("P_0", 3), ("P_Q", 3), ("TURN", 3), ("SLIDE", 3)),
        )
    }
    for joint in tree.joints:
        turns = 0.0 if joint.slides else 1.0
        K = pin.skew(joint.axis)
        rows["R_0"].append(joint.R.ravel())
        rows["R_S"].append(turns * (joint.R @ K).ravel())
        rows["R_C"].append(turns * (joint.R @ K @ K).ravel())
        rows["P_0"].append(joint.p)
        rows["P_Q"].append((1.0 - turns) * (joint.R @ joint.axis))
        rows["TURN"].append(turns * joint.axis)
        rows["SLIDE"].append((1.0 - turns) * joint.axis)
    parents = ", ".join(str(x) for x in (0, *(joint.parent + 1 for joint in tree.joints)))
    out = [
        f"static const double GRAVITY[3] = {{{exact(tree.gravity, ', ')}}};",
        f"static const int PARENT[N_JOINTS + 1] = {{{parents}}};",
    ]
    for key, table in rows.items():
        lines = ",\n  ".join(f"{{{exact(row, ', ')}}}" for row in table)
        out.append(f"static const double {key}[N_JOINTS + 1][{len(table[0])}] = {{\n  {lines}}};")
    return [*out, ""]


def _torques(robot: Projection, prefix: str) -> list[str]:
    """C functions `PREFIX_reset` and `PREFIX_torques`, with one block per axis."""
    friction = robot.friction
    drives, S = friction.drives, friction.drives.axis_matrix
    first = 10 * len(robot.model.body_names)
    values = {name: f"parameters[{first + k}]" for k, name in enumerate(friction.names)}
    reset, blocks = [], []
    for i, axis in enumerate(drives.axis_names):
        along = {
            name: " + ".join(f"{_number(S[i, j])} * {name}[{j}]" for j in np.flatnonzero(S[i]))
            for name in "qva"
        }
        reset += [f"  state->q[{i}] = {along['q']};"]
        reset += [f"  state->play[{i}] = state->breakaway[{i}] = 0.0;"]
        lines = _axis_lines(friction, i, values)
        springs = [spring for spring in drives.springs if spring.axis == axis]
        lines += [line for spring in springs for line in _spring_lines(spring, values)]
        if not lines:
            continue
        declared = {
            "x": along["q"],
            "u": along["v"],
            "w": along["a"],
            "s": f"tanh(u / {_number(friction.coulomb_velocity)})",
            "load": f"rigid[{i}]" if i < len(drives.joint_names) else "0.0",
        }
        step = [f"const double step = x - state->q[{i}];", f"state->q[{i}] = x;"]
        blocks += [
            f"  {{ /* {_comment(axis)} */",
            *(f"    const double {name} = {text};" for name, text in declared.items()),
            *(f"    {line}" for line in step if any("step" in line for line in lines)),
            "    double f = 0.0;",
            *(f"    {line}" for line in lines),
            *(f"    tau[{j}] += {_number(S[i, j])} * f;" for j in np.flatnonzero(S[i])),
            "    " + " ".join(f"(void){name};" for name in declared),
            "  }",
        ]
    return [
        f"void {prefix}_reset({prefix}_state *state, const double *q) {{",
        *reset,
        "}",
        "",
        f"void {prefix}_torques_of(const double *parameters, const double *q, const double *v,"
        f" const double *a, {prefix}_state *state, double *tau) {{",
        "  double rigid[N_JOINTS];",
        "  (void)state;",
        "  newton_euler(parameters, q, v, a, 1.0, rigid);",
        "  for (int i = 0; i < N_JOINTS; ++i) tau[i] = rigid[i];",
        *blocks,
        "}",
        "",
        f"void {prefix}_torques(const double *q, const double *v, const double *a,"
        f" {prefix}_state *state, double *tau) {{",
        f"  {prefix}_torques_of({prefix}_parameters, q, v, a, state, tau);",
        "}",
    ]


# Each term along an axis: x, u, w position, velocity, acceleration; s the smooth sign of u.
_TERMS: dict[FrictionTerm, Callable[[FrictionModel, int], str]] = {
    FrictionTerm.COULOMB: lambda f, i: "s",
    FrictionTerm.VISCOUS: lambda f, i: "u",
    FrictionTerm.INERTIA: lambda f, i: "w",
    FrictionTerm.OFFSET: lambda f, i: "1.0",
    FrictionTerm.ASYMMETRY: lambda f, i: "fabs(s)",
    FrictionTerm.STRIBECK: lambda f, i: "s * exp(-(u / {0}) * (u / {0}))".format(
        _number(f.stribeck_velocity)
    ),
    FrictionTerm.PLAY: lambda f, i: f"state->play[{i}]",
    FrictionTerm.BREAKAWAY: lambda f, i: f"(s - state->breakaway[{i}])",
    FrictionTerm.LOAD: lambda f, i: "fabs(load) * s",
    FrictionTerm.SATURATION: lambda f, i: "load * fabs(load)",
    FrictionTerm.THINNING: lambda f, i: "s * sqrt(fabs(u))",
}
_WAVES = {
    FrictionTerm.RIPPLE: "",
    FrictionTerm.RUNOUT: "s * ",
    FrictionTerm.SPEED_RIPPLE: "u * ",
    FrictionTerm.SPEED_RUNOUT: "fabs(u) * ",
}


def _axis_lines(friction: FrictionModel, i: int, values: dict[str, str]) -> list[str]:
    """C statements that add the terms of an axis to f."""
    axis, out = friction.drives.axis_names[i], []
    for term in friction.terms_of(axis):
        names = friction.parameters_of(axis, term)
        if term.waves:
            waves = friction.drives.waves_of(term.value, axis)
            parts = [f"{c}({_number(wave)} * x)" for wave in waves for c in ("cos", "sin")]
            parts = [_WAVES[term] + part for part in parts]
        else:
            parts = [_TERMS[term](friction, i)]
        for memory, width in (
            (FrictionTerm.PLAY, friction.play_width),
            (FrictionTerm.BREAKAWAY, friction.breakaway_width),
        ):
            if term is memory:
                z = f"state->{term.value}[{i}]"
                out.append(f"{z} = fmin(1.0, fmax(-1.0, {z} + step / {_number(width)}));")
        out += [
            f"f += {values[name]} * {part}; /* {term.value} */"
            for name, part in zip(names, parts, strict=True)
        ]
    return out


def _spring_lines(spring: Spring, values: dict[str, str]) -> list[str]:
    """C statements that subtract the torque of a spring from f, because the drives need not produce
    it.
    """
    given = {"S_p": spring.preload, "S_k": spring.stiffness}
    factors = [
        values[f"{spring.axis}.{symbol}"] if spring.identified else _number(given[symbol])
        for symbol in spring.symbols
    ]
    out = [f"const double angle = x - {_number(spring.zero)};"]
    if spring.anchors is None:
        out += ["const double stretch = angle, slope = 1.0;"]
    else:
        d1, d2 = spring.anchors
        square = f"{_number(d1**2 + d2**2)} - {_number(2.0 * d1 * d2)} * cos(angle)"
        out += [
            f"const double length = fmax(sqrt({square}), {_number(1e-9 * (d1 + d2))});",
            f"const double stretch = length - {_number(abs(d1 - d2))};",
            f"const double slope = {_number(d1 * d2)} * sin(angle) / length;",
        ]
    if spring.law is SpringLaw.PNEUMATIC:
        left = f"fmax(1.0 - stretch / {_number(spring.stroke)}, 1e-3)"
        functions = [f"slope / pow({left}, {_number(spring.exponent)})"]
    else:
        functions = ["stretch"] if spring.anchors is None else ["slope", "stretch * slope"]
        if spring.anchors is None and not spring.identified:
            out.append(f"f += {_number(spring.preload)}; /* spring */")
    out += [
        f"f += {factor} * {function}; /* spring */"
        for factor, function in zip(factors, functions, strict=True)
    ]
    return ["{", *(f"  {line}" for line in out), "  (void)slope;", "}"]


def _number(value: float) -> str:
    text = exact(value)
    return f"({text})" if value < 0.0 else text


def _string(text: str) -> str:
    """C string literal in UTF-8; `??` is escaped because it may start a trigraph."""
    return json.dumps(text, ensure_ascii=False).replace("??", "?\\?")


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
