# SPDX-License-Identifier: Apache-2.0
"""Published values of tables I to IV of Zhang, Haugk, Vasudevan 2024: left leg of Digit, on
hardware.
"""

from __future__ import annotations

PAPER_JOINTS = ("hip-roll", "hip-yaw", "hip-pitch", "knee", "toe-A", "toe-B")

# (identified, manufacturer)
PAPER_TORQUE_RMS = (  # table I [N m]
    (0.9982, 1.8116),
    (0.5642, 0.3830),
    (0.8954, 1.0983),
    (0.7384, 1.8219),
    (0.3675, 0.3907),
    (0.6688, 0.9422),
)
PAPER_INTEGRATION_L2 = (  # table II [rad]
    (0.5497, 3.1946),
    (4.1865, 2.8339),
    (2.4127, 7.4932),
    (3.5314, 11.2491),
    (3.0140, 1.4248),
    (1.5589, 13.9524),
)
# Tables III and IV, 5 rad/s: (mean, largest) identified, (mean, largest) manufacturer [deg]
PAPER_TRACKING_5 = (
    ((1.985, 3.848), (2.805, 7.198)),
    ((1.398, 3.399), (2.537, 6.070)),
    ((1.343, 3.810), (2.413, 7.471)),
    ((1.283, 3.546), (2.088, 6.559)),
    ((1.217, 3.297), (1.976, 5.887)),
    ((1.781, 3.492), (1.897, 8.181)),
)
