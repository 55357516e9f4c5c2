# SPDX-License-Identifier: Apache-2.0
r"""Check of whether the masses of a description explain how the servos yield to gravity.

The stiffness of a servo absorbs any common factor of the masses, so that the description of another
robot may replay a recording fairly well. Its alternative is a model with the same joints and free
masses. In this model, gravity deflects a servo by the described torque over its stiffness plus
\(\sum_i x_i F_i(q)\). The functions \(F_i\) are a basis of all gravity torques that masses and
centres of mass on the same links can cause, and the coefficients \(x_i\) are free. Both models are
fitted to every second block of time, and compared on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sysid_core.servos.bodies import Array, BodyTree
from sysid_core.servos.examine import Finding, ServoReason
from sysid_core.servos.fit import TRIAL_STEP, JointMotion, block_weights, errors, unlikely
from sysid_core.servos.gravity import Odds, Witness, refitted, thinned
from sysid_core.servos.model import TERMS, Term
from sysid_core.servos.recording import GRAVITY, ROUNDING, ServoRecording

_ITERATIONS = 10  # of Gauss and Newton: the deflections are nearly linear in the masses
_PARTS = (1.0, 0.5, 0.25)  # of a step that are tried
_PROBE = 0.05  # of a standard deviation: beyond the rounding of stick and slip
_COMPLIANCE, _FRICTION = (list(TERMS).index(t) for t in (Term.COMPLIANCE, Term.FRICTION))


def examine_masses(
    tree: BodyTree, recordings: Sequence[ServoRecording], witnesses: Sequence[Witness | None]
) -> Iterator[Finding]:
    """Yield a finding if free masses explain held-out blocks of time better than those of the
    description, by more than a model's usual errors.

    Args:
        tree: Tree of the robot's bodies.
        recordings: Recordings with the joints in the order of the tree.
        witnesses: Fitted servo of each joint with its data; None if no servo was fitted.
    """
    if not any(witnesses):
        return
    kept, seen = thinned(recordings, witnesses)
    felt = np.ptp(np.concatenate([tree.loads(r.q).gravity(r.q) for r in kept]), axis=0) > GRAVITY
    bases = _bases(tree, [r.q for r in kept])
    gains = [
        gain
        for j, w in enumerate(seen)
        if w is not None and felt[j]
        for gain in _gains(w, bases[j])
    ]
    if Odds(-sum(gains), len(gains)).believed:
        yield Finding(ServoReason.MASSES, "", float(np.exp(-np.mean(gains))))


def _bases(tree: BodyTree, motions: Sequence[Array]) -> list[list[Array]]:
    """Deflections of each joint by free masses: for each motion the coefficients of cos q and sin q,
    shape (2, K, directions) [rad per standard deviation].

    A mass and a centre of mass deflect a servo by at most as much as usual (standard deviation).
    Directions that move no joint by more than the rounding of its encoder are left out.
    """
    n = len(tree.joints)
    columns = []
    for body in np.eye(n):
        places = [tree.carrying(body, p) for p in np.vstack([np.zeros(3), np.eye(3)])]
        loads = [[place.loads(q) for q in motions] for place in places]
        there = [np.concatenate([[x.a, x.b] for x in of], axis=1) for of in loads]
        columns += [there[0], *(x - there[0] for x in there[1:])]
    every = np.array(columns)  # (4 n, 2, K of all motions, n)
    ends = np.cumsum([len(q) for q in motions])[:-1]
    out = []
    for j in range(n):
        X = every[..., j].reshape(len(every), -1)
        most = np.abs(X).max(axis=1)
        U, S, _ = np.linalg.svd((X[most > 0.0] / most[most > 0.0, None]).T, full_matrices=False)
        F = U * S * TERMS[Term.COMPLIANCE].spread
        F = F[:, np.sqrt(2.0 * np.mean(F**2, axis=0)) > ROUNDING]
        out.append(np.split(F.reshape(2, every.shape[2], -1), ends, axis=1))
    return out


def _gains(witness: Witness, basis: Sequence[Array]) -> Array:
    """Log-likelihood of each held-out block with free masses minus that with the described masses,
    shape (blocks,).
    """
    blocks = np.concatenate([m.block for m in witness.motions])
    numbers, gains = np.unique(blocks), [np.zeros(0)]
    for side in (0, 1):
        share = (blocks % 2 == side).astype(float)
        if share.any() and not share.all():
            described, free = _errors(witness, basis, share)
            gain = unlikely(witness.motions, described) - unlikely(witness.motions, free)
            gains.append(gain[numbers % 2 != side])
    return np.concatenate(gains)


def _errors(witness: Witness, basis: Sequence[Array], share: Array) -> tuple[Array, Array]:
    """Simulation errors with the described and with free masses, which are fitted with the friction
    to a share of the samples by the method of Gauss and Newton, shape (K,) each [rad].
    """
    motions, fit = witness.motions, refitted(witness, witness.motions, share)
    directions = basis[0].shape[2]
    compliance = fit.values[Term.COMPLIANCE] or ROUNDING
    spread = fit.priors[Term.FRICTION].deviation

    def missed(x: Array) -> Array:
        p = fit.vector.copy()
        p[_COMPLIANCE], p[_FRICTION] = compliance, max(p[_FRICTION] + spread * x[-1], 0.0)
        pairs = zip(motions, basis, strict=True)
        return errors([_deflected(m, F @ x[:-1] / compliance) for m, F in pairs], p, TRIAL_STEP)

    x = np.zeros(directions + 1)
    r = described = missed(x)
    for _ in range(_ITERATIONS):
        w = share * block_weights(motions, r)
        J = np.stack([(missed(x + _PROBE * e) - r) / _PROBE for e in np.eye(len(x))], axis=1)
        known = fit.data / float(w @ r**2)
        H = J.T @ (w[:, None] * J) * known + np.eye(len(x))
        move = np.linalg.solve(H, J.T @ (w * r) * known + x)
        cost = fit.data * np.log(w @ r**2) + x @ x
        for part in _PARTS:
            x_new = x - part * move
            r_new = missed(x_new)
            if fit.data * np.log(w @ r_new**2) + x_new @ x_new < cost:
                break
        else:
            break
        x, r = x_new, r_new
    return described, r


def _deflected(m: JointMotion, more: Array) -> JointMotion:
    """Motion of a joint with more gravity, coefficients of cos q and sin q of shape (2, K) [N m]."""
    a, b = m.loads.a.copy(), m.loads.b.copy()
    a[:, m.joint] += more[0]
    b[:, m.joint] += more[1]
    return replace(m, loads=replace(m.loads, a=a, b=b))
