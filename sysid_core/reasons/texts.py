# SPDX-License-Identifier: Apache-2.0
"""The one table of texts: what each code says, what to do, and what it means.

Fields in braces are names of a reason's data. A format that ends in `%` shows a share in per cent;
lists are joined by commas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter


@dataclass(frozen=True)
class Text:
    """Texts of one code.

    Attributes:
        title: Name of the kind of reason; the heading in the documentation.
        sentence: Statement with the evidence in numbers.
        remedy: What to do.
        meaning: Why it is reported.
        page: Page of the documentation that says more.
    """

    title: str
    sentence: str
    remedy: str = ""
    meaning: str = ""
    page: str = "verdicts.md"


class _Words(Formatter):
    """Formats data of reasons."""

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(x, format_spec) for x in value)
        if value is None:
            return "unknown"
        if format_spec.endswith("%") and isinstance(value, int | float):
            return f"{format(100.0 * value, format_spec[:-1])} %"
        return format(value, format_spec)


def sentence(template: str, data: Mapping[str, object]) -> str:
    """A template with its data filled in."""
    return _Words().vformat(template, (), data)


_EVIDENCE = (
    " Evidence: under this hypothesis, the URDF's masses leave {urdf_after:.2g%} of the torques' variance"
    " unexplained instead of {urdf_before:.2g%}, free masses {free_after:.2g%} instead of"
    " {free_before:.2g%}."
)
_SIGN = "With this sign turned, the URDF's masses and free masses explain the efforts far better."
_ORDER = "One joint's motion or effort fits another joint's column better."
_ORDER_REMEDY = "Check the order of `joints` and `columns` in the column map; columns count from 0."
_SIZE = "The efforts have the right shape and the wrong size: a gain, a unit, or another robot."
_CLOCK = (
    "Inertial torques grow with the square of speed: against weights they show how fast time runs."
)
_LEFT = (
    "Much of the efforts isn't explained; the spectrum of the residual shows at which frequencies."
)
_LEFT_REMEDY = (
    "Slow residuals: friction terms (--friction auto), springs, temperature. Fast ones: a delay"
    " (--delay auto), noise."
)
_MORE = "Plan what is missing: `sysid plan arm ROBOT --after estimate.yaml`, and record it."

TEXTS: Mapping[str, Text] = {
    # What is wrong with data or description, from competing explanations.
    "effort-signs": Text(
        "Signs of all efforts",
        "The efforts of all joints have the opposite sign." + _EVIDENCE,
        "Negate the drives' gains in the column map (or the efforts).",
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
        "The position of '{joint}' counts the other way round than the URDF's axis." + _EVIDENCE,
        "Negate the axis of '{joint}' in the URDF, or its columns.",
        _SIGN,
    ),
    "joint-sign": Text(
        "Sign of a joint",
        "Position and effort of '{joint}' count the other way round than the URDF's axis."
        + _EVIDENCE,
        "Negate the axis of '{joint}' in the URDF.",
        _SIGN,
    ),
    "effort-order": Text(
        "Order of efforts",
        "The efforts of {joints} are exchanged: they are those of {hold}, in this order."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "position-order": Text(
        "Order of positions",
        "The positions of {joints} are exchanged: they are those of {hold}, in this order."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "joint-order": Text(
        "Order of joints",
        "The joints' columns of {joints} are exchanged: they are those of {hold}, in this order."
        + _EVIDENCE,
        _ORDER_REMEDY,
        _ORDER,
    ),
    "angle-unit": Text(
        "Unit of angles",
        "The positions are in {unit}, not as declared." + _EVIDENCE,
        "Declare `position: {{unit: {short}}}` and `velocity: {{unit: {short}/s}}`.",
        "Positions and velocities fit the efforts only in the other unit.",
        "files.md",
    ),
    "zero-angle": Text(
        "Zero angle",
        "The zero of '{joint}' is off: {degrees:+.0f}° are missing." + _EVIDENCE,
        "Add {radians:+.4f} rad to the positions of '{joint}', or turn its origin in the URDF; never"
        " both.",
        "Weights act at other angles than the positions say: an encoder offset.",
    ),
    "mounting": Text(
        "Mounting",
        "Gravity points along ({gravity:.3f}) m/s² in the base frame: the base isn't mounted as the"
        " URDF says." + _EVIDENCE,
        "Give --gravity {written} (or --mount {mount}), or `mount:` in the column map.",
        "Weights act along another direction than the URDF's base frame has.",
    ),
    "gravity-subtracted": Text(
        "Efforts without weight",
        "The efforts lack the robot's weight: gravity has been subtracted from them." + _EVIDENCE,
        "Record torques or currents before gravity compensation.",
        "Drivers often subtract their own model of gravity before they publish efforts.",
        "vendors.md",
    ),
    "gain": Text(
        "Gain of a joint",
        "The torque of '{joint}' is about {factor:.2g} times what its motion and the other joints'"
        " torques ask for." + _EVIDENCE,
        "Check the gain, and the unit of the effort, of '{joint}'.",
        _SIZE,
        "identify.md",
    ),
    "effort-unit": Text(
        "Unit of efforts",
        "Torques are {factor:.3g} times what the URDF's masses ask for: {unit} declared as N m or A?"
        + _EVIDENCE,
        "Declare the effort's kind, unit and gains.",
        _SIZE,
        "identify.md",
    ),
    "effort-scale": Text(
        "Gains of all joints",
        "Torques are {factor:.3g} times what the URDF's masses ask for." + _EVIDENCE,
        "Gains wrong by this factor, currents declared as torques or torques as currents, or another"
        " variant of the robot? Check `drives: gain`, and that the URDF belongs to the robot; unknown"
        " gains come from a run with a known load (--loaded).",
        _SIZE,
        "identify.md",
    ),
    "other-robot": Text(
        "Another robot",
        "The torques follow the motion, but not as those of this URDF, whatever its masses are, and no"
        " single fault mends that." + _EVIDENCE,
        "Give the URDF that belongs to the recording; check lengths, axes and order of its joints.",
        "Smooth torques of any other serial arm explain the efforts better than rigid bodies on the URDF's"
        " joints.",
    ),
    "load-comes-or-goes": Text(
        "A load that comes or goes",
        "A tool or payload seems to come or go after about {share:.0%} of the recording."
        + _EVIDENCE,
        "Cut the recording there, and identify from a part with the same load throughout.",
        "Two sets of masses at the last link, one after the other, explain the efforts far better than one.",
        "recordings.md",
    ),
    "cannot-tell": Text(
        "The data can't tell what is wrong, or whether",
        "That all is as declared has a probability of {declared:.2g}, and no other cause is certain:"
        " {causes} (joints {joints}; probabilities {probabilities:.2g}).",
        "Change nothing yet. Record a motion that tells them apart: zeros, mounting, tools and gains by slow"
        " motion through postures far apart, stamps and lags by fast motion of all joints.",
        "No cause is 20 times as likely as all others together.",
        "motions.md",
    ),
    "load-lacking": Text(
        "A tool or payload that the URDF lacks",
        "The torques ask for {mass:.2g} ± {sd:.1g} kg more at '{link}' than the URDF has."
        + _EVIDENCE,
        "Is a tool or payload attached that the description lacks? It becomes part of the last link's"
        " parameters.",
        "Hands, tools and payloads come and go; the URDF holds one of them.",
    ),
    "load-surplus": Text(
        "A tool or payload that the robot lacks",
        "The torques ask for {mass:.2g} ± {sd:.1g} kg less at '{link}' than the URDF has."
        + _EVIDENCE,
        "Has the URDF a tool that isn't attached, or has the controller subtracted the payload that it is"
        " configured for? Take the tool out of the URDF, or record efforts with the controller's payload"
        " at zero.",
        "Hands, tools and payloads come and go; the URDF holds one of them.",
    ),
    "no-model": Text(
        "Efforts that don't follow the motion",
        "Efforts of no joint have to do with the motion: noise of their own colour explains them best."
        + _EVIDENCE,
        "Check columns, units and joint names, and plot the efforts beside the motion.",
        "Rigid bodies with any masses and friction can't explain these efforts from this motion.",
        "identify.md",
    ),
    "joint-chance": Text(
        "Efforts that don't follow the motion",
        "The efforts of '{joint}' have nothing to do with the motion." + _EVIDENCE,
        "Check its column and its sensor, record more motion of this joint, or lock it.",
        "Noise of its own colour explains these efforts best.",
        "identify.md",
    ),
    "stamps": Text(
        "Time stamps",
        "The time stamps seem to advance {factor:.2g} times as fast as they should: no masses give both"
        " these weights and these inertial torques." + _EVIDENCE,
        "Check the column of time, its unit, or `rate_hz`.",
        _CLOCK,
        "files.md",
    ),
    "data-agree": Text(
        "Data and description agree",
        "URDF, signs, units and time stamps agree with the efforts: the URDF's masses leave"
        " {urdf:.2g%} of the torques' variance, any masses {free:.2g%} on held-out blocks.",
    ),
    # Single streams.
    "effort-dead": Text(
        "Dead channel",
        "The effort of '{joint}' is constant at {value:.4g} while the joint moves: the channel is dead.",
        "Record it again, or leave it unused.",
        "A measured effort varies with motion.",
        "recordings.md",
    ),
    "position-frozen": Text(
        "Frozen position",
        "The position of '{joint}' is {value:.4g} in every sample, to the last bit, while its effort varies.",
        "Leave the joint's columns out if it is held (a joint that isn't recorded is taken for held);"
        " else mend the channel and record again.",
        "Encoders of joints that stand still show noise: readings without any are no readings.",
        "recordings.md",
    ),
    "effort-spikes": Text(
        "Spikes",
        "{count} efforts of '{joint}' are spikes: {value:.4g} at {time:.2f} s, where 98 % lie in"
        " {low:.4g} to {high:.4g}.",
        "Remove these samples, or use --method irls, which leaves them out.",
        "Single efforts are far outside all others.",
        "recordings.md",
    ),
    "effort-saturated": Text(
        "Saturated effort",
        "The effort of '{joint}' is at {value:.4g} in {share:.0f%} of the samples: the drive or the"
        " measurement is saturated.",
        "Move more slowly.",
        "Efforts that are stuck at an end are not those that moved the robot.",
        "recordings.md",
    ),
    "names-twice": Text(
        "Joint names",
        "Several joints are called {names}.",
        "Mend the names in the driver.",
        "A name stands for one joint.",
        "recordings.md",
    ),
    "recording-short": Text(
        "Too short a recording",
        "Only {samples} samples over {duration:.1f} s.",
        "Record {least:g} s of motion at least.",
        "",
        "recordings.md",
    ),
    "stamps-backward": Text(
        "Stamps that run backward",
        "The stamps run backwards {count} times.",
        "One clock must stamp all samples.",
        "",
        "recordings.md",
    ),
    "not-finite-samples": Text(
        "Numbers that aren't finite",
        "{share:.2g%} of the {what} are NaN or infinite.",
        "Remove these samples.",
        "",
        "recordings.md",
    ),
    "no-motion": Text(
        "Too little motion",
        "No joint moves by more than {least} rad or m.",
        "Move the robot.",
        "",
        "recordings.md",
    ),
    # Uses of a recording.
    "refused": Text(
        "Refused input",
        "{message}",
        "{remedy}",
        "The command could not use this input at all.",
        "troubleshooting.md",
    ),
    "efforts-missing": Text(
        "No efforts", "No efforts.", "Record torques or motor currents.", "", "recordings.md"
    ),
    "effort-kind-unknown": Text(
        "Unknown kind of efforts",
        "Nothing says what `effort` means.",
        "Pass --effort-kind.",
        "Efforts are currents, motor torques or link torques; nothing in the samples tells which.",
        "recordings.md",
    ),
    "effort-kind-unusable": Text(
        "Efforts without weight",
        "Efforts without gravity can't be used.",
        "Record torques or motor currents.",
        "",
        "vendors.md",
    ),
    "standstill": Text(
        "Standstill",
        "The robot stands still for {share:.0f%} of the time.",
        "Record less of that.",
        "",
        "recordings.md",
    ),
    "robot-missing": Text(
        "No robot description",
        "What the motion shows isn't known without the robot.",
        "Give --robot.",
        "",
        "recordings.md",
    ),
    "parameters-few": Text(
        "Too little motion",
        "Only {share:.0f%} of the base parameters will be known even roughly.",
        "Add a motion that shows the rest: `sysid plan arm ROBOT --after BAG`.",
        "",
        "motions.md",
    ),
    "motion-rank": Text(
        "Too little motion",
        "The motion shows {rank} of {full} directions.",
        "Add a motion that shows the rest: `sysid plan arm ROBOT --after BAG`.",
        "",
        "motions.md",
    ),
    "wrench-missing": Text(
        "No wrench",
        "No wrench.",
        "Record the sensor's topic, or weigh by torques (`sysid payload-torques`).",
        "",
        "recordings.md",
    ),
    "wrench-fault": Text(
        "Readings of the wrench", "{text}", "{remedy}", "", "payload_identification.md"
    ),
    "wrench-hum": Text("Hum in the wrench", "{text}", "", "", "payload_identification.md"),
    "marks-missing": Text(
        "No marks",
        "No marks of a motion ({segments}, each with :start and :end).",
        "Play what `sysid plan payload` writes, or mark it.",
        "",
        "payload_identification.md",
    ),
    "tare-missing": Text(
        "No tare",
        "No tare postures are marked.",
        "Give --calibration of an earlier tare.",
        "",
        "payload_identification.md",
    ),
    "payload-rank": Text(
        "Too little motion",
        "The motion shows {rank} of 10 directions of a load.",
        "Tilt and turn the sensor about all axes.",
        "",
        "payload_identification.md",
    ),
    "joints-not-alone": Text(
        "Joints that never move alone",
        "{joints} never move alone for {least:g} s.",
        "Play what `sysid plan sequential` writes.",
        "",
        "sequential.md",
    ),
    "loops-missing": Text(
        "No loops", "Not judged without the loops.", "Give --loops FILE.", "", "closed_chains.md"
    ),
    "chain-rank": Text(
        "Too little motion",
        "The motion shows rank {rank} of {full}.",
        "Move faster and through more postures (`sysid plan loops`).",
        "",
        "closed_chains.md",
    ),
    "efforts-late": Text(
        "Late efforts",
        "Efforts come {ms:.1f} ± {sd:.1f} ms after the positions.",
        "`sysid identify` corrects that (--delay auto, the default); better, mend the stamps.",
        "A delay looks like inertia and friction: errors of torques rise with speed.",
        "identify.md",
    ),
    "efforts-late-corrected": Text(
        "Late efforts",
        "Efforts come {ms:.1f} ± {sd:.1f} ms after the positions: corrected.",
        "Mend the stamps where that is much: the correction isn't exact.",
        "A delay looks like inertia and friction: errors of torques rise with speed.",
        "identify.md",
    ),
    "joint-late": Text(
        "Late efforts of one joint",
        "The efforts of '{joint}' come {ms:.1f} ± {sd:.1f} ms after those of the other joints.",
        "Look for a filter, an average or a second topic in this channel, and record it like the others.",
        "The delay of one channel can't be explained by the robot; it spoils this joint's friction and"
        " inertia.",
        "identify.md",
    ),
    "efforts-beyond-limit": Text(
        "Efforts beyond the limits",
        "Torques of {joints} go to {peak:.3g} ({size:.3g} RMS) in motion; by the description {limit:.3g}"
        " is the limit.",
        "Check unit and drive gain of these joints (mA for A, one digit of a gain), or the limit in the URDF.",
        "A drive doesn't give more than its limit: efforts, gains or the description are wrong.",
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
        "The wrench's stamps aren't on the joints' clock: {clock}.",
        "`sysid payload` corrects them; better, synchronise the devices.",
        "",
        "payload_identification.md",
    ),
    # Estimates.
    "estimate-not-finite": Text(
        "Numbers that aren't finite",
        "Some values or deviations are not finite.",
        "Look at the recording (`sysid bag check`), and fix what isn't excited.",
        "NaN or infinity came out: data hold NaN, or nothing determines the parameter.",
        "identify.md",
    ),
    "estimate-rank": Text(
        "Too little motion",
        "The data have rank {rank} of {full}: the motion doesn't excite everything that could be"
        " identified.",
        _MORE,
        "Other motions may be predicted badly.",
        "motions.md",
    ),
    "estimate-inconsistent": Text(
        "Not physically consistent",
        "Not physically consistent: {bodies}.",
        "Repeat with --method lmi or auto; for base parameters alone it doesn't matter.",
        "At least one body couldn't exist as its numbers say; a simulator or controller may go wrong.",
        "identify.md",
    ),
    "estimate-sound": Text("Sound estimate", "Finite, consistent and excited."),
    "springs-unknown": Text(
        "Springs",
        "The controller knows no springs; the estimate has: {joints}.",
        "",
        "Springs and counterbalances carry weight that the controller would carry as well.",
        "nodes.md",
    ),
    "followers": Text(
        "Joints that follow others",
        "Joints that mimic others, by the URDF: {joints}. They were taken for joints with drives of their"
        " own, so their weight is lacking at their leaders.",
        "Identify with --loops mimic (or a file of couplings).",
        "A joint without a motor of its own loads the one that it follows; an open chain doesn't know that.",
        "closed_chains.md",
    ),
    "fit-contradicted": Text(
        "A fit that contradicts its data",
        "The fit leaves {left:.2g%} of the variance where the URDF's masses leave {urdf:.2g%} and free"
        " masses {free:.2g%}: constraints, fixed parameters or outliers contradict the data.",
        "Drop --fix, take a weaker prior or another method, and look for outliers in the residuals.",
        "The fitted model leaves more than the URDF's own masses, or free ones, do.",
        "identify.md",
    ),
    "spread-unknown": Text(
        "Whether other motions are determined",
        "Whether the recordings determine other motions: not for this method.",
    ),
    "spread-large": Text(
        "Too little motion",
        "The recordings are too short, or excite too little, to predict other motions: without one sixth"
        " of them or another, the fit's prediction of typical motion differs by {spread:.2g} times its"
        " residual ({relative:.2g%} of the efforts), most at {worst}.",
        "Record more, or more exciting, motion (`sysid plan`), and judge by runs of other motions"
        " (--validate).",
        "Other motions may be predicted badly.",
        "motions.md",
    ),
    "spread-small": Text(
        "Other motions are determined",
        "Without a sixth of the recordings, predictions of typical motion differ by {spread:.2g} times the"
        " residual ({relative:.2g%} of the efforts).",
    ),
    "unseen-missing": Text(
        "No unseen recording",
        "Predictions of held-out runs: none was given.",
        "Record another motion and give it by --validate.",
    ),
    "nothing-predicted": Text(
        "Nothing was predicted",
        "Neither fitted nor unseen runs were predicted: nothing says how good these numbers are.",
        "Record another motion and give it by --validate.",
        "What isn't compared with a measurement isn't judged, whatever else is in order.",
    ),
    # Predictions; `which` names the runs.
    "prediction-not-finite": Text(
        "Numbers that aren't finite",
        "The prediction of {which} isn't finite.",
        "Look at the recording (`sysid bag check`).",
        "",
        "identify.md",
    ),
    "runs-at-rest": Text(
        "Runs at rest",
        "Nothing moves in {which}.",
        "Record motion: at rest nothing is predicted.",
        "",
        "motions.md",
    ),
    "prediction-poor": Text(
        "A model that leaves much",
        "The model leaves {left:.2g%} of the efforts' variance in {which}; more than {limit:.0f%} is no"
        " model.",
        _LEFT_REMEDY,
        _LEFT,
        "identify.md",
    ),
    "prediction-weak": Text(
        "A model that leaves much",
        "The model leaves {left:.2g%} of the efforts' variance in {which}.",
        _LEFT_REMEDY,
        _LEFT,
        "identify.md",
    ),
    "prediction-differs": Text(
        "Runs that differ",
        "The model leaves {left:.2g%} of the efforts' variance in {which}, {ratio:.1f} times what it leaves"
        " in the fitted runs ({fitted:.2g%}).",
        "The runs differ (payload, temperature, mounting?), or the fit follows its own runs only.",
        _LEFT,
        "identify.md",
    ),
    "prediction-good": Text("Predictions", "{left:.2g%} of the efforts' variance in {which} left."),
    "joint-unexplained": Text(
        "A joint that isn't explained",
        "In {which}, {joints} is predicted worse than by its mean (R² {r2:.2f}).",
        "Check sign, gain and order of these joints; if they are right, their friction differs between"
        " runs: record more of their motion, warm and cold.",
        _LEFT,
        "identify.md",
    ),
    "worse-than-nominal": Text(
        "No better than the URDF",
        "{test}: {identified:.3g} identified, {nominal:.3g} nominal.",
        "Keep the URDF's parameters, or record more motion like the one that matters.",
        "On held-out runs the identified model predicts no better than the URDF's numbers.",
    ),
    "joints-no-better": Text(
        "No better than the URDF",
        "{test}: {joints} no better than nominal.",
        "Record more motion of these joints.",
        "On held-out runs the identified model predicts no better than the URDF's numbers.",
    ),
    "torque-limit": Text(
        "Torque limits",
        "At the torque limit while tracking: {joints}.",
        "Track more slowly, or judge by predicted torques.",
        "A saturated joint says little about the model.",
        "motions.md",
    ),
    "better-than-nominal": Text("Better than the URDF", "Better than nominal throughout."),
    "export-loses": Text(
        "A file that holds less than was identified",
        "{file}, as others read it, leaves {exported:.2f} % of the efforts, {rise:.1f} times as much as the"
        " identified model ({inside:.2f} %): it has no field for {lost}.",
        "Use `sysid export --to mjcf` or `--to c`, which hold more.",
        "A URDF knows two friction terms, and no springs, offsets or coupled drives.",
        "identify.md",
    ),
    "export-differs": Text(
        "A file that its reader takes otherwise",
        "{file}, as others read it, leaves {exported:.2f} % of the efforts, {rise:.1f} times as much as the"
        " identified model ({inside:.2f} %); what it has no field for leaves a factor of"
        " {unexplained:.2f} open.",
        "Use `sysid export --to c`, which is read as it was identified, and report the file.",
        "A reader has its own friction about standstill, or a term was written wrongly.",
        "identify.md",
    ),
    # Parameters for a controller.
    "gravity-torque-differs": Text(
        "Gravity torques of a controller",
        "The gravity torque of {joint} differs from the nominal one by {difference:.3g} N m; nominal are"
        " {nominal:.3g} N m at most.",
        "Check units, signs and the motion, and identify again.",
        "A controller with these parameters would push, or let fall, what it carries.",
        "nodes.md",
    ),
    "gravity-torques-small": Text(
        "Gravity torques of a controller",
        "The gravity torques are {share:.2g} times the nominal ones.",
        "Check units, signs and the motion, and identify again.",
        "A controller with these parameters would let fall what it carries.",
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
        "Gravity torques of a controller", "Gravity torques within a factor of {factor:g}."
    ),
    # Payloads.
    "mass-unknown": Text(
        "A mass that isn't known",
        "The mass is not known: {mass:.3g} ± {sd:.2g} kg.",
        "Tilt the sensor through more postures (`sysid plan payload`), and tare before the object is taken.",
        "The mass's deviation is above 30 % of it, or it is negative.",
        "payload_identification.md",
    ),
    "wrench-ambiguous": Text(
        "A load that the readings leave open",
        "The readings don't tell the mass: what explains them about as well weighs {masses} kg (0: no load).",
        "Say --wrench-axes sensor or base, --wrench-sign, and --rotation; tare before the object is taken;"
        " or tilt the sensor through more postures.",
        "Sign, axes, turns of the sensor, inverse orientations, a sensor zeroed with a part of the load on"
        " and weight taken out by a controller compete by their evidence: another mass isn't 20 times less"
        " likely, and the deviation covers them all.",
        "payload_identification.md",
    ),
    "no-body": Text(
        "Not physically consistent",
        "No body has these parameters.",
        "Weigh again; look for contact, cables and a wrong frame.",
        "",
        "payload_identification.md",
    ),
    "part-held": Text("A known load", "Held is '{name}', with a probability of {probability:.3f}."),
    "part-other": Text(
        "Another load than expected",
        "Held is '{name}' (probability {probability:.3f}), not '{expected}'.",
        "Put it down: a wrong part, two at once, or none.",
        "One load, none or an unknown one has a probability beyond 20 to 1, and it isn't the expected one.",
        "payload_identification.md",
    ),
    "part-open": Text(
        "A load that isn't decided",
        "Which load is held stays open; '{likeliest}' has a probability of {probability:.2f}.",
        "Read for longer, tare anew, or tilt so that centres of mass show.",
        "No load reaches a probability of 20 to 1.",
        "payload_identification.md",
    ),
    "load-changed": Text(
        "A load that changed",
        "The load changed during the motion ({kind}, {mass:+.2g} kg): what came before is not used.",
        "Weigh again with the object held firmly throughout.",
        "Something was taken up, put down or slipped during the motion.",
        "payload_identification.md",
    ),
    "sensor-remark": Text(
        "Remark on the sensor",
        "{text}",
        "",
        "The tare noticed something about the sensor.",
        "payload_identification.md",
    ),
    "shape-differs": Text(
        "A wrench that isn't explained",
        "The shape, or where it is, doesn't fit what was measured (probability {probability:.1f%}).",
        "Check its size, its unit and its pose in the sensor frame. The standard deviations allow for"
        " another shape.",
        "Rigid motion of one body of this shape doesn't explain forces and torques.",
        "payload_identification.md",
    ),
    "bias-wanders": Text(
        "A wrench that isn't explained",
        "The sensor's bias is off, or wanders, by more than is explained by its tare and its usual drift"
        " (probability {probability:.1f%}).",
        "Tare it again, and look for a hum near a multiple of the sampling rate, cables that pull, or"
        " contact. The standard deviations allow for it.",
        "Forces and torques wander without a cause in the motion.",
        "payload_identification.md",
    ),
    "wrench-misfit": Text(
        "A wrench that isn't explained",
        "The wrench is explained {factor:.1f} times worse than the sensor allows. The standard deviations"
        " were widened by that factor.",
        "Check the shape and where it is, gravity's direction, the sensor's mounting and frame, contact, a"
        " hum near a multiple of the sampling rate, or a load that moves.",
        "Rigid motion of one body doesn't explain forces and torques as well as the sensor should.",
        "payload_identification.md",
    ),
    "wrench-coloured": Text(
        "A wrench that isn't explained",
        "The wrench is explained to {force:.2g} N and {torque:.2g} N m only: what is left over hangs"
        " together in time. The standard deviations allow for it.",
        "Look for elasticity, a hum near a multiple of the sampling rate, cables that pull, contact, or a"
        " load that moves, where less would be useful.",
        "What a fit leaves over is larger than the noise of a sample, and no white noise.",
        "payload_identification.md",
    ),
    "simpler-sensor": Text(
        "The simpler answer",
        "Payload and bias alone predict the wrench better than gains, axes, drift and delay with them: the"
        " simpler answer was taken.",
        "Move about more axes, or longer, where the sensor's errors matter.",
        "Stretches of the recording are predicted from the others, with the sensor's errors and without.",
        "payload_identification.md",
    ),
    "wrench-spikes": Text(
        "Spikes",
        "{count} of {samples} samples were spikes and were left out.",
        "",
        "",
        "payload_identification.md",
    ),
    "wrench-explained": Text("Explained wrench", "Explained by the sensor's errors."),
    "prior-dominates": Text(
        "Parameters from the prior", "{count} of ten parameters come mostly from the prior."
    ),
    "force-unit-unseen": Text(
        "Unit of force",
        "The unit of force: a gain common to all axes (kgf or lbf for N) scales mass and moments alike, and"
        " no motion shows it.",
        "Weigh something of known mass once.",
    ),
    "masses-disagree": Text(
        "Masses by torques and by the sensor",
        "The joint torques ask for {mass:.2g} ± {sd:.1g} kg at '{link}', {ratio:.2g} times what the"
        " force-torque sensor weighs.",
        "Is the wrench in kgf (9.8 times), lbf (4.4) or gram-force (0.0098) instead of N, or does the URDF"
        " lack a tool that was tared?",
        "Two measurements of one load differ by more than the URDF's errors.",
        "payload_identification.md",
    ),
    "load-too-heavy": Text(
        "A load that the arm can't carry",
        "The arm can't have carried {mass:.3g} kg: '{joint}' would need {needed:.0f} of its {limit:.0f} N m"
        " at rest.",
        "Are forces or efforts in another unit than declared (gram-force, kgf, lbf, mA), or a gain wrong?",
        "The load's weight exceeds twice the torque limits of the URDF.",
        "payload_identification.md",
    ),
    "load-negative": Text(
        "Loaded and unloaded runs",
        "The loaded runs carry {mass:.2f} ± {sd:.2f} kg less than the unloaded arm.",
        "Are loaded and unloaded runs exchanged, or are the efforts' signs or the mounting (--gravity)"
        " wrong?",
        "The difference of the runs has the wrong sign.",
        "payload_identification.md",
    ),
    "load-nothing": Text(
        "Loaded and unloaded runs",
        "The loaded runs carry no more than the unloaded arm ({mass:+.2f} ± {sd:.2f} kg).",
        "Is the same run given twice, or has the controller subtracted the payload that it is configured"
        " for? Record both with its payload at zero.",
        "The difference of the runs is nothing.",
        "payload_identification.md",
    ),
    "servo-sign": Text(
        "Servo against its command",
        "{joint} moves against its command (correlation {value:.2f}).",
        "Turn the sign of its command or of its position.",
        "Speeds of command and position have opposite signs over the whole motion.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-order": Text(
        "Order of the servos' columns",
        "{joint} follows the command of {other} (correlation {value:.2f}), not its own.",
        "Put commands and positions in the same order (`--joints`).",
        "One joint's position follows another's command.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-degrees": Text(
        "Degrees in place of radians",
        "{joint} spans {value:.1f} rad.",
        "If the angles are in degrees, say so with `--degrees`.",
        "No joint with stops goes two turns from its zero.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-dead": Text(
        "Servo that stands still",
        "{joint} is commanded over {value:.3f} rad and stands still.",
        "Is the servo on, its torque enabled, and the joint free?",
        "A servo that is off, dead or blocked moves less than a few increments.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-unmoved": Text(
        "Servo without commands",
        "{joint} is never commanded to move: nothing is known of its servo.",
        "Record a motion of it too.",
        "A motion within the sticking band shows no servo.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-zero": Text(
        "Zero of a servo",
        "{joint} rests {value:.3f} rad from its command without load.",
        "Correct the zero of the command or of the position.",
        "Sticking and gravity don't explain as much.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-gravity": Text(
        "Servo that rises under gravity",
        "{joint} rises under gravity ({value:.1f} deviations).",
        "Is it another robot's URDF, another mount, or a wrong zero or sign of both command and position?",
        "The compliance that explains the motion best is negative.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-slack": Text(
        "Servo that gives way",
        "{joint} yields {value:.2f} rad/(N m): servos hold their load better.",
        "Is a zero of command or position wrong, its torque limited, or another robot's URDF given?",
        "An offset between command and position passes for a weak servo under its load.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-replay": Text(
        "Servo that isn't replayed",
        "Blocks of time kept out miss {joint} by {value:.2f} of what the plain command misses.",
        "Do times of commands and positions belong together, and did nothing touch the robot?",
        "A model that predicts worse than no model doesn't hold.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-direction": Text(
        "Direction of a servo's angles",
        "Gravity speaks for {joint} with the sign of command and position turned ({value:.3g} : 1).",
        "Turn the sign of both, or of the joint's axis in the URDF.",
        "The replay is the same with both signs but for gravity.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-offset": Text(
        "Zero of a servo's angles",
        "Gravity speaks for {joint} with {value:.2f} rad added to command and position.",
        "Calibrate its zero as the URDF has it.",
        "The replay is the same with any zero of both but for gravity.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-exchanged": Text(
        "Columns that stand for other joints",
        "Gravity speaks for {joint} and {other} exchanged ({value:.3g} : 1).",
        "Name the columns in their order (`--joints`).",
        "The replay is the same in any order of both but for gravity.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-mount": Text(
        "Mount of a robot on servos",
        "Gravity speaks for a base that is {other} ({value:.3g} : 1).",
        "Is the URDF's base mounted as the robot's, and is it this robot's URDF?",
        "The replay is the same on any mount but for gravity.",
        "tutorials/lerobot_arm.md",
    ),
    "servo-untold": Text(
        "Conventions that can't be told",
        "Gravity can't tell {joint}'s {other}.",
        "Compare a posture with the URDF's by eye.",
        "The motions would look the same with another; that of a joint about the vertical always does.",
        "tutorials/lerobot_arm.md",
    ),
}
