# SPDX-License-Identifier: Apache-2.0
"""Table of the texts of all reason codes: sentence, remedy and meaning.

Fields in braces are names of a reason's data. A format that ends in `%` shows a share in per cent;
lists are joined by commas.
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


class _Words(Formatter):
    """Formatter for the data of reasons."""

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(x, format_spec) for x in value)
        if value is None:
            return "unknown"
        if format_spec.endswith("%") and isinstance(value, int | float):
            spec = format_spec[:-1]
            return f"{format(100.0 * value, spec if spec[-1:].isalpha() else spec + 'f')} %"
        return format(value, format_spec)


def sentence(template: str, data: Mapping[str, object]) -> str:
    """Return a sentence from a template and its data."""
    return _Words().vformat(template, (), data)


_EVIDENCE = (
    " Evidence: under this hypothesis, the unexplained variance of the torques is {urdf_after:.2g%}"
    " instead of {urdf_before:.2g%} with the masses of the URDF, and {free_after:.2g%} instead of"
    " {free_before:.2g%} with estimated masses."
)
_SIGN = "With the opposite sign, the model explains the efforts far better."
_ORDER = "The motion or effort of one joint agrees better with the column of another joint."
_ORDER_REMEDY = "Check the order of `joints` and `columns` in the column map; columns count from 0."
_SIZE = "The efforts vary with the motion as expected, but have the wrong scale, because of a gain, a unit, or another robot."
_CLOCK = (
    "Inertial torques grow with the square of the speed and gravity torques do not: their ratio shows"
    " an error of the time scale."
)
_LEFT = "A large part of the efforts is unexplained. The spectrum in the report shows the frequencies of the residual."
_LEFT_REMEDY = (
    "For residuals at low frequency check friction terms (--friction auto), springs and temperature;"
    " for residuals at high frequency check the delay (--delay auto) and noise."
)
_MORE = (
    "Plan the missing excitation with `sysid plan arm ROBOT --after estimate.yaml`, for a closed chain with"
    " `sysid plan loops`, and record it."
)

TEXTS: Mapping[str, Text] = {
    # What is wrong with data or description, from competing explanations.
    "effort-signs": Text(
        "Signs of all efforts",
        "The efforts of all joints have the opposite sign." + _EVIDENCE,
        "Negate the drive gains in the column map, or the efforts.",
        _SIGN,
    ),
    "effort-sign": Text(
        "Sign of an effort",
        "The effort of '{joint}' has the opposite sign." + _EVIDENCE,
        "Negate the gain of '{joint}' in the column map.",
        _SIGN,
    ),
    "position-sign": Text(
        "Sign of a position",
        "The position of '{joint}' has the opposite sign to its axis in the URDF." + _EVIDENCE,
        "Negate the axis of '{joint}' in the URDF, or its position and velocity columns.",
        _SIGN,
    ),
    "joint-sign": Text(
        "Sign of a joint",
        "Position and effort of '{joint}' have the opposite sign to its axis in the URDF."
        + _EVIDENCE,
        "Negate the axis of '{joint}' in the URDF.",
        _SIGN,
    ),
    "effort-order": Text(
        "Order of efforts",
        "The effort columns of {joints} contain the efforts of {hold}, in this order." + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "position-order": Text(
        "Order of positions",
        "The position columns of {joints} contain the positions of {hold}, in this order."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "joint-order": Text(
        "Order of joints",
        "The columns of {joints} contain the positions and efforts of {hold}, in this order."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "angle-unit": Text(
        "Unit of angles",
        "The positions are in {unit}, not as declared." + _EVIDENCE,
        "Declare `position: {{unit: {short}}}` and `velocity: {{unit: {short}/s}}`.",
        "Positions and velocities agree with the efforts only in another unit than the declared one.",
        "files.md",
    ),
    "zero-angle": Text(
        "Zero angle",
        "The zero position of '{joint}' differs from the URDF: add {degrees:+.0f}° to its positions."
        + _EVIDENCE,
        "Either add {radians:+.4f} rad to the positions of '{joint}', or rotate its origin in the URDF.",
        "The gravity torques occur at other joint angles than recorded, as with an encoder offset.",
    ),
    "mounting": Text(
        "Mounting",
        "The base is not mounted as in the URDF: gravity in the base frame is ({gravity:.3f}) m/s²."
        + _EVIDENCE,
        "Give --gravity {written} or --mount {mount}, or set `mount:` in the column map.",
        "The gravity torques belong to another direction of gravity in the base frame.",
    ),
    "gravity-subtracted": Text(
        "Efforts without weight",
        "Gravity has been subtracted from the efforts." + _EVIDENCE,
        "Record torques or currents before gravity compensation.",
        "Some drivers subtract their own gravity model before they publish efforts.",
        "vendors.md",
    ),
    "gain": Text(
        "Gain of a joint",
        "The torque of '{joint}' is about {factor:.2g} times the torque expected from the motion and"
        " from the torques of the other joints." + _EVIDENCE,
        "Check the gain of '{joint}' and the unit of its effort.",
        _SIZE,
        "identify.md",
    ),
    "effort-unit": Text(
        "Unit of efforts",
        "The torques are {factor:.3g} times those computed with the masses of the URDF. Perhaps the efforts"
        " are in {unit}, but were declared as N m or A." + _EVIDENCE,
        "Declare kind, unit and gains of the efforts.",
        _SIZE,
        "identify.md",
    ),
    "effort-scale": Text(
        "Gains of all joints",
        "The torques are {factor:.3g} times those computed with the masses of the URDF."
        + _EVIDENCE,
        "Check the gains (`drives: gain`), the kind of the efforts (currents or torques), and that the"
        " URDF belongs to this variant of the robot. Unknown gains can be estimated from a run with a"
        " known load (--loaded).",
        _SIZE,
        "identify.md",
    ),
    "other-robot": Text(
        "Another robot",
        "The torques depend on the motion, but this URDF cannot explain them with any masses, and no"
        " single error of the data explains the difference." + _EVIDENCE,
        "Give the URDF that belongs to the recording; check the lengths, axes, zeros and order of its"
        " joints.",
        "An arm of which several joints have other zeros or directions than in the URDF explains the efforts"
        " better.",
    ),
    "load-comes-or-goes": Text(
        "Load change during the recording",
        "A tool or payload was probably attached or removed after about {share:.0%} of the recording."
        + _EVIDENCE,
        "Split the recording at this time, and identify from a part with constant load.",
        "Different masses of the last link before and after this time explain the efforts far better.",
        "recordings.md",
    ),
    "cannot-tell": Text(
        "Undecided cause",
        "The data do not decide whether the declared model is correct (probability {declared:.2g}) or"
        " which of these candidate causes explains them: {causes} (in the same order: joints {joints}; sizes {sizes:.3g};"
        " probabilities {probabilities:.2g}).",
        "Do not change the declarations yet. Record a motion that separates the causes: slow motion through"
        " distant postures for zeros, mounting, tools and gains; fast motion of all joints for time stamps"
        " and delays. No motion separates wrong masses in the URDF from a wrong unit of the efforts: weigh a"
        " known load (--loaded).",
        "A cause is decided if it is 20 times as likely as all others together and if it predicts parts of"
        " the recording that were not fitted.",
        "motions.md",
    ),
    "blocks-unpredicted": Text(
        "Masses that do not predict the recording",
        "Masses that were fitted to one part of the recording leave {free:.0%} of the variance of the efforts"
        " in the other parts unexplained (the masses of the URDF: {urdf:.0%}). Therefore, no check before the"
        " fit is conclusive.",
        "Record a longer motion in which all joints move, and check time stamps and delays.",
        "For this test, each quarter of the recording is predicted by masses fitted to the other three.",
    ),
    "urdf-masses": Text(
        "Masses of the URDF",
        "The torques are {factor:.3g} times those computed with the masses of the URDF.",
        "Check the masses in the URDF and the unit and gains of the efforts: weigh a known load (--loaded).",
        "Torques that contradict the masses of the URDF may also be in another unit; the motion alone does not show whether the masses or the unit are wrong.",
    ),
    "load-lacking": Text(
        "Tool or payload missing in the URDF",
        "According to the torques, '{link}' carries {mass:.2g} ± {sd:.1g} kg more than in the URDF."
        + _EVIDENCE,
        "Check for an attached tool or payload that the URDF does not contain. If the URDF stays as it is, the tool counts as part of the last link.",
        "Hands, tools and payloads are exchanged; the URDF describes one configuration.",
    ),
    "load-surplus": Text(
        "Tool or payload missing on the robot",
        "According to the torques, '{link}' carries {mass:.2g} ± {sd:.1g} kg less than in the URDF."
        + _EVIDENCE,
        "If the URDF contains a tool that is not attached, remove it from the URDF. If the controller"
        " subtracts its configured payload, set that payload to zero and record again.",
        "Hands, tools and payloads are exchanged; the URDF describes one configuration.",
    ),
    "no-model": Text(
        "Efforts unrelated to the motion",
        "The efforts of all joints are unrelated to the motion; coloured noise explains them best."
        + _EVIDENCE,
        "Check columns, units and joint names, and plot efforts and motion together.",
        "No rigid-body model with friction explains these efforts from this motion.",
        "identify.md",
    ),
    "joint-chance": Text(
        "Efforts unrelated to the motion",
        "The efforts of '{joint}' are unrelated to the motion." + _EVIDENCE,
        "Check the column and the sensor of this joint, record more of its motion, or lock it.",
        "Noise that is correlated in time explains these efforts better than the motion does.",
        "identify.md",
    ),
    "stamps": Text(
        "Time stamps",
        "The time stamps probably advance {factor:.2g} times too fast: no masses explain both the gravity"
        " torques and the inertial torques." + _EVIDENCE,
        "Check the time column and its unit, or `rate_hz`.",
        _CLOCK,
        "files.md",
    ),
    "joints-unexamined": Text(
        "Joints that were not examined",
        "Signs, gains and zero angles of {joints} were not compared with the efforts: these joints hardly"
        " move, or their efforts are constant or noise.",
        "Record a motion of these joints, or lock them (--lock).",
        "While a joint is at rest, its static friction can balance any torque, so that its efforts do not reveal"
        " a wrong sign, gain or zero angle.",
        "motions.md",
    ),
    "masses-missing": Text(
        "Description without masses",
        "No link of the URDF has a mass: signs, units, order and time stamps could not be compared with"
        " the efforts.",
        "Give the links rough <inertial> elements.",
    ),
    "data-agree": Text(
        "Data and description agree",
        "URDF, signs, units and time stamps agree with the efforts. On held-out blocks, the unexplained"
        " variance of the torques is {urdf:.2g%} with the masses of the URDF and {free:.2g%} with"
        " estimated masses.",
    ),
    # Single streams.
    "effort-dead": Text(
        "Dead channel",
        "The effort of '{joint}' is constant at {value:.4g} while the joint moves: the channel is dead.",
        "Record again, or exclude the channel.",
        "The measured effort of a moving joint varies with the motion; a constant value is no measurement.",
        "recordings.md",
    ),
    "position-frozen": Text(
        "Frozen position",
        "The position of '{joint}' is exactly {value:.4g} in every sample, while its effort varies.",
        "If the joint is locked, omit its columns (a joint without columns counts as locked). Otherwise"
        " repair the channel and record again.",
        "The encoder of a joint at rest shows noise; exactly constant positions are not measurements.",
        "recordings.md",
    ),
    "effort-spikes": Text(
        "Spikes",
        "{count} effort samples of '{joint}' are spikes, for example {value:.4g} at {time:.2f} s; 98 % of"
        " the samples lie between {low:.4g} and {high:.4g}.",
        "Remove these samples, or use --method irls, which rejects them.",
        "Single samples lie far outside the range of all others.",
        "recordings.md",
    ),
    "effort-saturated": Text(
        "Saturated effort",
        "The effort of '{joint}' is at its extreme value {value:.4g} in {share:.0f%} of the samples: the"
        " drive or the measurement is saturated.",
        "Move more slowly.",
        "A saturated reading differs from the effort that moved the robot.",
        "recordings.md",
    ),
    "names-twice": Text(
        "Joint names",
        "These joint names occur more than once: {names}.",
        "Correct the names in the driver.",
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
        "Give --effort-kind.",
        "Efforts can be currents, motor torques or link torques. The samples alone do not show which.",
        "recordings.md",
    ),
    "effort-kind-unusable": Text(
        "Efforts without weight",
        "Gravity-compensated efforts cannot be used.",
        "Record torques or motor currents.",
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
        "Give --robot.",
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
        "Record the topic of the sensor, or weigh by joint torques (`sysid payload-torques`).",
        "",
        "recordings.md",
    ),
    "wrench-fault": Text(
        "Readings of the wrench", "{text}", "{remedy}", "", "payload_identification.md"
    ),
    "wrench-hum": Text("Hum in the wrench", "{text}", "", "", "payload_identification.md"),
    "marks-missing": Text(
        "No marks",
        "The recording has no marks of a motion ({segments}, each with :start and :end).",
        "Execute a motion from `sysid plan payload`, or record the marks yourself.",
        "",
        "payload_identification.md",
    ),
    "tare-missing": Text(
        "No tare",
        "The recording has no marked tare postures.",
        "Give the calibration of an earlier tare (--calibration).",
        "",
        "payload_identification.md",
    ),
    "payload-rank": Text(
        "Too little motion",
        "The motion excites {rank} of the 10 payload parameters.",
        "Tilt and rotate the sensor about all axes.",
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
        "Without the loops file, it was not judged whether the recording suffices for a closed chain.",
        "Give --loops FILE.",
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
        "The efforts are delayed by {ms:.1f} ± {sd:.1f} ms against the positions.",
        "`sysid identify` corrects the delay (--delay auto, the default). Correct the time stamps if possible, because this is more accurate.",
        "A delay biases inertia and friction. The torque error grows with speed.",
        "identify.md",
    ),
    "efforts-late-corrected": Text(
        "Late efforts",
        "The efforts were delayed by {ms:.1f} ± {sd:.1f} ms against the positions; this was corrected.",
        "Correct the time stamps if the delay is large, because the correction is approximate.",
        "A delay biases inertia and friction; torque errors grow with speed.",
        "identify.md",
    ),
    "joint-late": Text(
        "Late efforts of one joint",
        "The efforts of '{joint}' are delayed by {ms:.1f} ± {sd:.1f} ms against those of the other joints.",
        "Check whether this channel is filtered, averaged or from another topic; record it like the others.",
        "A delay of a single channel arises in the recording, not in the robot. The delay biases friction and inertia of this joint.",
        "identify.md",
    ),
    "efforts-beyond-limit": Text(
        "Efforts beyond the limits",
        "During motion, the torques of {joints} reach {peak:.3g} N m ({size:.3g} N m RMS), above their limit"
        " of {limit:.3g} N m in the URDF (prismatic joints: N).",
        "Check the effort unit (mA or A) and the drive gain of these joints, the limit in the URDF, and that the"
        " URDF belongs to this robot.",
        "A drive cannot exceed its torque limit: the efforts, the gains or the limits in the URDF are wrong, or the"
        " URDF is that of another robot.",
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
        "`sysid payload` corrects the difference. Synchronise the clocks of both devices if possible.",
        "",
        "payload_identification.md",
    ),
    # Estimates.
    "estimate-not-finite": Text(
        "Non-finite numbers",
        "Some estimated values or standard deviations are not finite.",
        "Check the recording (`sysid bag check`), and fix parameters that are not excited.",
        "The data contain NaN, or they do not determine some of the parameters.",
        "identify.md",
    ),
    "estimate-rank": Text(
        "Too little motion",
        "The regressor of the data has rank {rank} of {full}: the motion does not excite all base"
        " parameters.",
        _MORE,
        "The identified model may predict other motions poorly.",
        "motions.md",
    ),
    "estimate-inconsistent": Text(
        "Not physically consistent",
        "The identified parameters of these links are not physically consistent: {bodies}.",
        "Repeat with --method lmi or auto. If you use only base parameters, ignore this warning.",
        "No real body has these parameters; a simulator or controller may become unstable.",
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
        "The controller would also compensate the weight that springs or counterbalances carry.",
        "nodes.md",
    ),
    "followers": Text(
        "Mimic joints",
        "The URDF declares mimic joints: {joints}. They were treated as independently driven, so that their"
        " load is missing at the joints they follow.",
        "Identify with --loops mimic, or with a file of couplings.",
        "A mimic joint has no motor and loads the joint it follows. An open-chain model omits this load.",
        "closed_chains.md",
    ),
    "fit-contradicted": Text(
        "Fit contradicts the data",
        "The unexplained variance of the fit is {left:.2g%}, compared with {urdf:.2g%} for the masses of the"
        " URDF and {free:.2g%} for unconstrained masses: constraints, fixed parameters or outliers"
        " contradict the data.",
        "Omit --fix, use a weaker prior or another method, and check the residuals for outliers.",
        "The fitted model explains less of the efforts than the masses of the URDF, or unconstrained masses, do.",
        "identify.md",
    ),
    "spread-unknown": Text(
        "Prediction of other motions",
        "This method does not support the jackknife test of predictions for other motions.",
    ),
    "spread-large": Text(
        "Too little motion",
        "The recordings are too short, or excite too little, to predict other motions. If one sixth of the recordings is left out of the fit, predictions of typical motion change by {spread:.2g} times the residual"
        " ({relative:.2g%} of the efforts), most at {worst}.",
        "Record longer or more exciting motion (`sysid plan`), and validate on other motions (--validate).",
        "The identified model may predict other motions poorly.",
        "motions.md",
    ),
    "spread-small": Text(
        "Prediction of other motions",
        "If one sixth of the recordings is left out of the fit, predictions of typical motion change by"
        " {spread:.2g} times the residual ({relative:.2g%} of the efforts).",
    ),
    "unseen-missing": Text(
        "No held-out recording",
        "No held-out run was given for validation.",
        "Record another motion and give it with --validate.",
    ),
    "nothing-predicted": Text(
        "No prediction",
        "The efforts of no run were predicted. The accuracy of the result is unknown.",
        "Record another motion and give it with --validate.",
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
        "Runs at rest",
        "The robot is at rest in {which}.",
        "Record a motion; predictions at rest are not judged.",
        "",
        "motions.md",
    ),
    "prediction-poor": Text(
        "Large residual",
        "The model does not explain {left:.2g%} of the variance of the efforts in {which}; a model is rejected above {limit:.0f%}.",
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
        "The model does not explain {left:.2g%} of the variance of the efforts in {which}, {ratio:.1f} times"
        " as much as in the fitted runs ({fitted:.2g%}).",
        "Check whether the runs differ (payload, temperature, mounting); if they do not differ, the model is overfitted.",
        _LEFT,
        "identify.md",
    ),
    "prediction-good": Text(
        "Predictions", "{left:.2g%} of the variance of the efforts in {which} is unexplained."
    ),
    "joint-unexplained": Text(
        "Unexplained joint",
        "In {which}, the model predicts {joints} worse than the mean of its efforts does (R² {r2:.2f}).",
        "Check sign, gain and order of these joints. If they are correct, the friction differs between the"
        " runs: record more motion of these joints, warm and cold.",
        _LEFT,
        "identify.md",
    ),
    "export-loses": Text(
        "Exported file with missing terms",
        "The error of {file} in other software is {exported:.2f} % of the efforts, {rise:.1f} times that of"
        " the identified model ({inside:.2f} %), because the format lacks these terms of friction and drives: {lost}.",
        "Use `sysid export --to mjcf` or `--to c`, which support more terms.",
        "A URDF supports two friction terms, and no springs, offsets or coupled drives.",
        "identify.md",
    ),
    "export-differs": Text(
        "Exported file with a different interpretation",
        "The error of {file} in other software is {exported:.2f} % of the efforts, {rise:.1f} times that of"
        " the identified model ({inside:.2f} %). Missing fields of the format explain only a part of"
        " this increase; a factor of {unexplained:.2f} remains unexplained.",
        "Use `sysid export --to c`, which reproduces the identified model, and report the file.",
        "The other software models friction near standstill differently, or the exporter wrote a term wrongly.",
        "identify.md",
    ),
    # Parameters for a controller.
    "gravity-torque-differs": Text(
        "Gravity torques of a controller",
        "The gravity torque of {joint} differs from the nominal one by {difference:.3g} N m; the largest"
        " nominal gravity torque is {nominal:.3g} N m.",
        "Check units, signs and the motion, and identify again.",
        "With these parameters, gravity compensation by a controller would lift the arm or let it fall.",
        "nodes.md",
    ),
    "gravity-torques-small": Text(
        "Gravity torques of a controller",
        "The identified gravity torques are only {share:.2g} times those of the nominal model.",
        "Check units, signs and the motion, and identify again.",
        "With these parameters, gravity compensation by a controller would let the arm fall.",
        "nodes.md",
    ),
    "friction-exceeds-limit": Text(
        "Friction of a controller",
        "Friction and offset exceed the torque limit of {joints}.",
        "Check units and gains, and identify again.",
        "",
        "nodes.md",
    ),
    "gravity-torques-near": Text(
        "Gravity torques of a controller",
        "The identified gravity torques are within a factor of {factor:g} of those of the nominal model.",
    ),
    # Payloads.
    "mass-unknown": Text(
        "Undetermined mass",
        "The mass is not known: {mass:.3g} ± {sd:.2g} kg.",
        "Tilt the sensor through more postures (`sysid plan payload`), and tare before grasping the object.",
        "The estimated mass is negative, or its standard deviation exceeds 30 % of the mass.",
        "payload_identification.md",
    ),
    "wrench-ambiguous": Text(
        "Ambiguous load",
        "The wrench does not determine the mass: about equally good explanations have masses of {masses} kg"
        " (0: no load).",
        "Declare --wrench-axes sensor or base, --wrench-sign and --rotation, tare before grasping the"
        " object, or tilt the sensor through more postures.",
        "The hypotheses are: sign, axes and rotation of the sensor, inverse orientations, a sensor zeroed"
        " with a part of the load, and a load compensated by the controller. The hypotheses are compared by their evidence (marginal likelihood). A hypothesis with another mass is less than 20 times less likely than the best one; the standard deviation covers the masses of all these hypotheses.",
        "payload_identification.md",
    ),
    "wrench-misdescribed": Text(
        "Description",
        "The wrench contradicts the description of sensor or robot. {errors}",
        "Correct the description, or check the frame, and that no other force acts on the load.",
        "A rotated sensor, inverse orientations or another direction of gravity explain the wrench best. Two"
        " such errors at once, or another gravity in motion, give the verdict fail if they change the mass by"
        " more than 30 %, because other forces can have the same effect.",
        "payload_identification.md",
    ),
    "no-body": Text(
        "Not physically consistent",
        "No real body can have the estimated inertial parameters.",
        "Check for contact, cables and a wrong frame, and weigh again.",
        "",
        "payload_identification.md",
    ),
    "part-held": Text(
        "Known load", "The load is '{name}' with a probability of {probability:.3f}."
    ),
    "part-other": Text(
        "Unexpected load",
        "The load is '{name}' (probability {probability:.3f}) instead of '{expected}'.",
        "Release the load: a wrong part, two parts or none were grasped.",
        "A load other than the expected one (another part, none, or an unknown one) has odds above 20 to 1.",
        "payload_identification.md",
    ),
    "part-open": Text(
        "Undecided load",
        "The load is undecided; the most likely one is '{likeliest}' with a probability of"
        " {probability:.2f}.",
        "Measure for longer, tare again, or tilt the sensor to distinguish the centres of mass.",
        "None of the possible loads is 20 times as likely as all others together.",
        "payload_identification.md",
    ),
    "load-changed": Text(
        "Load change",
        "The load changed during the motion ({kind}, {mass:+.2g} kg): earlier samples are not used.",
        "Weigh again, and hold the object firmly during the whole motion.",
        "During the motion, an object was picked up, was put down, or slipped.",
        "payload_identification.md",
    ),
    "sensor-remark": Text(
        "Remark on the sensor",
        "{text}",
        "",
        "The tare detected a peculiarity of the sensor.",
        "payload_identification.md",
    ),
    "shape-differs": Text(
        "Unexplained wrench",
        "The given shape or its pose does not agree with the measurements (probability"
        " {probability:.1f%}).",
        "Check the size, the unit and the pose of the shape in the sensor frame. The standard deviations allow for"
        " another shape.",
        "The rigid motion of one body of this shape does not explain the forces and torques.",
        "payload_identification.md",
    ),
    "bias-wanders": Text(
        "Unexplained wrench",
        "The bias of the sensor differs from its tare, or drifts, by more than usual (probability"
        " {probability:.1f%}).",
        "Tare again, and check for a hum near a multiple of the sampling rate, cable pull, or contact. The"
        " standard deviations allow for this bias.",
        "The measured forces and torques drift, and neither load nor motion explains the drift.",
        "payload_identification.md",
    ),
    "wrench-misfit": Text(
        "Unexplained wrench",
        "The residual of the wrench is {factor:.1f} times as large as the errors of the sensor explain. The"
        " standard deviations were multiplied by this factor.",
        "Check the shape and its pose, the direction of gravity, the mounting and frame of the sensor, contact,"
        " a hum near a multiple of the sampling rate, and whether the load moves in the gripper.",
        "A rigid body leaves a larger residual of the wrench than the noise of the sensor explains.",
        "payload_identification.md",
    ),
    "wrench-coloured": Text(
        "Unexplained wrench",
        "The residual of the wrench is {force:.2g} N and {torque:.2g} N m, and it is correlated in time."
        " The standard deviations allow for this correlation.",
        "If you need a higher accuracy, check for elasticity, a hum near a multiple of the sampling rate,"
        " cable pull, contact, or a load that moves in the gripper.",
        "The residual of the wrench is larger than the sensor noise, and it is correlated in time.",
        "payload_identification.md",
    ),
    "simpler-sensor": Text(
        "Simpler sensor model",
        "A model of payload and bias alone predicts the wrench better than one with gains, axes, drift and"
        " delay: the simpler model was used.",
        "If you need estimates of the sensor's gains, axes and delay, move about more axes or for longer.",
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
        "{count} of the ten parameters are determined mainly by the prior.",
    ),
    "force-unit-unseen": Text(
        "Unit of force",
        "The unit of force was not checked: a common gain of all axes (kgf or lbf instead of N) scales mass"
        " and moments equally, and no motion reveals it.",
        "Weigh an object of known mass once.",
    ),
    "masses-disagree": Text(
        "Masses from torques and from the sensor",
        "According to the joint torques, '{link}' carries {mass:.2g} ± {sd:.1g} kg, {ratio:.2g} times the"
        " mass measured by the force-torque sensor.",
        "Check whether the wrench is in kgf (9.8 times), lbf (4.4) or gram-force (0.0098) instead of N, and"
        " whether the URDF lacks a tool that was tared.",
        "Joint torques and force-torque sensor disagree about the load by more than errors of the URDF explain.",
        "payload_identification.md",
    ),
    "load-too-heavy": Text(
        "Load above the capacity of the arm",
        "The arm cannot have carried {mass:.3g} kg: to hold it at rest, '{joint}' would need {needed:.0f} N m,"
        " but its limit is {limit:.0f} N m.",
        "Check the unit of forces or efforts (gram-force, kgf, lbf, mA) and the gains.",
        "The gravity torque of the load exceeds twice the torque limit in the URDF.",
        "payload_identification.md",
    ),
    "load-beyond-rating": Text(
        "Rated load",
        "The load has {mass:.3g} kg; the load diagram permits {permitted:.3g} kg at {distance:.3f} m from the flange.",
        "Use a lighter load or tool, or one that is nearer to the flange.",
        "The mass exceeds the load diagram of the robot (fail), or comes within two standard deviations of it (warn).",
        "payload_identification.md",
    ),
    "load-within-rating": Text(
        "Rated load",
        "The load has {mass:.3g} kg, within the {permitted:.3g} kg that the load diagram permits at {distance:.3f} m from the flange.",
    ),
    "load-negative": Text(
        "Loaded and unloaded runs",
        "In the loaded runs the arm carries {mass:.2f} ± {sd:.2f} kg less than in the unloaded runs.",
        "Check whether loaded and unloaded runs are exchanged, the signs of the efforts, and the mounting"
        " (--gravity).",
        "The mass in the loaded runs minus the mass in the unloaded runs is negative.",
        "payload_identification.md",
    ),
    "load-nothing": Text(
        "Loaded and unloaded runs",
        "In the loaded runs the arm carries no more than in the unloaded runs ({mass:+.2f} ± {sd:.2f} kg).",
        "Check that two different runs are given. If the controller subtracts its configured payload, set"
        " that payload to zero and record both runs again.",
        "The masses in the loaded and in the unloaded runs differ by less than the uncertainty.",
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
        "Use the same order for commands and positions (`--joints`).",
        "The position of one joint follows the command of another.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-degrees": Text(
        "Degrees instead of radians",
        "The range of {joint} is {value:.1f} rad, more than a joint with stops can move.",
        "If the angles are in degrees, give `--degrees`.",
        "A joint with stops does not move two turns from its zero.",
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
        "{joint} is never commanded to move, so that its servo cannot be identified.",
        "Record a motion of this joint.",
        "A motion smaller than the stiction band contains no information about the servo.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-zero": Text(
        "Zero of a servo",
        "Without load, {joint} rests {value:.3f} rad away from its command.",
        "Correct the zero of the command or of the position.",
        "Static friction and gravity do not explain an offset of this size.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-gravity": Text(
        "Servo deflection against gravity",
        "The estimated deflection of {joint} is opposite to gravity ({value:.1f} standard deviations).",
        "Check for the URDF of another robot, another mounting, or a wrong zero or sign of both command and"
        " position.",
        "The compliance that explains the motion best is negative.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-slack": Text(
        "Implausibly compliant servo",
        "According to the estimate, {joint} sags by {value:.2f} rad under gravity, more than real servos do.",
        "Check the zeros of command and position, the torque limit, and that the URDF belongs to the robot.",
        "An offset between command and position has the same effect as a compliant servo under load.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-replay": Text(
        "Poor servo prediction",
        "On held-out blocks, the prediction error of {joint} is {value:.2f} times that of the model"
        " 'position = command'.",
        "Check that commands and positions have the same time base, and that nothing touched the robot.",
        "The command itself predicts the positions better than the identified servo model.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-direction": Text(
        "Sign of a servo's angles",
        "According to gravity, the signs of both command and position of {joint} are reversed (odds"
        " {value:.3g} : 1).",
        "Negate both command and position of this joint, or its axis in the URDF.",
        "Only gravity reveals whether both signs are reversed; otherwise the simulated motion is the same.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-offset": Text(
        "Zero of a servo's angles",
        "According to gravity, {value:.2f} rad must be added to command and position of {joint}.",
        "Calibrate the zero of this joint to that of the URDF.",
        "If command and position have the same offset, only the gravity torque of the simulated motion changes.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-exchanged": Text(
        "Exchanged columns",
        "According to gravity, the columns of {joint} and {other} are exchanged (odds {value:.3g} : 1).",
        "Give the joint names in the order of the columns (`--joints`).",
        "Only gravity reveals the order of the joints; otherwise the simulated motion is the same.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-mount": Text(
        "Mounting of a robot with servos",
        "According to gravity, the base is {other} (odds {value:.3g} : 1).",
        "Check that the URDF belongs to this robot, and that its base is mounted in the same way.",
        "Only gravity reveals the mounting; otherwise the simulated motion is the same.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-masses": Text(
        "Masses that do not explain the servos' deflections",
        "Free masses on the same links would reduce the errors on held-out blocks to {value:.0%} of those with"
        " the masses in the URDF.",
        "Check that the URDF belongs to this robot, and that it contains its tool and the true masses.",
        "A common factor of all masses only changes the stiffness of the servos. This finding means that no"
        " common factor suffices: the URDF of another robot, a wrong mass of a link, or a load that the URDF lacks.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-names": Text(
        "Names of the servos' columns",
        "The names of the columns {other} differ from those of the joints in the URDF, so that the columns were"
        " assigned to the joints by their order.",
        "Check that the URDF belongs to this robot and that the columns are in the order of its joints, or name"
        " the columns with --joints.",
        "Without measured torques, the URDF of another robot may explain the motion equally well, with another"
        " stiffness of the servos.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-untold": Text(
        "Unchecked conventions",
        "The gravity load on {joint} is too small to check: {other}.",
        "Compare a posture of the robot with the URDF by eye.",
        "Without a torque sensor, only gravity reveals a wrong direction, zero or order of joints; a joint with a vertical axis has no gravity torque.",
        "tutorials/lerobot_arm.md",
    ),
}
