# SPDX-License-Identifier: Apache-2.0
"""Conversion of the messages of one stream to columns: many messages at once, with bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.signals.bags.layouts import Layout
from sysid_core.signals.bags.records import MessageBlock
from sysid_core.signals.recording import Array, EffortKind, JointStream, WrenchStream
from sysid_core.signals.timing import TimingReport, in_order

_Block = tuple[int, Array, Array, Array, dict[str, Array]]


class _Columns:
    """Collector of the messages of one stream, in their order.

    Args:
        find: Function that returns the layout of a message.
        thinning: Number of consecutive samples that are replaced by their mean.
    """

    def __init__(self, find: Callable[[bytes], Layout], thinning: int = 1) -> None:
        self._find = find
        self.thinning = thinning
        self.broken = 0  # messages that can't be read
        self.timing = TimingReport(0, 0)  # of the stream that was made
        self._layouts: list[Layout] = []
        self._taken = 0
        # For each block: its layout's index; places in the stream, header stamps, log times, values.
        self._blocks: list[_Block] = []
        self._rest: dict[int, _Block] = {}  # of each layout: too few samples for a mean

    def take(self, messages: MessageBlock) -> None:
        """Add messages of the stream, one block for each message layout, in any order."""
        for size in np.unique(messages.length).tolist():
            rows = np.flatnonzero(messages.length == size)
            block = messages.select(messages.length == size).rows(size)
            while len(rows):
                index = self._layout_of(block[0].tobytes())
                if index is None:
                    self.broken += 1
                    rows, block = rows[1:], block[1:]
                    continue
                alike = self._layouts[index].rows_that_fit(block)
                if alike.all():
                    self._keep(index, rows, messages.log_ns, block)
                    break
                self._keep(index, rows[alike], messages.log_ns, block[alike])
                rows, block = rows[~alike], block[~alike]
        self._taken += len(messages)

    def _keep(
        self, index: int, rows: NDArray[np.intp], log_ns: Array, block: NDArray[np.uint8]
    ) -> None:
        layout = self._layouts[index]
        values = {field: layout.columns_of(block, field) for field in layout.fields}
        kept = (index, self._taken + rows, layout.stamps_of(block), log_ns[rows], values)
        self._blocks.append(kept if self.thinning == 1 else self._thinned(kept))

    def _layout_of(self, data: bytes) -> int | None:
        for index, layout in enumerate(self._layouts):
            if layout.fits(data):
                return index
        try:
            self._layouts.append(self._find(data))
        except SignalError:
            return None
        return len(self._layouts) - 1

    def _thinned(self, block: _Block) -> _Block:
        """Means of consecutive samples; samples around a gap, a decreasing stamp or a non-finite
        value are not averaged.
        """
        index, d = block[0], self.thinning
        if (rest := self._rest.pop(index, None)) is not None:
            block = _joined(rest, block)
        rows = len(block[1]) // d
        self._rest[index] = _selected(block, slice(rows * d, None))
        _, places, stamps, log, values = _selected(block, slice(rows * d))
        groups = stamps.reshape(rows, d)
        steps = np.diff(groups, axis=1)
        usual = np.median(steps) if steps.size else 0.0
        good = ((steps > 0) & (steps < 3.0 * usual)).all(axis=1) | (groups == 0).all(axis=1)

        def mean(array: Array) -> Array:
            return array.reshape(rows, d, array.shape[1]).mean(axis=1)[good]

        def middle(times: Array) -> Array:  # in integers: floats have no nanoseconds left
            first = times[:, :1]
            return (first[:, 0] + (times - first).sum(axis=1) // d)[good]

        means = {field: mean(array) for field, array in values.items()}
        return index, places[::d][good], middle(groups), middle(log.reshape(rows, d)), means

    def _thinning_note(self, topic: str) -> tuple[str, ...]:
        if self.thinning == 1:
            return ()
        return (
            f"{topic}: many samples; means of {self.thinning} consecutive samples are used, to"
            " limit the memory.",
        )


class JointRows(_Columns):
    """Collector of joint states, with joints mapped by name.

    Args:
        names: Joints to read; empty: those contained in most messages.
        thinning: Number of consecutive samples that are replaced by their mean.
    """

    def __init__(self, names: tuple[str, ...] = (), thinning: int = 1) -> None:
        super().__init__(Layout.of_joint_states, thinning)
        self.names = names

    def stream(self, topic: str, kind: EffortKind) -> tuple[JointStream, tuple[str, ...]]:
        """Return the joint states in time order, with remarks about their stamps."""
        seen: dict[tuple[str, ...], int] = {}
        for index, places, *_ in self._blocks:
            found = self._layouts[index].names
            seen[found] = seen.get(found, 0) + len(places)
        # Where several drivers share a topic (arm and gripper), the more frequent one counts.
        named = [found for found in seen if found]
        names = self.names or max(named, key=lambda found: (seen[found], len(found)), default=())
        used = []
        for block in self._blocks:
            layout = self._layouts[block[0]]
            complete = layout.fields["position"][1] == len(layout.names)
            if names and set(names) <= set(layout.names) and complete and len(block[1]):
                used.append((block, [layout.names.index(name) for name in names]))
        total, count = sum(seen.values()), sum(len(block[1]) for block, _ in used)
        if not count:
            raise SignalError(
                f"No message on '{topic}' has names and positions of all the joints {list(names)}.",
                remedy=f"Joints there: {sorted({name for found in seen for name in found})}.",
            )
        notes = [*self._thinning_note(topic)]
        if count < total:
            notes.append(
                f"{topic}: {total - count} messages lack some of the joints {list(names)} or their"
                " positions and were omitted."
            )
        arrays: dict[str, Any] = {
            "q": np.concatenate([block[4].pop("position")[:, k] for block, k in used])
        }
        for key, field, what in (
            ("v", "velocity", "velocities"),
            ("effort", "effort", "efforts"),
        ):
            rows = [
                values[:, k]
                if (values := block[4].pop(field)).shape[1] == len(self._layouts[block[0]].names)
                else values[:, :0]
                for block, k in used
            ]
            arrays[key], note = _optional(rows, what)
            notes += [f"{topic}: {note}"] if note else []
        blocks = [block for block, _ in used]
        stamps, stamp_notes = _stamps(blocks, topic)
        order = _order(blocks)
        self._blocks = []
        del blocks, used  # each array is needed once
        arrays = {key: x if x is None else _frozen(x[order]) for key, x in arrays.items()}
        stream = JointStream(names, _frozen(stamps[order]), effort_kind=kind, **arrays)
        del arrays
        ordered, report = in_order(stream)
        self.timing = report
        if len(ordered) == 0:
            raise SignalError(
                f"Every sample on '{topic}' has NaN or infinite values.",
                remedy="Check the driver, or omit joints that it does not measure (`joints`).",
            )
        return ordered, (*notes, *stamp_notes, *report.notes(topic))


class WrenchRows(_Columns):
    """Collector of the wrenches of one sensor."""

    def __init__(self, thinning: int = 1) -> None:
        super().__init__(Layout.of_wrenches, thinning)

    def stream(self, topic: str) -> tuple[WrenchStream, tuple[str, ...]]:
        """Return the wrench stream in time order, with remarks about its stamps."""
        frames: dict[str, int] = {}
        for index, places, *_ in self._blocks:
            frame = self._layouts[index].frame
            frames[frame] = frames.get(frame, 0) + len(places)
        if len(frames) > 1:
            raise SignalError(
                f"Wrenches on '{topic}' come in several frames: {frames}.",
                remedy="Record each sensor on a separate topic.",
            )
        stamps, notes = _stamps(self._blocks, topic)
        values = [block[4]["wrench"] for block in self._blocks] or [np.empty((0, 6))]
        order = _order(self._blocks)
        self._blocks = []
        wrench = _frozen(np.concatenate(values)[order])
        stream = WrenchStream(next(iter(frames), ""), _frozen(stamps[order]), wrench)
        ordered: WrenchStream
        report: TimingReport
        ordered, report = in_order(stream)
        self.timing = report
        return ordered, (*self._thinning_note(topic), *notes, *report.notes(topic))


def _frozen(own: Array) -> Array:
    """Mark an array without another owner as read-only, so that a stream need not copy it."""
    if own.base is not None:
        own.base.setflags(write=False)
    own.setflags(write=False)
    return own


def _order(blocks: list[Any]) -> Any:
    """Permutation that sorts concatenated blocks into the order of the messages."""
    places = np.concatenate([np.empty(0, dtype=np.intp), *(block[1] for block in blocks)])
    return slice(None) if (np.diff(places) > 0).all() else np.argsort(places, kind="stable")


def _stamps(blocks: list[Any], what: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Header stamps; log times for messages whose header has no stamp."""
    if not blocks:
        return np.empty(0, dtype=np.int64), ()
    header = np.concatenate([block[2] for block in blocks])
    if header.any():
        return header, ()
    note = f"{what}: the headers contain no stamps; the time of reception is used instead."
    return np.concatenate([block[3] for block in blocks]), (note,)


def _optional(rows: list[Array], what: str) -> tuple[Array | None, str]:
    """Array of an optional field, and the reason why it is missing if only some messages have it."""
    missing = sum(len(row) for row in rows if row.shape[1] == 0)
    total = sum(len(row) for row in rows)
    if missing == total:
        return None, ""
    if missing:
        return None, f"{what} are missing in {missing} of {total} messages and were omitted."
    values = np.concatenate(rows)
    if not np.isfinite(values).all(axis=1).any():
        return None, f"{what} are NaN or infinite throughout and were omitted."
    return values, ""


def _selected(block: _Block, rows: slice) -> _Block:
    index, places, stamps, log, values = block
    return index, places[rows], stamps[rows], log[rows], {k: x[rows] for k, x in values.items()}


def _joined(first: _Block, second: _Block) -> _Block:
    _, *old, old_values = first
    index, *new, new_values = second
    places, stamps, log = (np.concatenate(pair) for pair in zip(old, new, strict=True))
    values = {key: np.concatenate([old_values[key], new_values[key]]) for key in new_values}
    return index, places, stamps, log, values
