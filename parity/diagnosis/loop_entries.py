"""Where a loop starts to differ, if one side changes at every step what the other passes on."""

from __future__ import annotations

from dataclasses import replace

from parity.diagnosis.region import Region, Scene, SideWalk


def or_first_in_loop(scene: Scene, regions: tuple[Region, Region]) -> tuple[Region, Region]:
    """Two regions; what one changes at every step, as a mask does, the other lacks in the loop.

    The side that passes it on is placed there, and not at what reads the last step.
    """
    a, b = regions
    return _in_loop(scene, scene.candidate, a, b), _in_loop(scene, scene.reference, b, a)


def _in_loop(scene: Scene, walk: SideWalk, region: Region, other: Region) -> Region:
    """A region, with the entry where it passes on what the `other` one, of `walk`, changes."""
    if other.entry is None:
        return region
    graph, last = region.tape.graph, {*region.boundary()}
    read = {scene.partner(walk, value) for value in other.boundary()}
    first = {scene.partner(walk, value) for value in other.entry.inputs} & read
    steps = [value for value in first if value is not None]
    if not steps or not last.isdisjoint(steps) or last.isdisjoint(read):
        return region
    before = graph.ancestors(steps)
    after = graph.ancestors(last) - before
    loops = (ops for ops in graph.readers_of_matrices if ops & after)
    if not any(len(ops & (before | after)) > 1 for ops in loops):
        return region  # what lies between the two is no loop
    readers = graph.computing_readers(graph.moved(*steps))
    return replace(region, entry=next((op for op in readers if op.index in after), region.entry))
