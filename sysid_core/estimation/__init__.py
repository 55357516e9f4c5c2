"""Estimators: configuration in the constructor, data in `fit`, an `Estimate` out."""

from sysid_core.estimation.arm_recordings import Processing
from sysid_core.estimation.arm_regression import ArmEquations, arm_structural_rows
from sysid_core.estimation.carried_load import payload_torque_regressor, torque_streams
from sysid_core.estimation.consistent_fit import Consistency, Prior, consistent_fit
from sysid_core.estimation.constrained import (
    chain_with_parameters,
    identified_chain,
    identify_constrained,
    identify_constrained_equations,
)
from sysid_core.estimation.constrained_equations import ConstrainedEquations
from sysid_core.estimation.constrained_recordings import (
    ConstrainedProcessing,
    ConstrainedStretch,
    read_loop_bag,
)
from sysid_core.estimation.covariance import correlated_information
from sysid_core.estimation.cross_validation import (
    BlockScores,
    Choice,
    choose_prior_weight,
    choose_terms,
    held_out_error,
    term_benefits,
)
from sysid_core.estimation.density_prior import DensityPrior, UnknownContrast, shape_covariance
from sysid_core.estimation.drive_gains import DriveGains, drive_gains_from_targets
from sysid_core.estimation.entropic import EntropicRegression
from sysid_core.estimation.estimate import Estimate, Verdict, residual_statistics
from sysid_core.estimation.homogeneous import HomogeneousBody
from sysid_core.estimation.identification import (
    Estimator,
    Identification,
    full_parameters,
    identify,
    identify_equations,
)
from sysid_core.estimation.identification_file import load_identification, save_identification
from sysid_core.estimation.information import Information
from sysid_core.estimation.joint_spline import JointSplines, SplineBasis
from sysid_core.estimation.known_load import (
    KnownLoad,
    LoadedIdentification,
    identify_with_load,
    with_gains,
)
from sysid_core.estimation.least_squares import LeastSquares, RobustLoss, Weighting
from sysid_core.estimation.lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.motion_belief import (
    ExactMotion,
    MotionBelief,
    SplineMotion,
    WhiteMotion,
)
from sysid_core.estimation.motion_error import (
    filtered_motion_covariance,
    regressor_derivatives,
    wrench_sensitivity,
)
from sysid_core.estimation.natural_scale import friction_scale, inertial_scale
from sysid_core.estimation.online import OnlinePayload, PayloadState
from sysid_core.estimation.payload import PayloadData, PayloadInformation, dynamism
from sysid_core.estimation.payload_from_torques import ExtraTorque, LoadedArm, PayloadFromTorques
from sysid_core.estimation.payload_least_squares import OrdinaryLeastSquares
from sysid_core.estimation.payload_map import (
    CALIBRATED_SENSOR,
    PayloadMAP,
    SensorModel,
    white_noise_sd,
)
from sysid_core.estimation.payload_replay import replay_payload
from sysid_core.estimation.payload_result import PAYLOAD_NAMES, PayloadSummary, summarise_payload
from sysid_core.estimation.payload_session import (
    MOTION_SEGMENTS,
    PayloadMoment,
    PayloadSession,
)
from sysid_core.estimation.payload_smoothing import smoothed_payload_data
from sysid_core.estimation.payload_streams import PayloadStreams
from sysid_core.estimation.physical import PhysicalLeastSquares
from sysid_core.estimation.physical_arm import PhysicalArm
from sysid_core.estimation.point_mass import PointMassDiscretization
from sysid_core.estimation.regression import (
    Compressed,
    Regression,
    compress,
    condition_number,
    excited_rank,
    solve_compressed,
)
from sysid_core.estimation.running_map import RunningMAP
from sysid_core.estimation.sequential import (
    LockedTorque,
    SequentialFit,
    SequentialLeastSquares,
    Unexcited,
)
from sysid_core.estimation.sequential_motion import (
    SequentialIdentification,
    identify_sequentially,
    motion_segments,
    moving_joints,
)
from sysid_core.estimation.torque_delay import TorqueDelay, torque_delay
from sysid_core.estimation.total_least_squares import RecursiveTotalLeastSquares

__all__ = [
    "CALIBRATED_SENSOR",
    "MOTION_SEGMENTS",
    "PAYLOAD_NAMES",
    "ArmEquations",
    "BlockScores",
    "Choice",
    "Compressed",
    "Consistency",
    "ConstrainedEquations",
    "ConstrainedProcessing",
    "ConstrainedStretch",
    "DensityPrior",
    "DriveGains",
    "EntropicRegression",
    "Estimate",
    "Estimator",
    "ExactMotion",
    "ExtraTorque",
    "HomogeneousBody",
    "Identification",
    "Information",
    "JointSplines",
    "KnownLoad",
    "LeastSquares",
    "LoadedArm",
    "LoadedIdentification",
    "LockedTorque",
    "MotionBelief",
    "OnlinePayload",
    "OrdinaryLeastSquares",
    "PayloadData",
    "PayloadFromTorques",
    "PayloadInformation",
    "PayloadMAP",
    "PayloadMoment",
    "PayloadSession",
    "PayloadState",
    "PayloadStreams",
    "PayloadSummary",
    "PhysicalArm",
    "PhysicalLeastSquares",
    "PointMassDiscretization",
    "Prior",
    "Processing",
    "RecursiveTotalLeastSquares",
    "Regression",
    "RobustLoss",
    "RunningMAP",
    "SensorModel",
    "SequentialFit",
    "SequentialIdentification",
    "SequentialLeastSquares",
    "SplineBasis",
    "SplineMotion",
    "TorqueDelay",
    "Unexcited",
    "UnknownContrast",
    "Verdict",
    "Weighting",
    "WhiteMotion",
    "arm_structural_rows",
    "chain_with_parameters",
    "choose_prior_weight",
    "choose_terms",
    "compress",
    "condition_number",
    "consistent_fit",
    "correlated_information",
    "drive_gains_from_targets",
    "dynamism",
    "excited_rank",
    "filtered_motion_covariance",
    "friction_scale",
    "full_parameters",
    "held_out_error",
    "identified_chain",
    "identify",
    "identify_constrained",
    "identify_constrained_equations",
    "identify_equations",
    "identify_sequentially",
    "identify_with_load",
    "inertial_scale",
    "load_identification",
    "motion_segments",
    "moving_joints",
    "payload_torque_regressor",
    "pseudo_inertia_expression",
    "read_loop_bag",
    "regressor_derivatives",
    "replay_payload",
    "residual_statistics",
    "save_identification",
    "shape_covariance",
    "smoothed_payload_data",
    "solve_compressed",
    "solve_convex",
    "summarise_payload",
    "term_benefits",
    "torque_delay",
    "torque_streams",
    "white_noise_sd",
    "with_gains",
    "wrench_sensitivity",
]
