# SPDX-License-Identifier: Apache-2.0
"""Words and symbols of the reports with their meanings."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Word to its meaning. Words are looked for as they stand; after a `|`, other spellings.
GLOSSARY: Mapping[str, str] = {
    "MAP|map": "maximum a posteriori estimate: the most probable values, given the data and the prior.",
    "map-running": "running MAP estimate, updated with every sample; it models the sensor's gains, crosstalk and"
    " delay linearly. The batch MAP uses the whole recording, smoothed in both directions.",
    "PMD|pmd": "point-mass discretisation (Nadeau et al. 2022): non-negative masses at fixed points inside the"
    " given shape.",
    "OLS|ols": "ordinary least squares: no prior, equal weights of all samples.",
    "WLS|wls": "weighted least squares: each joint is weighted by the inverse variance of its residual.",
    "IRLS|irls": "iteratively reweighted least squares: robust against outliers.",
    "RTLS|rtls": "recursive total least squares: includes the noise of the accelerations.",
    "GEO|geo|entropic": "regression with a geometric (entropic) distance from the prior, which keeps every body"
    " physically consistent.",
    "LMI|lmi": "linear matrix inequality: the constraint that every link is physically consistent.",
    "prior": "knowledge before the data, such as the values of the URDF or the shape of the object.",
    "prior-dominated": "identifiable, but determined more by the prior than by these data.",
    "identifiable": "determined by these data alone.",
    "in combination": "only a combination with other parameters is determined; the table states it.",
    "not identifiable": "the parameter has no effect on the measured efforts in any motion of this robot.",
    "base parameter|base parameters": "a minimal set of combinations of inertial parameters that determines"
    " all torques.",
    "rank": "number of independent parameter combinations that the data excite.",
    "condition number": "ratio of the best to the worst excited parameter combination: near 1 is ideal, 1000 is poor.",
    "natural size|natural scale": "typical magnitude of a parameter, from the masses and lengths of the URDF;"
    " standard deviations are compared with it.",
    "R²": "share of the variance of the efforts that the model explains: 1 is perfect, 0 is no better than the mean.",
    "RMS": "root mean square.",
    "relative error": "RMS of the residual divided by RMS of the measured efforts, over all joints.",
    "residual|difference": "measured minus predicted value.",
    "held out|held-out|not used in the fit": "excluded from the fit and used for validation.",
    "physically consistent": "parameters of a possible body: positive mass, and an inertia that a mass"
    " distribution can have.",
    "sd|standard deviation|standard deviations": "standard deviation; the interval of ± 2 standard deviations contains the true value with a probability"
    " of 95 % if the model is correct.",
    "correlation|Correlation": "correlation between the errors of two estimates, from -1 to 1.",
    "F_c": "Coulomb friction; torque F_c sign(v) [N m].",
    "F_v": "viscous friction; torque F_v v [N m s/rad].",
    "I_a": "rotor inertia on the joint side of the gear; torque I_a a [kg m²].",
    "beta": "constant offset of a joint's effort [N m].",
    "F_l": "friction proportional to the load torque of the joint [-].",
    "F_s": "Stribeck friction: additional friction at low speed [N m].",
    "F_p": "presliding friction: builds up over a small angle after each reversal [N m].",
    "F_b": "breakaway friction: additional friction after a reversal, until the surfaces slide [N m].",
    "F_a": "difference of the Coulomb friction between the two directions [N m].",
    "F_t": "friction proportional to the square root of speed, due to shear-thinning grease [N m (s/rad)^0.5].",
    "F_k": "torque lost by saturation of the motor, proportional to the square of the load torque [1/(N m)].",
    "F_rc|F_rs|F_oc|F_os|F_wc|F_ws|F_uc|F_us": "torque ripple over one turn of an axis: cosine and sine amplitudes.",
    "mx|my|mz": "first moment of mass: mass times a coordinate of the centre of mass [kg m].",
    "URDF": "Unified Robot Description Format: file with the links, joints and masses of a robot.",
    "pi": "the ten inertial parameters of a body: m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.",
    "wrench": "force and torque at the force-torque sensor.",
    "tare": "estimation of the sensor bias, without a load or in several postures.",
    "TCP": "tool centre point: the frame whose speed and position are limited.",
    "harmonics": "sine waves of a Fourier motion.",
    "criterion": "quantity that the planner minimises: d, volume of the expected covariance; a, mean relative"
    " variance; worst, largest relative variance.",
    "closed chain|loop|loops": "kinematic chain with closed loops; its passive joints are determined by the driven ones.",
    "loops close|close the loops": "the loop closure equations have a solution in this posture.",
}


def words_in(text: str) -> list[tuple[str, str]]:
    """Words of the glossary that a text uses, with their meanings, in the glossary's order.

    Args:
        text: All text of a page.
    """
    words = set(re.findall(r"[\w-]+", text))

    def has(name: str) -> bool:
        parts = set(re.findall(r"[\w-]+", name))
        if parts == {name} or not parts <= words:
            return name in words
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None

    every = ((spellings.split("|"), meaning) for spellings, meaning in GLOSSARY.items())
    return [(names[0], meaning) for names, meaning in every if any(map(has, names))]
