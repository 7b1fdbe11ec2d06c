"""What an ATen operator's schema states: its role, its arguments by name, what it writes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from parity.frameworks.torch_ops import MOVES
from parity.tape import Role


class Signature:
    """What an ATen operator's schema states, looked up once for each."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.names = [argument.name for argument in schema.arguments]
        self.defaults = {
            argument.name: argument.default_value
            for argument in schema.arguments
            if argument.has_default_value()
        }
        self.writes = [
            index
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        # writes its running statistics without saying so in its schema
        self.batch_norm = schema.name in ("aten::native_batch_norm", "aten::_native_batch_norm")
        bare = schema.name.split("::")[-1]
        self.kind = bare.strip("_")
        self._role: Role = "move" if bare.rstrip("_") in MOVES else "compute"
        if torch.Tag.nondeterministic_seeded in func.tags:
            self._role = "random"

    def role(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Role:
        """Random only if it draws: what has a rate of zero does not, nor what is not trained."""
        if self._role != "random":
            return self._role
        given = self.given(args, kwargs)
        rate = given.get("dropout_p", 1.0)
        trained = given.get("training", given.get("train")) is not False
        return "random" if rate and trained else "compute"

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults included."""
        return {**self.defaults, **dict(zip(self.names, args, strict=False)), **kwargs}

    def written(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[tuple[int | str, Any]]:
        if self.batch_norm and args[5]:
            yield from ((index, args[index]) for index in (3, 4))
        for index in self.writes:
            if index < len(args):
                yield index, args[index]
            elif self.names[index] in kwargs:
                yield self.names[index], kwargs[self.names[index]]

    def attributes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments that are no tensors, by name; for reports."""
        return {
            name: value
            for name, value in (*zip(self.names, args, strict=False), *kwargs.items())
            if isinstance(value, (int, float, str)) or type(value) is list and _plain(value)
        }


def _plain(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


@functools.cache
def signature_of(func: Any) -> Signature:
    return Signature(func)
