# SPDX-License-Identifier: Apache-2.0
"""Words and symbols of the reports, and what each means."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Word to its meaning. Words are looked for as they stand; after a `|`, other spellings.
GLOSSARY: Mapping[str, str] = {
    "MAP|map": "maximum a posteriori: the likeliest values, given the data and what was known before (the prior).",
    "map-running": "the running MAP estimate: it takes samples as they come and treats the sensor's gains, crosstalk"
    " and delay by a linearised model; the batch MAP sees the whole recording, smoothed in both directions.",
    "PMD|pmd": "point-mass discretisation (Nadeau et al. 2022): masses at fixed points inside the known shape,"
    " none of them negative.",
    "OLS|ols": "ordinary least squares: no prior, every sample counts the same.",
    "WLS|wls": "least squares with joints weighted by the noise of their efforts.",
    "IRLS|irls": "least squares that gives outliers little weight, repeatedly.",
    "RTLS|rtls": "recursive total least squares: allows for noise in the accelerations, too.",
    "GEO|geo|entropic": "regression with a distance between bodies that is geometric (entropic divergence from the"
    " prior): every body stays possible.",
    "LMI|lmi": "linear matrix inequality: the constraint that every link is a body that could exist.",
    "prior": "what was known before these data, such as the URDF's values or the object's shape.",
    "prior-dominated": "identifiable, but these data say less about it than the prior does.",
    "identifiable": "determined by these data alone.",
    "in combination": "determined only in combination with other parameters; the combination is written out.",
    "not identifiable": "no motion of this robot affects the measured efforts through it.",
    "base parameter|base parameters": "a combination of inertial parameters that torques depend on; all torques"
    " follow from the base parameters.",
    "rank": "number of directions in parameter space that the data excite.",
    "condition number": "ratio of the best to the worst excited direction: near 1 is ideal, 1000 is poor.",
    "natural size|natural scale": "size that a parameter has by the URDF's masses and lengths; deviations are"
    " compared with it.",
    "R²": "share of the efforts' variance that the model explains: 1 is all, 0 no more than the mean.",
    "RMS": "root of the mean square.",
    "relative error": "RMS of what is left over RMS of the measured efforts, all joints together.",
    "residual|difference": "measured minus predicted.",
    "held out|held-out|not used in the fit": "excluded from the fit, to validate it.",
    "physically consistent": "a body with these parameters could exist: positive mass, and an inertia that some"
    " distribution of mass has.",
    "sd|standard deviation|standard deviations": "standard deviation; two of them hold 95 % if the model is right.",
    "correlation|Correlation": "correlation of the errors of two estimates, from -1 to 1.",
    "F_c": "Coulomb friction, F_c sign(v) [N m].",
    "F_v": "viscous friction, F_v v [N m s/rad].",
    "I_a": "inertia of the drive's rotor as seen behind its gear, I_a a [kg m²].",
    "beta": "constant offset of a joint's effort [N m].",
    "F_l": "friction in proportion to the load on the joint [-].",
    "F_s": "Stribeck friction: more at low speed [N m].",
    "F_p": "friction with play: it builds up over a small angle after each reversal [N m].",
    "F_b": "breakaway friction: more after a reversal, until the surfaces slide [N m].",
    "F_a": "Coulomb friction's difference between the two directions [N m].",
    "F_t": "friction that grows with the root of speed: grease that thins [N m (s/rad)^0.5].",
    "F_k": "torque that a motor lacks at high load, in proportion to its square [1/(N m)].",
    "F_rc|F_rs|F_oc|F_os|F_wc|F_ws|F_uc|F_us": "torque waves over a joint's turn: cosine and sine of each.",
    "mx|my|mz": "first moment: mass times a coordinate of the centre of mass [kg m].",
    "URDF": "the robot's description: joints, axes, masses.",
    "pi": "the ten inertial parameters of a body: m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.",
    "wrench": "force and torque together, at the force-torque sensor.",
    "tare": "finding the sensor's own offset (bias), without a load or in several postures.",
    "TCP": "tool centre point: the frame whose speed and place are limited.",
    "harmonics": "the sine waves that a Fourier motion is made of.",
    "criterion": "what a planned motion makes small: d, the volume of the expected covariance; a, its mean;"
    " worst, its largest deviation.",
    "closed chain|loop|loops": "links that form a closed kinematic loop; its passive joints follow the driven ones.",
    "assembles": "the loop closure has a solution in this posture.",
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
