"""Whole identifications on simulated robots, live, each with a report: `sysid up demo`."""
