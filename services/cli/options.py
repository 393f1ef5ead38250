"""Click commands and options with the conventions of ``demur``, and the options that several commands share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from models.workbench import Option
from services.cli.output import BadInput

if TYPE_CHECKING:
    from models.executors.device import Device

Options: TypeAlias = SimpleNamespace
"""Values of the options and arguments of a command, by name."""
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Run = Callable[[Options], int]
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
PROVIDERS = ("cpu", "cuda")


class ListOption(click.Option):
    """Option with one or more values behind one name, as in ``--predictions a.csv b.csv``; its last use counts."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **settings | {"multiple": True})
        self._unset = settings.get("default")

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the converted values; without any, the default as it was declared."""
        return super().process_value(ctx, value) or self._unset

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the placeholder of the values for help texts."""
        return f"{super().make_metavar(ctx)}..."


class Command(click.Command):
    """Command that returns its exit code; options may be abbreviated, and may have lists of values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, after abbreviations and lists are written in the form that click reads.

        Raises:
            click.UsageError: the arguments do not fit the command.
        """
        return super().parse_args(ctx, self._normalised(ctx, args))

    def _normalised(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name: param for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        lists: dict[str, list[str]] = {}
        normal: list[str] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            if word == "--":
                normal += [word, *rest]
                break
            name, equals, value = word.partition("=")
            if not name.startswith("--"):
                normal.append(word)
                continue
            candidates = [option for option in known if option.startswith(name)]
            if name not in known and len(candidates) == 1:
                name = candidates[0]
            param = known.get(name)
            takes = param.nargs if isinstance(param, click.Option) and not (param.is_flag or equals) else 0
            if takes and (not rest or _is_option(rest[0])):
                raise click.BadOptionUsage(name, f"Option {name!r} requires a value.", ctx)
            if isinstance(param, ListOption):
                lists[name] = [value] if equals else []
                while takes and rest and not _is_option(rest[0]):
                    lists[name].append(rest.pop(0))
                continue
            normal.append(f"{name}{equals}{value}")
            normal += [rest.pop(0) for _ in range(min(takes, len(rest)))]
        return [f"{name}={value}" for name, values in lists.items() for value in values] + normal


class LazyGroup(click.Group):
    """Group whose commands are imported when they are used: training needs torch, serving does not."""

    def __init__(
        self, *, places: Mapping[str, str], texts: Mapping[str, str] | None = None, default: str = "", **settings: Any
    ) -> None:
        """
        Args:
            places: ``module:attribute`` by command name.
            texts: lines of the help text by command name; None takes them from the commands, which imports them all.
            default: command that runs where none is named; empty: the help text is shown then.
        """
        if default:
            settings |= {"invoke_without_command": True, "result_callback": self._run_default}
        super().__init__(**settings, context_settings=CONTEXT)
        self._default = default
        self._places = places
        self._texts = texts

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of their declaration."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of that name."""
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def _run_default(self, code: int | None) -> int:
        """Run the default command if none was named; return the exit code."""
        context = click.get_current_context()
        default = self.get_command(context, self._default)
        if context.invoked_subcommand is None and default is not None:
            code = context.invoke(default)
        return code or 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; with texts, none is imported."""
        texts = self._texts
        if texts is None:
            commands = {name: self.get_command(ctx, name) for name in self._places}
            texts = {name: command.get_short_help_str(120) for name, command in commands.items() if command}
        with formatter.section("Commands"):
            formatter.write_dl(list(texts.items()))


def command(name: str, *, example: str) -> Callable[[Run], Command]:
    """Return a decorator that makes a command of a function; the docstring is the help text.

    Args:
        name: of the command.
        example: command line for the help text.
    """

    def decorate(run: Run) -> Command:
        @wraps(run)
        def callback(**values: Any) -> int:
            return run(Options(**values))

        made = click.command(name, cls=Command, epilog=f"\b\nExample:\n  {example}", context_settings=CONTEXT)
        return made(callback)

    return decorate


def switch(*names: str, help: str) -> Callable[[Decorated], Decorated]:
    """Return an option without a value."""
    return click.option(*names, is_flag=True, help=help)


def many(name: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Return an option with a list of values."""
    return click.option(name, cls=ListOption, **settings)


json_option = switch("--json", help="Print a JSON document.")
provider_option = click.option(
    "--provider",
    type=click.Choice(PROVIDERS),
    help="Device that computes the calibration, under its numeric profile.  [default: cpu]",
)
precision_option = click.option(
    "--precision",
    type=click.Choice(("fp32", "fp16", "int8")),
    help="translation: precision of the artefact's graphs; fp16 is for GPUs.",
)
no_replay_set_option = switch(
    "--no-replay-set",
    help="Leave inputs of your data out of the artefact. Another provider or device then defers everything until "
    "`demur models qualify --data` has compared it, which is impossible after --provider cuda.",
)


convention_option = click.option(
    "--convention",
    type=click.Choice(("official", "paper")),
    default="official",
    show_default=True,
    help="Arithmetic of the released code, or of the text of the papers.",
)


def declared(option: Option) -> click.Parameter:
    """Return the click parameter of an option that a task declares."""
    if option.kind is None:
        return click.Option([option.name], is_flag=True, help=option.help)
    shared: dict[str, Any] = {"type": click.Choice(option.choices) if option.choices else option.kind}
    shared["metavar"] = option.metavar
    if not option.name.startswith("-"):
        shared |= {"nargs": -1, "required": True} if option.count == "+" else {}
        return click.Argument([option.name], **shared)
    shared |= {"required": option.required, "help": option.help}
    if option.default is not None:  # for click, None is a default
        shared |= {"default": option.default, "show_default": option.default not in ((), "")}
    if option.count == "+":
        return ListOption([option.name], **shared)
    return click.Option([option.name], **shared, nargs=option.count or 1)


def require(options: Options, name: str, valid: Callable[[float], bool], allowed: str) -> None:
    """Check the number of an option, or each of its numbers; an option that was not given is valid.

    Args:
        valid: returns whether a number is allowed.
        allowed: description of the allowed numbers, after "must be".

    Raises:
        BadInput: a number is not allowed.
    """
    values = getattr(options, name)
    for value in values if isinstance(values, tuple) else (values,):
        if value is not None and not valid(value):
            raise BadInput(f"--{name.replace('_', '-')} = {value:g}: must be {allowed}")


def exclusive(options: Options, *names: str) -> None:
    """Check that at most one of several options was given.

    Raises:
        BadInput: two of them were.
    """
    present = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, False)]
    if len(present) > 1:
        raise BadInput(f"{' and '.join(present)} exclude each other: give one of them")


def device(options: Options) -> Device:
    """Return the device that ``--provider`` names, with the arithmetic that the settings define.

    Raises:
        ProviderUnavailable: its libraries are missing; raised before anything is read or trained.
    """
    from dataclasses import replace

    from services.runtime.settings import Settings

    device = replace(Settings.read(task=options.task).device, provider=options.provider or "cpu")
    if device.provider == "cuda":
        from models.executors import cuda_libraries  # late: it loads ONNX Runtime

        cuda_libraries.load()
    return device


def _is_option(word: str) -> bool:
    """Return whether a word is an option, and not a value such as ``-1`` or ``- a text``."""
    if not word.startswith("-") or word == "-" or " " in word:
        return False
    try:
        float(word)
    except ValueError:
        return True
    return False
