# SPDX-License-Identifier: Apache-2.0
"""What the reasons of verdicts mean, and what to do: for the reports and the documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Guide:
    """An explanation of one kind of reason.

    Attributes:
        name: Name of the kind; the heading in the documentation.
        pattern: Regular expression that its sentences match.
        meaning: Why it is said.
        remedy: What to do.
        page: Page of the documentation that says more.
    """

    name: str
    pattern: str
    meaning: str
    remedy: str
    page: str

    @property
    def anchor(self) -> str:
        """Where the documentation's page of reasons explains it."""
        return re.sub(r"\W+", "-", self.name.lower())


GUIDES: Sequence[Guide] = (
    Guide(
        "A sign",
        r"opposite sign|other way round",
        "With this sign turned, both the URDF's masses and free masses explain the efforts far better.",
        "Turn it in the column map (or the URDF's axis), then repeat; if masses become negative, the turn was wrong.",
        "verdicts.md",
    ),
    Guide(
        "An order of joints",
        r"are exchanged|reversed order|shifted by one joint|in another order",
        "One joint's motion or effort fits another joint's column better.",
        "Compare `joints` and `columns` of the column map with the file's head; columns count from 0.",
        "verdicts.md",
    ),
    Guide(
        "A zero angle",
        r"The zero of",
        "Weights act at other angles than the positions say: an encoder offset between controller and URDF.",
        "Add the angle to the positions, or turn the joint's origin in the URDF; never both.",
        "verdicts.md",
    ),
    Guide(
        "A unit of angles",
        r"positions are in (degrees|radians)",
        "Positions and velocities fit the efforts only in the other unit.",
        "Declare the unit in the column map.",
        "files.md",
    ),
    Guide(
        "Where gravity points",
        r"Gravity points|isn't mounted",
        "Weights act along another direction than the URDF's base frame has.",
        "Give --mount or --gravity, or `mount:` in the column map; measure a robot on a slope with --gravity estimate.",
        "verdicts.md",
    ),
    Guide(
        "Efforts without weight",
        r"lack the robot's weight|gravity-compensated",
        "Drivers often subtract their own model of gravity before they publish efforts.",
        "Record torques or motor currents before compensation.",
        "vendors.md",
    ),
    Guide(
        "Gains and units of efforts",
        r"times (those|that) of the URDF's masses|in the other joints ask for",
        "The efforts have the right shape and the wrong size: a gain, a unit, or another variant of the robot.",
        "Check gains and their source; unknown ones come from a run with a known load (--loaded, --load-mass).",
        "identify.md",
    ),
    Guide(
        "Time stamps",
        r"time stamps, while weights agree|stamps seem",
        "Inertial torques grow with the square of speed: their size against weights tells how fast time runs.",
        "Check the time column, its unit and `rate_hz`.",
        "files.md",
    ),
    Guide(
        "Joints that follow others",
        r"^Joints that mimic others",
        "A joint without a motor of its own loads the one that it follows; an open chain doesn't know that.",
        "Identify with --loops mimic (or a file of couplings), or hold the follower with --lock.",
        "closed_chains.md",
    ),
    Guide(
        "Efforts that can't be right",
        r"channel is dead|are spikes|is saturated|measurement is saturated",
        "Single efforts are constant, far outside all others, or stuck at an end.",
        "Leave out what the reason names, or record it again more slowly.",
        "recordings.md",
    ),
    Guide(
        "Efforts that don't follow the motion",
        r"don't belong together|no better than chance|free masses leave|any masses with friction leave",
        "Rigid bodies with any masses and friction can't explain these efforts from this motion.",
        "Plot the efforts beside the motion; check columns and units. Springs, cables and contacts do it too.",
        "identify.md",
    ),
    Guide(
        "Too little motion",
        r"of motion: too little|too short, or excite too little|Nothing moves|have rank|loop\(s\)? .*rank",
        "The recordings don't show everything that could be identified; other motions may be predicted badly.",
        "Plan what is missing: `sysid plan arm ROBOT --after estimate.yaml`, and record it.",
        "motions.md",
    ),
    Guide(
        "A fit that contradicts its data",
        r"contradict the data",
        "The fitted model leaves more than the URDF's own masses, or free ones, do: something holds it off.",
        "Drop --fix, take a weaker prior or another method, and look for outliers in the residuals below.",
        "identify.md",
    ),
    Guide(
        "A model that leaves much",
        r"The model leaves|little of the torques' variance",
        "Much of the measured efforts isn't explained; the spectrum of the residual says at which frequencies.",
        "Slow residuals: friction terms (--friction auto), springs, temperature. Fast ones: delay (--delay), noise.",
        "identify.md",
    ),
    Guide(
        "Not physically consistent",
        r"[Nn]ot physically consistent|No body has|mass .* negative|inertia .* isn't",
        "At least one body couldn't exist as its numbers say; a simulator or controller may go wrong with it.",
        "Repeat with --method lmi or auto; for base parameters alone it doesn't matter.",
        "identify.md",
    ),
    Guide(
        "Numbers that aren't finite",
        r"not finite|isn't finite|aren't finite",
        "NaN or infinity came out: data hold NaN, or nothing determines the parameter.",
        "Look at the recording (`sysid bag check`), and fix what isn't excited.",
        "troubleshooting.md",
    ),
    Guide(
        "No better than the URDF",
        r"no better than nominal|identified, .* nominal",
        "On runs that weren't fitted the identified model predicts no better than the URDF's numbers.",
        "Keep the URDF's, or record more motion like the one that matters.",
        "verdicts.md",
    ),
    Guide(
        "Torque limits",
        r"At the torque limit",
        "A saturated joint says little about the model.",
        "Track more slowly, or judge by predicted torques.",
        "motions.md",
    ),
    Guide(
        "A mass that isn't known",
        r"The mass is not known",
        "The mass's deviation is above 30 % of it, or it is negative.",
        "Tilt the sensor through more postures (`sysid plan payload`), and tare before the object is taken.",
        "payload_identification.md",
    ),
    Guide(
        "A load that changed",
        r"[Ll]oad changed|changes of the load|attached|detached|slipped",
        "Something was taken up, put down or slipped during the motion; what came before isn't used.",
        "Weigh again with the object held firmly throughout.",
        "payload_identification.md",
    ),
    Guide(
        "Loaded and unloaded runs",
        r"less than the unloaded arm|loaded runs",
        "The difference of the runs has the wrong sign or contradicts itself.",
        "Check which run is which, the signs of efforts, and the mounting.",
        "payload_identification.md",
    ),
    Guide(
        "A wrench that isn't explained",
        r"than the sensor allows|the sensor's errors|tare|bias|sensor",
        "Rigid motion of one body doesn't explain forces and torques as well as the sensor's quality promises.",
        "Look for cable pull, contact or a wrong frame; tare again; give --sensor calibrated only if it is.",
        "payload_identification.md",
    ),
)


def guide_to(reason: str) -> Guide | None:
    """The explanation of a reason; None where there is none."""
    return next((guide for guide in GUIDES if re.search(guide.pattern, reason)), None)
