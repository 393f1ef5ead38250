"""Reader of untrusted pickles as plain values: names in them are never imported, looked up or called.

Python's own unpickler runs instructions that call and change the objects that they name, and objects that a restricted
unpickler allows can still be altered, grown or called with unexpected arguments. This reader only builds lists,
dictionaries, strings and numbers of its own; a ``Builder`` defines the meaning of a name, and every other object
becomes an ``Inert``.
"""

import pickletools
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

MOST_STEPS = 4_000_000
"""Most instructions of a pickle; checkpoints of large models have some hundred thousand."""
MOST_BYTES = 1 << 28

Builder = Callable[[tuple[Any, ...]], Any]
"""Function from the arguments of a named call to a value; raises ValueError for wrong arguments."""


class Inert:
    """Placeholder for an object of an unknown class."""


@dataclass(frozen=True)
class Named(Inert):
    """Name in a module, not looked up."""

    module: str
    name: str


class _Mark:
    pass


_MARK = _Mark()
_CONSTANTS: Mapping[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = frozenset(
    step.name for step in pickletools.opcodes if not step.stack_before and step.arg and len(step.stack_after) == 1
) - {"GLOBAL", "PERSID", "GET", "BINGET", "LONG_BINGET", "EXT1", "EXT2", "EXT4"}
"""Instructions that push their own argument: numbers, texts and bytes."""
_EMPTY: Mapping[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": list}
_KEYS = (str, bytes, int, float, type(None))
_PARTS = 8
"""Most elements of a tuple that is a key."""
_LARGEST = 1 << 63
"""Bound of whole numbers that are keys."""


@dataclass
class _Window:
    """Bounded reader of a pickle; lengths that the pickle declares are not trusted."""

    file: BinaryIO
    left: int = MOST_BYTES

    def read(self, count: int) -> bytes:
        self._take(count)
        return self.file.read(count)

    def readline(self) -> bytes:
        line = self.file.readline(self.left + 1)
        self._take(len(line))
        return line

    def _take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ValueError(f"more than {MOST_BYTES} bytes of values")


@dataclass
class _Machine:
    builders: Mapping[tuple[str, str], Builder]
    persistent: Callable[[Any], Any]
    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value is needed")
        return value

    def since_mark(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("a mark is missing")
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def made(self, what: Any, arguments: Any) -> Any:
        """Return an object of a class, or the result of a function."""
        if isinstance(what, Named) and isinstance(arguments, tuple):
            builder = self.builders.get((what.module, what.name))
            if builder is not None:
                return builder(arguments)
        return Inert()


def load(
    file: BinaryIO,
    builders: Mapping[tuple[str, str], Builder],
    persistent: Callable[[Any], Any],
    most: int = MOST_STEPS,
) -> Any:
    """Return the value of the pickle at the file's position, and move the position behind it.

    Sets are lists, names are ``Named``, and objects of classes that no builder knows are ``Inert``.

    Args:
        builders: builders by module and name; ``argparse.Namespace`` and ``collections.OrderedDict`` are built in.
        persistent: function from a persistent id to its value.
        most: largest number of instructions.

    Raises:
        ValueError: not a pickle, or one that is too long.
    """
    machine = _Machine({**_PLAIN, **builders}, persistent)
    try:
        for count, (step, argument, _) in enumerate(pickletools.genops(cast(BinaryIO, _Window(file)))):
            if count >= most:
                raise ValueError(f"more than {most} instructions")
            if step.name == "STOP":
                return machine.pop()
            _run(machine, step.name, argument)
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise ValueError(f"no pickle: {type(error).__name__}: {error}") from error
    raise ValueError("no pickle: it does not stop")


def _run(machine: _Machine, name: str, argument: Any) -> None:
    stack = machine.stack
    if name in _VALUES:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name == "MARK":
        stack.append(_MARK)
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name in ("GET", "BINGET", "LONG_BINGET"):
        stack.append(machine.memo[argument])
    elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
        machine.memo[argument] = stack[-1]
    elif name == "MEMOIZE":
        machine.memo[len(machine.memo)] = stack[-1]
    elif name in _STEPS:
        _STEPS[name](machine, argument)
    elif name not in ("PROTO", "FRAME"):
        raise ValueError(f"the instruction {name} is not read")


def _tuple_of(count: int) -> Callable[[_Machine, Any], None]:
    def step(machine: _Machine, argument: Any) -> None:
        values = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(reversed(values)))

    return step


def _extend(machine: _Machine, values: list[Any]) -> None:
    target = machine.stack[-1]
    if isinstance(target, list):
        target.extend(values)


def _set(machine: _Machine, values: list[Any]) -> None:
    target = machine.stack[-1]
    if isinstance(target, dict):
        target.update(_pairs(values))


def _pairs(values: list[Any]) -> dict[Any, Any]:
    if len(values) % 2:
        raise ValueError("a key without a value")
    return {_key(key): value for key, value in zip(values[::2], values[1::2], strict=True)}


def _key(key: Any) -> Any:
    """Check the type and size of a key, and return it.

    Hashing deeply nested objects would end the process, and hashing long numbers takes time proportional to their
    length.
    """
    parts = key if isinstance(key, tuple) and len(key) <= _PARTS else (key,)
    for part in parts:
        if not isinstance(part, _KEYS) or (isinstance(part, int) and abs(part) > _LARGEST):
            raise ValueError(f"a key of the type {type(key).__name__} is not read")
    return key


def _name(machine: _Machine, module: Any, name: Any) -> None:
    if not (isinstance(module, str) and isinstance(name, str)):
        raise ValueError("a name that is no text")
    machine.stack.append(Named(module, name))


def _global(machine: _Machine, argument: Any) -> None:
    module, _, name = argument.partition(" ")
    _name(machine, module, name)


def _global_of_stack(machine: _Machine, argument: Any) -> None:
    name = machine.pop()
    _name(machine, machine.pop(), name)


def _made(machine: _Machine, argument: Any) -> None:
    arguments = machine.pop()
    machine.stack.append(machine.made(machine.pop(), arguments))


def _made_with_names(machine: _Machine, argument: Any) -> None:
    machine.pop()
    _made(machine, argument)


def _instance(machine: _Machine, argument: Any) -> None:
    arguments = tuple(machine.since_mark())
    module, _, name = argument.partition(" ")
    machine.stack.append(machine.made(Named(module, name), arguments))


def _object(machine: _Machine, argument: Any) -> None:
    what, *arguments = machine.since_mark()
    machine.stack.append(machine.made(what, tuple(arguments)))


def _build(machine: _Machine, argument: Any) -> None:
    state, target = machine.pop(), machine.stack[-1]
    if type(target) is Namespace and isinstance(state, dict):
        vars(target).update({name: value for name, value in state.items() if isinstance(name, str)})


def _persistent(machine: _Machine, argument: Any) -> None:
    machine.stack.append(machine.persistent(machine.pop()))


_STEPS: Mapping[str, Callable[[_Machine, Any], None]] = {
    "POP": lambda machine, argument: machine.stack.__delitem__(-1),
    "POP_MARK": lambda machine, argument: machine.since_mark().clear(),
    "DUP": lambda machine, argument: machine.stack.append(machine.stack[-1]),
    "APPEND": lambda machine, argument: _extend(machine, [machine.pop()]),
    "APPENDS": lambda machine, argument: _extend(machine, machine.since_mark()),
    "ADDITEMS": lambda machine, argument: _extend(machine, machine.since_mark()),
    "SETITEM": lambda machine, argument: _set(machine, [machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, argument: _set(machine, machine.since_mark()),
    "LIST": lambda machine, argument: machine.stack.append(machine.since_mark()),
    "FROZENSET": lambda machine, argument: machine.stack.append(machine.since_mark()),
    "DICT": lambda machine, argument: machine.stack.append(_pairs(machine.since_mark())),
    "TUPLE": lambda machine, argument: machine.stack.append(tuple(machine.since_mark())),
    "EMPTY_TUPLE": _tuple_of(0),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "GLOBAL": _global,
    "STACK_GLOBAL": _global_of_stack,
    "INST": _instance,
    "OBJ": _object,
    "REDUCE": _made,
    "NEWOBJ": _made,
    "NEWOBJ_EX": _made_with_names,
    "BUILD": _build,
    "BINPERSID": _persistent,
}


def _namespace(arguments: tuple[Any, ...]) -> Namespace:
    return Namespace()


def _ordered(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    if arguments:
        raise ValueError("an ordered dictionary made of something; Python 3 fills it afterwards")
    return {}


_PLAIN: Mapping[tuple[str, str], Builder] = {
    ("argparse", "Namespace"): _namespace,
    ("collections", "OrderedDict"): _ordered,
}
