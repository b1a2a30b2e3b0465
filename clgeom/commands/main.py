"""The command ``clgeom``: the group of all commands, the handler of errors, and the exit codes."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import click

from clgeom import __version__
from clgeom.commands.help import Group
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import first_error, printable, shown
from clgeom.quirks import driver_output

#: For each command its module, attribute and line of help. A module is imported when its command is used.
COMMANDS = {
    "align": ("clgeom.commands.align", "align", "Align the sequences of two FASTA files in pairs."),
    "bench": ("clgeom.commands.bench", "bench", "Compare the speed of a device with other packages."),
    "completion": ("clgeom.commands.completion", "completion", "Print the script for completion in a shell."),
    "demo": ("clgeom.commands.demo", "demo", "Compute and draw the convex hull of the cities of the world."),
    "devices": ("clgeom.commands.devices", "devices", "List the OpenCL devices of this machine."),
    "dp": ("clgeom.commands.dp", "dp", "Dynamic programming: sequences, knapsacks, any recurrence."),
    "hull": ("clgeom.commands.hull", "hull", "Convex hull of points."),
    "kernels": ("clgeom.commands.kernels", "kernels", "Print OpenCL C, and check what it needs of a GPU."),
    "polygonize": ("clgeom.commands.polygonize", "polygonize", "Polygons of all classes of a raster, as land cover."),
    "region": ("clgeom.commands.region", "region", "Coverage polygons of a raster or of points."),
    "selftest": ("clgeom.commands.selftest", "selftest", "Check a device: every kernel against its reference."),
    "servers": ("clgeom.commands.servers", "servers", "Best server, power and interference of a radio network."),
    "sort": ("clgeom.commands.sort", "sort", "Sort the numbers of a file."),
    "trace": ("clgeom.commands.trace", "trace", "Show an algorithm step by step: page, animation or picture."),
    "tune": ("clgeom.commands.tune", "tune", "Find the fastest work-group sizes on a device."),
}
#: Exit codes: wrong input or call; failure of the system (output, memory, compiler of a driver); bug; interrupt.
WRONG_INPUT, FAILED, BUG, STOPPED = 2, 1, 70, 130


class Commands(Group):
    """A group that lists COMMANDS without importing them and reports every error in one line."""

    def list_commands(self, ctx: click.Context) -> list[Any]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: Any) -> Any:
        if name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[name]
        return getattr(importlib.import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, _, words) in COMMANDS.items()])

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _aborting():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _aborting():
            return super().invoke(ctx)

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **kwargs)
        sys.exit(_run(lambda: run(*args, standalone_mode=False, **kwargs)))


@contextlib.contextmanager
def _aborting() -> Iterator[Any]:
    """Let an interrupt pass through Click, which prints an empty line for one."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise click.Abort from error


@keeps_subnormals
def _run(command: Any) -> int:
    """Run a command and return its exit code; an error prints one line on stderr."""
    try:
        result = command()
        return result if isinstance(result, int) else 0
    except BaseException as error:
        if isinstance(error, click.Abort) or _follows_interrupt(error):
            return _stopped()
        return _code_of(error)


def _code_of(error: Any) -> int:
    """Print one line about an error; returns the exit code."""
    from clgeom.errors import ClgeomError, KernelBuildError

    try:
        raise error
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a command, such as "clgeom trace"
        click.echo(error.format_message())
        return 0
    except click.UsageError as error:
        return _complain(f"{_message_of(error)}{_where_to_look(error)}")
    except click.ClickException as error:
        return _complain(error.format_message())
    except KernelBuildError as error:  # for a kernel of clgeom the message holds its source and the compiler's log
        if error.in_users_text:
            return _complain(error)
        if os.environ.get("CLGEOM_DEBUG"):
            click.echo(str(error), err=True)
        first, *more = str(error).splitlines()
        if more and error.log:
            first += f" The compiler said: {first_error(error.log)}"
        return _complain(first, FAILED)
    except ClgeomError as error:
        return _complain(error)
    except BrokenPipeError:  # the reader of the output has closed it
        _forget_stdout()
        return FAILED
    except OSError as error:  # of stdout: errors of files are InvalidInput
        _forget_stdout()
        return _complain(f"The output cannot be written: {error.strerror or error}", FAILED)
    except MemoryError:
        return _complain("There is not enough memory for this.", FAILED)
    except Warning as error:  # under python -W error
        return _complain(error, FAILED)
    except Exception as error:
        if os.environ.get("CLGEOM_DEBUG"):
            import traceback

            traceback.print_exc()
        what = f"{type(error).__name__}: {shown(str(error), 300)}"
        return _complain(f"unexpected {what} (this is a bug; CLGEOM_DEBUG=1 shows the traceback)", BUG)


def _message_of(error: Any) -> str:
    """Return the message of a wrong call; that of an unknown option is the same with every version of Click."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    near = " or ".join(f"'{one}'" for one in sorted(error.possibilities or ()))
    return f"No such option '{error.option_name}'.{f' Did you mean {near}?' if near else ''}"


def _where_to_look(error: Any) -> str:
    """Return a sentence that names the help, for an argument or an option that is missing or unknown."""
    asked = isinstance(error, click.NoSuchOption) and error.possibilities
    if asked or error.ctx is None or not isinstance(error, (click.MissingParameter, click.NoSuchOption)):
        return ""
    stop = "" if _message_of(error).rstrip().endswith(".") else "."
    return f"{stop} See '{error.ctx.command_path} --help'."


def _stopped() -> int:
    click.echo("clgeom: stopped", err=True)
    return STOPPED


#: Interrupts of this process. A library may make another error of one, when it cleans up or while it is imported.
_interrupts: list[Any] = []


def _follows_interrupt(error: Any) -> bool:
    """Return whether an error is an interrupt, or was raised after one."""
    if _interrupts and not isinstance(error, SystemExit):
        return True
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _interrupt(number: int, frame: Any) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def _unraisable(event: Any) -> None:
    """Print what Python cannot raise, but interrupts."""
    if not issubclass(event.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(event)


def _complain(message: object, code: Any = WRONG_INPUT) -> int:
    click.echo(f"clgeom: error: {printable(' '.join(str(message).split()))}", err=True)
    return code


def _forget_stdout() -> None:
    """Discard the buffer of stdout: Python flushes it at exit, which would fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: object, category: Any, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without its position in the code. NumPy's of single numbers are left out."""
    from clgeom.commands import terminal

    if not issubclass(category, RuntimeWarning):
        terminal.echo_beside_bar(_warning(message, category).rstrip(), err=True)


def _warning(message: object, category: Any, *_: Any, **__: Any) -> str:
    """Return the line of a warning, also where another thread has put back its own ``showwarning``."""
    del category
    return f"clgeom: warning: {printable(' '.join(str(message).split()))}\n"


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def cli(ctx: click.Context, version: Any) -> None:
    """Exact hulls, outlines, sorts and dynamic programming on any OpenCL device.

    'clgeom COMMAND --help' shows the options of a command, and examples.
    """
    if version:
        click.echo(f"clgeom {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Entry point of the command ``clgeom``."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: libraries would print into the next file opened
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # the encoding of the terminal may lack letters
    if os.name == "posix" and not os.environ.get("CLGEOM_DEBUG"):
        driver_output.discard()
    warnings.showwarning, warnings.formatwarning = _warn, _warning
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable
    cli.main(prog_name="clgeom")
