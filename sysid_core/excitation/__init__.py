"""Motions that excite what is to be identified, and the check that they are safe."""

from sysid_core.excitation.trajectory import Segment, Trajectory

__all__ = ["Segment", "Trajectory"]
