# SPDX-License-Identifier: Apache-2.0
"""Other identification packages on the same recordings: figaroh and mujoco.sysid, if they are
installed.
"""

from sysid_studies.bench.peers.peer import PEERS, Peer, PeerFit

__all__ = ["PEERS", "Peer", "PeerFit"]
