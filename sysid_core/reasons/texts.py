# SPDX-License-Identifier: Apache-2.0
"""Table of the texts of all reason codes: sentence, remedy and meaning.

Fields in braces are names of a reason's data. A format that ends in `%` shows a share in per cent;
elements of lists are separated by commas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter


@dataclass(frozen=True)
class Text:
    """Texts of one reason code.

    Attributes:
        title: Name of the kind of reason, the heading in the documentation.
        sentence: Statement with the evidence in numbers.
        remedy: Recommended action.
        meaning: Explanation for the documentation.
        page: Name of the documentation page with details.
    """

    title: str
    sentence: str
    remedy: str = ""
    meaning: str = ""
    page: str = "verdicts.md"


MOTIONS = {
    "range": "To separate the causes best, move one joint through its whole range",
    "turned": "To separate the causes best, repeat the motion with one joint turned by 90°",
    "wide": "To separate the causes best, move all joints slowly through their whole ranges",
    "fast": "To separate the causes best, repeat the motion at twice the speed",
    "none": "No simple motion separates the causes",
    "any": "Record a slow motion through distant postures, and a fast one",
}


class _Words(Formatter):
    """Formatter of numbers and lists in the texts of reasons."""

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(x, format_spec) for x in value)
        if value is None:
            return "unknown"
        if format_spec == "words":
            return MOTIONS[str(value)]
        if format_spec == "lag" and isinstance(value, int | float):
            return f"{'lag' if value >= 0.0 else 'lead'} by {abs(value):.1f}"
        if format_spec.endswith("%") and isinstance(value, int | float):
            spec = format_spec[:-1]
            return f"{format(100.0 * value, spec if spec[-1:].isalpha() else spec + 'f')} %"
        return format(value, format_spec)


def sentence(template: str, data: Mapping[str, object]) -> str:
    """Return a sentence from a template and its data."""
    return _Words().vformat(template, (), data)


_EVIDENCE = (
    " Evidence: this hypothesis changes the unexplained share of the variance of the torques from {urdf_before:.2g%} to {urdf_after:.2g%} with the masses"
    " of the URDF, and from {free_before:.2g%} to {free_after:.2g%} with estimated masses."
)
_SIGN = "With the opposite sign, the model explains the efforts far better."
_ORDER = "With this order of the columns, the model explains the efforts far better."
_ORDER_REMEDY = "Check that `joints` and `columns` in the column map have the same order. Columns are counted from 0."
_SIZE = "The efforts vary with the motion as expected, but their scale is wrong: a gain, a unit or the URDF may be wrong."
_CLOCK = "Inertial torques grow with the square of the speed and gravity torques do not. Therefore, their ratio reveals a wrong time scale."
_LEFT = "The model leaves a large part of the efforts unexplained. The spectrum of the residual in the report shows at which frequencies the model fails."
_LEFT_REMEDY = (
    "If the residual is mainly at low frequencies, check the friction terms (--friction auto), springs and temperature."
    " If the residual has high frequencies, check the delay (--delay auto) and the noise."
)
_MORE = (
    "Plan a motion that adds the missing excitation with `sysid plan arm ROBOT --after estimate.yaml` (for a"
    " closed chain: `sysid plan loops`), and record this motion."
)

TEXTS: Mapping[str, Text] = {
    # What is wrong with data or description, from competing explanations.
    "effort-signs": Text(
        "Signs of several efforts",
        "The signs of the efforts of {joints} are reversed relative to the joint axes in the URDF."
        + _EVIDENCE,
        "Negate the drive gains of {joints} in the column map, or negate the recorded efforts of these joints.",
        _SIGN,
    ),
    "effort-sign": Text(
        "Sign of an effort",
        "The sign of the effort of '{joint}' is reversed relative to the joint axis in the URDF."
        + _EVIDENCE,
        "Negate the drive gain of '{joint}' in the column map.",
        _SIGN,
    ),
    "position-signs": Text(
        "Signs of several positions",
        "The signs of the positions of {joints} are reversed relative to the joint axes in the URDF."
        + _EVIDENCE,
        "Reverse the axes of {joints} in the URDF, or negate the position and velocity columns of these joints.",
        _SIGN,
    ),
    "position-sign": Text(
        "Sign of a position",
        "The sign of the position of '{joint}' is reversed relative to the joint axis in the URDF."
        + _EVIDENCE,
        "Reverse the axis of '{joint}' in the URDF, or negate the position and velocity columns of this joint.",
        _SIGN,
    ),
    "joint-sign": Text(
        "Sign of a joint",
        "The signs of both position and effort of '{joint}' are reversed relative to the joint axis in the URDF."
        + _EVIDENCE,
        "Reverse the axis of '{joint}' in the URDF.",
        _SIGN,
    ),
    "effort-order": Text(
        "Order of efforts",
        "The effort columns that are declared for {joints} contain the efforts of {hold}, respectively."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "position-order": Text(
        "Order of positions",
        "The position columns that are declared for {joints} contain the positions of {hold}, respectively."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "joint-order": Text(
        "Order of joints",
        "The columns that are declared for {joints} contain the positions and efforts of {hold}, respectively."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "angle-unit": Text(
        "Unit of angles",
        "The positions are in {unit}, which is not the declared unit." + _EVIDENCE,
        "Declare `position: {{unit: {short}}}` and `velocity: {{unit: {short}/s}}` in the column map.",
        "The model explains the efforts only if positions and velocities are in a unit other than the declared one.",
        "recordings.md",
    ),
    "zero-angle": Text(
        "Zero angle",
        "The recorded positions of '{joint}' have another zero than the URDF: {degrees:+.0f}° must be added to them."
        + _EVIDENCE,
        "Add {radians:+.4f} rad to the positions of '{joint}', or rotate the origin of this joint in the URDF by this angle.",
        "The gravity torques agree with joint angles that differ from the recorded ones by a constant, for example because of an encoder offset.",
    ),
    "mounting": Text(
        "Mounting",
        "The base is not mounted as the URDF states: gravity in the base frame is ({gravity:.3f}) m/s²."
        + _EVIDENCE,
        "Use the option --gravity {written} or --mount {mount}, or set `mount:` in the column map.",
        "The gravity torques indicate a direction of gravity in the base frame that differs from the one that the URDF implies.",
    ),
    "gravity-subtracted": Text(
        "Gravity-compensated efforts",
        "The gravity torques have been subtracted from the recorded efforts." + _EVIDENCE,
        "Record torques or currents from which no gravity torques are subtracted.",
        "Some drivers subtract their own gravity model before they publish efforts.",
        "vendors.md",
    ),
    "gain": Text(
        "Gain of a joint",
        "The torque of '{joint}' is about {factor:.2g} times the torque expected from the motion and from the torques of the other joints."
        + _EVIDENCE,
        "Check the gain of '{joint}' and the unit of its effort.",
        _SIZE,
        "identify.md",
    ),
    "effort-unit": Text(
        "Unit of efforts",
        "The torques are {factor:.3g} times those computed with the masses of the URDF. Perhaps the efforts are in {unit}, but were declared as N m or A."
        + _EVIDENCE,
        "Check the declared kind, unit and gains of the efforts.",
        _SIZE,
        "identify.md",
    ),
    "effort-scale": Text(
        "Gains of all joints",
        "The torques are {factor:.3g} times those computed with the masses of the URDF."
        + _EVIDENCE,
        "Check the gains (`drives: gain`) and the kind of the efforts (currents or torques). Check that the URDF describes this variant of the robot. If the"
        " gains are unknown, estimate them from a recording with a known load (--loaded).",
        _SIZE,
        "identify.md",
    ),
    "other-robot": Text(
        "Another robot",
        "The torques depend on the motion, but this URDF explains them only if the zeros or directions of {joints} are changed."
        + _EVIDENCE,
        "Use the URDF of the recorded robot. Check the link lengths, and the axes, zero angles and order of the joints.",
        "The model explains the efforts better if several joints have zero angles or directions that differ from those in the URDF.",
    ),
    "load-comes-or-goes": Text(
        "Load change during the recording",
        "A tool or payload was probably attached or removed after about {share:.0%} of the recording."
        + _EVIDENCE,
        "Split the recording at this time, and use only a part with constant load.",
        "The model explains the efforts far better if the mass of the last link differs before and after this time.",
        "recordings.md",
    ),
    "cannot-tell": Text(
        "Undecided cause",
        "The data do not decide between several explanations of the efforts. The probability that URDF and column map are correct is {declared:.2g}. The"
        " possible causes are {causes}; the joints or links concerned, in the same order, are {joints}; their probabilities are {probabilities:.2g}; the assumed errors (an"
        " angle in rad, a factor, a delay in s, or a share of the recording) are {sizes:.3g}.",
        "Change neither the URDF nor the column map yet. {motion:words} (joint: {moved}). Expected odds (to 1) between the first two causes after this motion:"
        " {odds:.2g}; if they are near 1, no simple motion separates them. Only a known load (--loaded) distinguishes wrong masses in the URDF from a wrong unit of the"
        " efforts.",
        "A cause is named only if it is 20 times as likely as all other causes together.",
        "motions.md",
    ),
    "doubt-harmless": Text(
        "Doubt without consequence",
        "These causes explain the efforts about as well as the declarations do: {causes} (in this order, of the joints {joints}), with the"
        " probabilities {probabilities:.2g}. They would hardly change the result: the torques that they predict differ by less than the residual.",
    ),
    "factor-absorbed": Text(
        "Common factor",
        "All torques are {factor:.2g} times those of the URDF's masses. Masses that are wrong by such a factor are usual, so that a wrong unit or gain is unlikely, but the"
        " motion cannot exclude it: all estimated masses would be wrong by this factor. A known load (--loaded) shows it.",
    ),
    "one-of": Text(
        "One of several faults",
        "One of these faults is present, but the data do not show which: {causes}. In the same order, they concern {joints} and have the probabilities {probabilities:.2g}."
        + _EVIDENCE,
        "Compare direction, zero, drive gain, mounting and tool of {joint} in the URDF and in the column map with those of the real robot. Correct the entry that differs.",
        "Each of these faults has almost the same effect on the efforts of this motion.",
    ),
    "blocks-unpredicted": Text(
        "Masses that do not predict the recording",
        "Masses that were fitted to one part of the recording leave {free:.0%} of the variance of the efforts in the other parts unexplained (the masses of the"
        " URDF leave {urdf:.0%}). Therefore, none of the checks of the data before the fit is conclusive.",
        "Record a longer motion in which all joints move. Check the time stamps and the delays.",
        "For this test, each quarter of the recording is predicted by masses that were fitted to the other three quarters.",
    ),
    "urdf-masses": Text(
        "Masses of the URDF",
        "The torques are {factor:.3g} times those computed with the masses of the URDF.",
        "Check the masses in the URDF, and the unit and gains of the efforts. To decide between them, record a known load (--loaded).",
        "Either the masses in the URDF are wrong, or the unit of the efforts is wrong; the motion alone does not show which.",
    ),
    "load-lacking": Text(
        "Tool or payload missing in the URDF",
        "According to the torques, '{link}' is {mass:.2g} ± {sd:.1g} kg heavier than in the URDF."
        + _EVIDENCE,
        "Check whether a tool or payload is attached that the URDF does not contain. If it is not added to the URDF, the"
        " identified parameters of the last link include it.",
        "A URDF describes one tool configuration. Tools and payloads of a robot are changed often; this cause is therefore likely a priori.",
    ),
    "load-surplus": Text(
        "Tool or payload missing on the robot",
        "According to the torques, '{link}' carries {mass:.2g} ± {sd:.1g} kg less than in the URDF."
        + _EVIDENCE,
        "If the URDF contains a tool that is not attached, remove it from the URDF. If the controller"
        " subtracts its configured payload, set that payload to zero and record again.",
        "A URDF describes one tool configuration. Tools and payloads of a robot are changed often; this cause is therefore likely a priori.",
    ),
    "no-model": Text(
        "Efforts unrelated to the motion",
        "The efforts of all joints are unrelated to the motion; coloured noise explains them best."
        + _EVIDENCE,
        "Check the columns, the units and the joint names. Plot the efforts beside the motion.",
        "No rigid-body model with friction explains these efforts from this motion.",
        "identify.md",
    ),
    "joint-chance": Text(
        "Efforts unrelated to the motion",
        "The efforts of '{joint}' are unrelated to the motion." + _EVIDENCE,
        "Check the effort column and the sensor of this joint. Record more motion of this joint, or lock it (--lock).",
        "Noise that is correlated in time explains these efforts better than the motion does.",
        "identify.md",
    ),
    "stamps": Text(
        "Time stamps",
        "The time stamps probably advance {factor:.2g} times as fast as they should: with the recorded time stamps, no masses explain both the gravity torques and the inertial torques."
        + _EVIDENCE,
        "Check the time column and its unit, or `rate_hz`.",
        _CLOCK,
        "recordings.md",
    ),
    "joints-unexamined": Text(
        "Joints that were not examined",
        "The signs, gains and zero angles of {joints} could not be checked, because these joints hardly move, or because"
        " their efforts are constant or only noise.",
        "Record a motion of these joints, or lock them (--lock).",
        "While a joint is at rest, its static friction can balance any torque; its efforts therefore do not reveal a wrong sign, gain or zero angle.",
        "motions.md",
    ),
    "masses-missing": Text(
        "Description without masses",
        "No link of the URDF has a mass. Therefore, signs, units, column order and time stamps could not be checked.",
        "Add <inertial> elements with approximate masses to the links in the URDF.",
    ),
    "data-agree": Text(
        "Data and description agree",
        "URDF, signs, units and time stamps are consistent with the efforts. In held-out parts of the recording, the unexplained variance of the torques is"
        " {urdf:.2g%} with the masses of the URDF and {free:.2g%} with estimated masses.",
    ),
    # Single streams.
    "effort-dead": Text(
        "Dead channel",
        "The effort of '{joint}' is exactly {value:.4g} in {share:.0f%} of the samples, one after another, while the joint moves: the channel is dead or frozen.",
        "Repair the channel and record again, or exclude the channel.",
        "The effort of a moving joint varies; a constant value is not a measurement of it.",
        "recordings.md",
    ),
    "position-frozen": Text(
        "Frozen position",
        "The position of '{joint}' is exactly {value:.4g} in every sample, while its effort varies.",
        "If the joint was locked, remove its columns from the column map (a joint without columns is treated as locked)."
        " If it was free to move, repair the position channel and record again.",
        "Even at rest, the readings of an encoder vary by noise. Exactly constant positions are therefore not measurements.",
        "recordings.md",
    ),
    "effort-spikes": Text(
        "Spikes",
        "{count} effort samples of '{joint}' are spikes, for example {value:.4g} at {time:.2f} s; 98 % of the samples lie between {low:.4g} and {high:.4g}.",
        "Remove these samples, or use --method irls, which rejects them.",
        "A few isolated samples lie far outside the interval that contains nearly all samples.",
        "recordings.md",
    ),
    "effort-saturated": Text(
        "Saturated effort",
        "The effort of '{joint}' is at its extreme value {value:.4g} in {share:.0f%} of the samples: the drive or the measurement is saturated.",
        "Record a slower motion.",
        "During saturation, the recorded effort differs from the effort that moved the robot.",
        "recordings.md",
    ),
    "names-twice": Text(
        "Joint names",
        "These joint names occur more than once: {names}.",
        "Correct the joint names in the driver.",
        "Joint names must be unique.",
        "recordings.md",
    ),
    "recording-short": Text(
        "Recording too short",
        "The recording has only {samples} samples over {duration:.1f} s.",
        "Record at least {least:g} s of motion.",
        "",
        "recordings.md",
    ),
    "stamps-backward": Text(
        "Decreasing time stamps",
        "The time stamps decrease at {count} samples.",
        "Stamp all samples with one clock.",
        "",
        "recordings.md",
    ),
    "not-finite-samples": Text(
        "Non-finite numbers",
        "{share:.2g%} of the {what} are NaN or infinite.",
        "Remove these samples.",
        "",
        "recordings.md",
    ),
    "no-motion": Text(
        "Too little motion",
        "No joint moves by more than {least} rad or m.",
        "Record a motion of the robot.",
        "",
        "recordings.md",
    ),
    # Uses of a recording.
    "refused": Text(
        "Refused input",
        "{message}",
        "{remedy}",
        "The command could not use this input.",
        "troubleshooting.md",
    ),
    "efforts-missing": Text(
        "No efforts",
        "No efforts were recorded.",
        "Record torques or motor currents.",
        "",
        "recordings.md",
    ),
    "effort-kind-unknown": Text(
        "Unknown kind of efforts",
        "The kind of the efforts is not declared.",
        "Specify the kind with --effort-kind.",
        "Efforts can be currents, motor torques or link torques. The samples alone do not show which.",
        "recordings.md",
    ),
    "effort-kind-unusable": Text(
        "Gravity-compensated efforts",
        "Efforts from which the gravity torques were subtracted cannot be used for identification.",
        "Record torques or currents from which no gravity torques are subtracted.",
        "",
        "vendors.md",
    ),
    "standstill": Text(
        "Standstill",
        "The robot is at rest for {share:.0f%} of the time.",
        "Record more motion, with shorter pauses.",
        "",
        "recordings.md",
    ),
    "robot-missing": Text(
        "No robot description",
        "Without a robot description, the excitation of the motion cannot be judged.",
        "Specify the robot with --robot.",
        "",
        "recordings.md",
    ),
    "parameters-few": Text(
        "Too little motion",
        "The motion determines only {share:.0f%} of the base parameters with a useful accuracy.",
        "Add a motion that excites the other parameters: `sysid plan arm ROBOT --after BAG`.",
        "",
        "motions.md",
    ),
    "motion-rank": Text(
        "Too little motion",
        "The regressor of the motion has rank {rank} of {full}.",
        "Add a motion that excites the missing parameters: `sysid plan arm ROBOT --after BAG`.",
        "",
        "motions.md",
    ),
    "wrench-missing": Text(
        "No wrench",
        "No wrench was recorded.",
        "Record the topic of the force-torque sensor, or estimate the payload from joint torques (`sysid payload-torques`).",
        "",
        "recordings.md",
    ),
    "wrench-fault": Text("Faulty wrench", "{text}", "{remedy}", "", "payload_identification.md"),
    "wrench-hum": Text(
        "Periodic disturbance of the wrench", "{text}", "", "", "payload_identification.md"
    ),
    "tare-missing": Text(
        "No tare",
        "The recording has no marked tare postures.",
        "Specify the calibration file of an earlier tare with --calibration.",
        "",
        "payload_identification.md",
    ),
    "bias-estimated": Text(
        "Estimated bias",
        "The sensor was not tared. The sensor bias was estimated from the same recording, and subtracted: ({force:.3g}) N, ({torque:.3g}) N m.",
        "For smaller standard deviations, tare the sensor before you grasp the object (`sysid tare`), and specify --calibration.",
        "When the sensor rotates, the weight of the load changes its direction in the sensor frame, whereas the bias remains constant.",
        "payload_identification.md",
    ),
    "payload-rank": Text(
        "Too little motion",
        "The motion excites {rank} of the 10 payload parameters.",
        "Tilt and rotate the sensor about all axes (`sysid plan payload`).",
        "",
        "payload_identification.md",
    ),
    "joints-not-alone": Text(
        "Joints that never move alone",
        "These joints never move alone for {least:g} s or longer: {joints}.",
        "Execute a motion from `sysid plan sequential`.",
        "",
        "sequential.md",
    ),
    "loops-missing": Text(
        "No loops",
        "No file of kinematic loops was specified. Therefore, it was not judged whether the recording suffices to identify a closed chain.",
        "Specify the file of kinematic loops with --loops.",
        "",
        "closed_chains.md",
    ),
    "chain-rank": Text(
        "Too little motion",
        "The regressor of the motion has rank {rank} of {full}.",
        "Move faster and through more postures (`sysid plan loops`).",
        "",
        "closed_chains.md",
    ),
    "efforts-late": Text(
        "Late efforts",
        "The efforts {ms:lag} ± {sd:.1f} ms relative to the positions.",
        "`sysid identify` corrects the delay (--delay auto, the default). If you can, correct the time stamps of the recording instead, which is more accurate.",
        "A delay biases inertia and friction. The torque error grows with speed.",
        "identify.md",
    ),
    "efforts-late-corrected": Text(
        "Late efforts",
        "The efforts {ms:lag} ± {sd:.1f} ms relative to the positions. The fit corrected this difference.",
        "Correct the time stamps if the delay is large, because the correction is approximate.",
        "A delay biases inertia and friction. The torque error grows with speed.",
        "identify.md",
    ),
    "joint-late": Text(
        "Late efforts of one joint",
        "The efforts of '{joint}' {ms:lag} ± {sd:.1f} ms relative to those of the other joints.",
        "Check whether this channel is filtered, averaged, or recorded from another topic. Record it like the efforts of the other joints.",
        "A delay of a single channel arises in the recording, not in the robot. It biases the friction and inertia of this joint.",
        "identify.md",
    ),
    "efforts-beyond-limit": Text(
        "Efforts beyond the limits",
        "During motion, the torques of {joints} reach {peak:.3g} N m ({size:.3g} N m RMS), above their limit"
        " of {limit:.3g} N m in the URDF (prismatic joints: N).",
        "Check the unit of the efforts (mA or A), and the drive gains and URDF limits of these joints. Check that the URDF describes this robot.",
        "A drive cannot exceed its torque limit: the efforts, the gains or the limits in the URDF are wrong, or the URDF is that of another robot.",
        "identify.md",
    ),
    "clocks-unknown": Text(
        "Clocks",
        "The motion is too slow to compare the clocks of wrench and joints.",
        "",
        "",
        "payload_identification.md",
    ),
    "clocks-differ": Text(
        "Clocks",
        "The clocks of wrench and joint states differ: {clock}.",
        "`sysid payload` corrects the difference. If possible, synchronise the clocks of both devices.",
        "",
        "payload_identification.md",
    ),
    # Estimates.
    "estimate-not-finite": Text(
        "Non-finite numbers",
        "Some estimated values or standard deviations are not finite.",
        "Check the recording (`sysid bag check`). With --fix, fix the parameters that the motion does not excite.",
        "The data contain NaN, or they do not determine some of the parameters.",
        "identify.md",
    ),
    "estimate-rank": Text(
        "Too little motion",
        "The regressor of the data has rank {rank} of {full}: the motion does not excite all base parameters.",
        _MORE,
        "The identified model may predict other motions poorly.",
        "motions.md",
    ),
    "estimate-inconsistent": Text(
        "Not physically consistent",
        "The identified parameters of these links are not physically consistent: {bodies}.",
        "Repeat the identification with --method lmi or auto. If you use only base parameters, ignore this warning.",
        "No real body has these parameters. A simulator or controller that uses these parameters may become unstable.",
        "identify.md",
    ),
    "estimate-sound": Text(
        "Sound estimate",
        "The estimate is finite and physically consistent, and the data have full rank.",
    ),
    "springs-unknown": Text(
        "Springs",
        "The estimate contains springs, which the controller does not support: {joints}.",
        "",
        "Without a spring model, the controller would also compensate the weight that springs or counterbalances carry.",
        "nodes.md",
    ),
    "followers": Text(
        "Mimic joints",
        "The URDF declares mimic joints: {joints}. They were treated as independently driven, so that their load is missing at the joints they follow.",
        "Repeat the identification with --loops mimic, or with a file of kinematic loops that declares the couplings.",
        "A mimic joint has no motor and loads the joint it follows. An open-chain model omits this load.",
        "closed_chains.md",
    ),
    "fit-contradicted": Text(
        "Fit contradicts the data",
        "The unexplained variance of the fit is {left:.2g%}, compared with {urdf:.2g%} for the masses of the URDF and"
        " {free:.2g%} for unconstrained masses: constraints, fixed parameters or outliers distort the fit.",
        "Check the residuals for outliers. Omit --fix, or use a weaker prior or another method.",
        "The fitted model explains less of the efforts than the inertial parameters of the URDF do, or than a fit without physical constraints does.",
        "identify.md",
    ),
    "spread-unknown": Text(
        "Prediction of other motions",
        "This method does not support the jackknife test, which checks the torques that are predicted for other motions.",
    ),
    "spread-large": Text(
        "Too little motion",
        "The recordings are too short, or excite too little, to predict other motions. If the fit is repeated six times, each time leaving out"
        " a different sixth of the recordings, the torques predicted for typical motions change by {spread:.2g} times the RMS residual ({relative:.2g%} of the efforts); the change is largest at {worst}.",
        "Record a longer motion, or one with more excitation (`sysid plan`), and validate the model on other motions (--validate).",
        "The identified model may predict other motions poorly.",
        "motions.md",
    ),
    "spread-small": Text(
        "Prediction of other motions",
        "If the fit is repeated six times, each time leaving out a different sixth of the recordings, the torques predicted for typical motions change by"
        " {spread:.2g} times the RMS residual ({relative:.2g%} of the efforts).",
    ),
    "unseen-missing": Text(
        "No held-out recording",
        "No recording was held out for validation.",
        "Record another motion, and specify its recording with --validate.",
    ),
    "nothing-predicted": Text(
        "No prediction",
        "No efforts could be predicted. Therefore, the accuracy of the result is unknown.",
        "Record another motion, and specify its recording with --validate.",
        "A result is judged by comparing predicted and measured efforts.",
    ),
    # Predictions; `which` names the runs.
    "prediction-not-finite": Text(
        "Non-finite numbers",
        "The prediction of {which} is not finite.",
        "Check the recording (`sysid bag check`).",
        "",
        "identify.md",
    ),
    "runs-at-rest": Text(
        "Recordings at rest",
        "The robot is at rest in {which}.",
        "Record a motion. Predictions for a robot at rest are not judged.",
        "",
        "motions.md",
    ),
    "prediction-poor": Text(
        "Large residual",
        "The model does not explain {left:.2g%} of the variance of the efforts in {which}; a model is rejected if this share exceeds {limit:.0f%}.",
        _LEFT_REMEDY,
        _LEFT,
        "identify.md",
    ),
    "prediction-weak": Text(
        "Large residual",
        "The model does not explain {left:.2g%} of the variance of the efforts in {which}.",
        _LEFT_REMEDY,
        _LEFT,
        "identify.md",
    ),
    "prediction-differs": Text(
        "Residual larger than in the fit",
        "The model leaves {left:.2g%} of the variance of the efforts in {which} unexplained, {ratio:.1f} times as much as"
        " in the fitted recordings ({fitted:.2g%}).",
        "Check whether payload, temperature or mounting differ between the recordings. If they do not differ, the model is overfitted.",
        _LEFT,
        "identify.md",
    ),
    "prediction-good": Text(
        "Predictions", "{left:.2g%} of the variance of the efforts in {which} is unexplained."
    ),
    "joint-unexplained": Text(
        "Unexplained joint",
        "In {which}, a constant, the mean effort of the joint, predicts the efforts of {joints} better than the model does (R² of the model: {r2:.2f}).",
        "Check signs, gains and column order of these joints. If they are correct, the friction differs between the"
        " recordings: record more motion of these joints, both with a cold and with a warm robot.",
        _LEFT,
        "identify.md",
    ),
    "export-loses": Text(
        "Exported file with missing terms",
        "With {file}, other software predicts the efforts with an error of {exported:.2f} %, {rise:.1f} times that of the"
        " identified model ({inside:.2f} %), because the file format lacks friction and drive terms (with the increase of the error due to each): {lost}.",
        "Export the model with `sysid export --to mjcf` or `--to c`, which support more terms.",
        "A URDF supports two friction terms, and no springs, offsets or coupled drives.",
        "identify.md",
    ),
    "export-differs": Text(
        "Exported file with a different interpretation",
        "With {file}, other software predicts the efforts with an error of {exported:.2f} %, {rise:.1f} times that of the identified model ({inside:.2f} %)."
        " Terms that the file format lacks explain only a part of this increase; a factor of {unexplained:.2f} remains unexplained.",
        "Export the model with `sysid export --to c`, which reproduces the identified model, and report the problem to the developers.",
        "The other software models friction near standstill differently, or the exporter wrote a wrong value.",
        "identify.md",
    ),
    # Parameters for a controller.
    "gravity-torque-differs": Text(
        "Gravity torques of a controller",
        "The identified gravity torque of {joint} differs from that of the nominal model by up to {difference:.3g} N m;"
        " the largest nominal gravity torque of this joint is {nominal:.3g} N m.",
        "Check the units and signs of the data, and the motion. Then repeat the identification.",
        "With these parameters, gravity compensation by a controller would lift the arm or let it fall.",
        "nodes.md",
    ),
    "gravity-torques-small": Text(
        "Gravity torques of a controller",
        "The identified gravity torques are only {share:.2g} times those of the nominal model.",
        "Check the units and signs of the data, and the motion. Then repeat the identification.",
        "With these parameters, gravity compensation by a controller would let the arm fall.",
        "nodes.md",
    ),
    "friction-exceeds-limit": Text(
        "Friction of a controller",
        "The identified Coulomb friction and torque offset together exceed the torque limit of {joints}.",
        "Check the units and the drive gains. Then repeat the identification.",
        "",
        "nodes.md",
    ),
    "gravity-torques-near": Text(
        "Gravity torques of a controller",
        "The identified gravity torques are within a factor of {factor:g} of those of the nominal model.",
    ),
    # Payloads.
    "mass-unknown": Text(
        "Uncertain mass",
        "The mass is too uncertain: the estimate is {mass:.3g} ± {sd:.2g} kg.",
        "Tare before you grasp the object. Tilt the sensor through more postures (`sysid plan payload`).",
        "The estimated mass is negative, or its standard deviation exceeds 30 % of the mass.",
        "payload_identification.md",
    ),
    "wrench-ambiguous": Text(
        "Ambiguous load",
        "The wrench does not determine the mass: several masses explain it about equally well: {masses} kg (0: no load).",
        "At least one of these actions is needed: (1) declare the sensor axes with --wrench-axes, --wrench-sign and"
        " --rotation; (2) tare before you grasp the object; (3) tilt the sensor through more postures.",
        "The compared hypotheses are: wrong sign, axes or rotation of the sensor; orientations of the base in the sensor frame instead of the sensor in the base frame; a sensor that was zeroed while it carried a part of"
        " the load; and a load that the controller compensates. They are compared by their marginal likelihood. The mass is ambiguous if the probability of the"
        " hypotheses whose mass differs by more than 30 % exceeds 1/21 (odds of 20 to 1). The standard deviation includes the spread of the mass between these hypotheses.",
        "payload_identification.md",
    ),
    "wrench-misdescribed": Text(
        "Wrong description of sensor or robot",
        "The wrench contradicts the description of the sensor or of the robot. {errors}",
        "Correct the description. Check the sensor frame. Check that no other force acts on the load.",
        "The wrench is explained best by one or more of these errors: a rotated sensor, orientations of the base in the sensor frame instead of the"
        " sensor in the base frame, a wrong direction of gravity. A single error leads to the verdict warn. Several errors, or a direction of gravity that was"
        " estimated from a motion, can be confused with other forces on the load: the verdict is then fail if the correction changes the mass by more than 30 %.",
        "payload_identification.md",
    ),
    "quaternion-order": Text(
        "Order of the quaternions",
        "The wrench agrees better with the description of the sensor if the quaternions are read in the order {order}.",
        "Specify the order of the columns: --rotation {order}.",
        "If quaternions are read in the wrong order, all orientations are inverted and rotated. The estimated mass may then be correct, but the centre of mass is wrong.",
        "payload_identification.md",
    ),
    "no-body": Text(
        "Not physically consistent",
        "No real body can have the estimated inertial parameters.",
        "Check for contact with the surroundings, for cables that pull, and for a wrong sensor frame. Then weigh again.",
        "",
        "payload_identification.md",
    ),
    "part-held": Text(
        "Known load", "The load is '{name}' with a probability of {probability:.3f}."
    ),
    "part-other": Text(
        "Unexpected load",
        "The load is '{name}' (probability {probability:.3f}) instead of '{expected}'.",
        "Release the load: the gripper holds a wrong part, two parts, or none.",
        "The odds that the load is not the expected one are above 20 to 1. The load may be another known part, an unknown one, or none.",
        "payload_identification.md",
    ),
    "part-open": Text(
        "Undecided load",
        "The load could not be identified with certainty; the most likely one is '{likeliest}' with a probability of {probability:.2f}.",
        "Measure for longer, tare again, or tilt the sensor in other directions, so that the candidate loads can be distinguished by their centres of mass.",
        "None of the candidate loads is 20 times as likely as all others together.",
        "payload_identification.md",
    ),
    "load-changed": Text(
        "Load change",
        "The load changed during the motion ({kind}, {mass:+.2g} kg). Samples before the change are not used.",
        "Weigh again, and hold the object firmly during the whole motion.",
        "During the motion, an object was picked up, was put down, or slipped.",
        "payload_identification.md",
    ),
    "sensor-remark": Text(
        "Remark on the sensor",
        "{text}",
        "",
        "While the arm was at rest during the tare, the readings of the sensor varied slowly by more than their noise. The remark lists possible causes and remedies.",
        "payload_identification.md",
    ),
    "shape-differs": Text(
        "Unexplained wrench",
        "The given shape or its pose contradicts the measurements (the probability that shape or pose is wrong is {probability:.1f%}).",
        "Check the size, the unit and the pose of the shape in the sensor frame. The stated standard deviations allow for a different shape.",
        "The rigid motion of one body of this shape does not explain the forces and torques.",
        "payload_identification.md",
    ),
    "bias-wanders": Text(
        "Unexplained wrench",
        "The sensor bias drifts, or differs from the tared bias, by more than is usual (the probability of this is {probability:.1f%}).",
        "Tare again. Check for electrical interference or vibration with a frequency near a multiple of the sampling rate,"
        " for cables that pull, and for contact. The stated standard deviations allow for this bias.",
        "The measured forces and torques drift. Neither the load nor the motion explains this drift.",
        "payload_identification.md",
    ),
    "wrench-misfit": Text(
        "Unexplained wrench",
        "The residual of the wrench is {factor:.1f} times the residual that sensor errors can explain. The stated"
        " standard deviations were multiplied by this factor.",
        "Check the shape and its pose, the direction of gravity, and the mounting and frame of the sensor. Check for"
        " contact, for electrical interference or vibration with a frequency near a multiple of the sampling rate, and for a load that moves in the gripper.",
        "The model of a rigid body leaves a larger residual than the noise of the sensor explains.",
        "payload_identification.md",
    ),
    "wrench-coloured": Text(
        "Unexplained wrench",
        "The residual of the wrench is {force:.2g} N and {torque:.2g} N m, and it is correlated in time. The stated"
        " standard deviations allow for this correlation.",
        "If you need a higher accuracy, check for elasticity, for electrical interference or vibration with a frequency near a multiple of the sampling rate, for cables"
        " that pull, for contact, and for a load that moves in the gripper.",
        "The residual of the wrench is larger than the sensor noise, and it is correlated in time.",
        "payload_identification.md",
    ),
    "simpler-sensor": Text(
        "Simpler sensor model",
        "A sensor model with bias alone predicts the wrench better than one that also has gains, axes, drift and delay. The simpler model was used.",
        "If you need estimates of the gains, axes and delay of the sensor, rotate the sensor about more axes, or record for longer.",
        "The two models are compared by cross-validation over blocks of the recording.",
        "payload_identification.md",
    ),
    "wrench-spikes": Text(
        "Spikes",
        "{count} of {samples} samples were spikes and were rejected.",
        "",
        "",
        "payload_identification.md",
    ),
    "wrench-explained": Text(
        "Explained wrench", "The residual of the wrench is within the errors of the sensor."
    ),
    "prior-dominates": Text(
        "Parameters from the prior",
        "{count} of the ten payload parameters are determined mainly by the prior.",
    ),
    "force-unit-assumed": Text(
        "Assumed unit of force",
        "No column name states a unit, so N and N m were assumed; the result is correct only if this is true. If the forces"
        " are in kgf, the true mass is 9.8 times the stated one; if they are in lbf, 4.4 times.",
        "Specify the units with --wrench-units, such as 'N, N m' or 'kgf, kgf cm', or write them into the column names: 'fx [N]'.",
        "No motion reveals the unit of force. The column names of ROS messages and of RTDE imply N and N m.",
        "payload_identification.md",
    ),
    "load-far": Text(
        "Distant centre of mass",
        "If the wrench is in N and N m, the centre of mass of the load is {distance:.2g} m from the sensor.",
        "Check the units of force and torque (--wrench-units).",
        "The ratio of torques to forces implies a centre of mass more than 0.5 m from the sensor. Usually, the torques"
        " are in N mm or N cm, or the forces are in kgf or daN.",
        "payload_identification.md",
    ),
    "force-unit-unseen": Text(
        "Unit of force",
        "The unit of force could not be checked: a wrong unit (kgf or lbf instead of N) scales the mass and the first moments of mass equally, and no motion reveals it.",
        "Weigh an object of known mass once.",
    ),
    "masses-disagree": Text(
        "Masses from torques and from the sensor",
        "According to the joint torques, '{link}' carries {mass:.2g} ± {sd:.1g} kg, {ratio:.2g} times the mass measured by the force-torque sensor.",
        "Check whether the wrench is in kgf (1 kgf = 9.81 N), lbf (4.45 N) or gram-force (0.00981 N) instead of N. Check whether a"
        " tool that was tared is missing in the URDF.",
        "Joint torques and force-torque sensor disagree about the load by more than errors of the URDF can explain.",
        "payload_identification.md",
    ),
    "load-too-heavy": Text(
        "Load above the capacity of the arm",
        "The arm cannot have carried {mass:.3g} kg: to hold it at rest, '{joint}' would need {needed:.0f} N m, but its limit is {limit:.0f} N m.",
        "Check the unit of the forces (kgf, lbf, gram-force) or of the efforts (mA). Check the gains.",
        "The gravity torque of the load exceeds twice the torque limit in the URDF.",
        "payload_identification.md",
    ),
    "load-beyond-rating": Text(
        "Rated load",
        "The mass of the load is {mass:.3g} kg; the load diagram permits {permitted:.3g} kg at {distance:.3f} m from the flange.",
        "Use a lighter load or tool, or mount it so that the centre of mass is nearer to the flange.",
        "The verdict is fail if the mass exceeds the one that the load diagram of the robot permits, and warn if the mass is less than two standard deviations below the permitted one.",
        "payload_identification.md",
    ),
    "load-within-rating": Text(
        "Rated load",
        "The mass of the load is {mass:.3g} kg; the load diagram permits {permitted:.3g} kg at {distance:.3f} m from the flange.",
    ),
    "load-negative": Text(
        "Loaded and unloaded recordings",
        "In the loaded recordings, the arm carries {mass:.2f} ± {sd:.2f} kg less than in the unloaded recordings.",
        "Check whether the loaded and the unloaded recordings have been interchanged. Check the signs of the efforts, and the mounting (--gravity).",
        "The estimated payload, the mass in the loaded minus the mass in the unloaded recordings, is negative.",
        "payload_identification.md",
    ),
    "load-nothing": Text(
        "Loaded and unloaded recordings",
        "In the loaded recordings, the arm carries no more than in the unloaded recordings ({mass:+.2f} ± {sd:.2f} kg).",
        "Check that two different recordings are specified. If the controller subtracts its configured payload, set that payload to zero and make both recordings again.",
        "The masses in the loaded and in the unloaded recordings differ by less than the uncertainty.",
        "payload_identification.md",
    ),
    "true-mass-missed": Text(
        "Known mass",
        "The estimated mass ({mass:.3f} ± {sd:.3f} kg) differs from the true {truth:g} kg by {off:+.1%}, {deviations:.1f} standard deviations.",
        "Calibrate the drive gains with a known load (`sysid identify --loaded`), and weigh again.",
        "An error common to all drive gains changes the mass in the same proportion.",
        "payload_identification.md",
    ),
    "servo-sign": Text(
        "Servo opposite to its command",
        "{joint} moves opposite to its command (correlation {value:.2f}).",
        "Negate the command or the position of this joint.",
        "The velocities of command and position are negatively correlated.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-order": Text(
        "Order of the servos' columns",
        "{joint} follows the command of {other} (correlation {value:.2f}) instead of its own.",
        "Arrange commands and positions in the same order of joints (`--joints`).",
        "The position of one joint follows the command of another.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-degrees": Text(
        "Degrees instead of radians",
        "The angle of {joint} reaches {value:.1f} rad from its zero; a joint with mechanical stops does not turn that far.",
        "If the angles are in degrees, add the option `--degrees` or, with a column map, write `unit: deg` in it.",
        "A joint with mechanical stops cannot turn two full turns away from its zero.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-dead": Text(
        "Servo at rest",
        "{joint} does not move, although its command varies by {value:.3f} rad.",
        "Check that the servo is on, that its torque is enabled, and that the joint is free to move.",
        "A servo that is off, dead or blocked moves by no more than a few encoder increments.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-unmoved": Text(
        "Servo without commands",
        "{joint} is never commanded to move. Therefore, its servo cannot be identified.",
        "Record a motion of this joint.",
        "A command that varies by less than the stiction band contains no information about the servo.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-zero": Text(
        "Zero offset of a servo",
        "Without load, {joint} rests {value:.3f} rad away from its command.",
        "Correct the zero of the command or that of the position.",
        "Static friction and gravity do not explain an offset of this size.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-gravity": Text(
        "Servo deflection opposite to gravity",
        "The estimated compliance of {joint} is negative ({value:.1f} standard deviations), as if the joint deflected upwards, opposite to gravity.",
        "Check whether the URDF is that of another robot, whether the base is mounted differently, and whether command and position have a wrong zero or sign.",
        "The compliance that explains the motion best is negative. Real servos yield to a load.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-slack": Text(
        "Implausibly compliant servo",
        "The estimated compliance implies that {joint} sags by {value:.2f} rad under gravity, more than real servos do.",
        "Check the zero offsets of command and position, and the torque limit. Check that the URDF describes this robot.",
        "An offset between command and position has the same effect as a compliant servo under load.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-replay": Text(
        "Poor servo prediction",
        "On held-out parts of the recording, the prediction error of {joint} is {value:.2f} times that of the model 'position = command'.",
        "Check that commands and positions have the same time base. Check that nothing touched the robot.",
        "The command itself predicts the positions better than the identified servo model.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-direction": Text(
        "Sign of a servo's angles",
        "The signs of both command and position of {joint} are reversed. The deflections under gravity show this (odds {value:.3g} : 1).",
        "Negate both command and position of this joint, or its axis in the URDF.",
        "If both signs are reversed, only the deflections under gravity reveal the error: the simulated motion is otherwise the same.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-offset": Text(
        "Zero offset of a servo's angles",
        "The angles of {joint} have a wrong zero: the deflections under gravity show that {value:.2f} rad must be added to both command and position.",
        "Calibrate the zero of this joint to that of the URDF.",
        "A common offset of command and position changes only the gravity torque in the simulated motion.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-exchanged": Text(
        "Exchanged columns",
        "The columns of {joint} and {other} are interchanged, in both commands and positions. The deflections under gravity show this (odds {value:.3g} : 1).",
        "List the joint names in the order of the columns (`--joints`).",
        "If commands and positions have the same wrong order of joints, only the deflections under gravity reveal it: the"
        " simulated motion is otherwise the same.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-mount": Text(
        "Mounting of a robot with servos",
        "The base of the robot is {other} relative to its mounting in the URDF. The deflections under gravity show this (odds {value:.3g} : 1).",
        "Check that the URDF describes this robot. Check that the base is mounted as in the URDF.",
        "Only the deflections under gravity reveal the mounting: the simulated motion is otherwise the same.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-masses": Text(
        "Masses that do not explain the servos' deflections",
        "On held-out parts of the recording, other masses of the links would reduce the prediction errors to {value:.0%} of those with the masses in the URDF.",
        "Check that the URDF describes this robot with its tool, and that the masses are correct.",
        "The ratios of the link masses in the URDF are wrong. (A common factor of all masses cannot be seen: it would change only the estimated stiffness of the servos.) Possible causes are the"
        " URDF of another robot, a wrong mass of a link, or a load that the URDF lacks.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-names": Text(
        "Names of the servos' columns",
        "The column names {other} differ from the joint names in the URDF. Therefore, the columns were assigned to the joints by order: the first column to the first joint of the URDF, and so on.",
        "Check that the URDF describes this robot. Check that the columns are in the order of the joints in the URDF, or name the columns with --joints.",
        "Without measured torques, the URDF of another robot can explain the motion equally well, with another stiffness of the servos.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-conventions": Text(
        "Consistent servo recordings",
        "Order, signs, units and zeros of the commands and positions are consistent with the motion, and with gravity where it loads a joint.",
    ),
    "servo-untold": Text(
        "Unchecked conventions",
        "The gravity torque on {joint} is too small to check the following: {other}.",
        "Move the robot to a known posture, and check that the URDF shows the same posture at the recorded angles.",
        "Without a torque sensor, only gravity reveals a wrong direction, zero or order of joints. A joint with a vertical axis has no gravity torque.",
        "tutorials/lerobot_arm.md",
    ),
}
