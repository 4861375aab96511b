"""The command, run in this process as a user would type it."""

import sys

import pytest

from sghc import cli


def run(capsys, *arguments) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of the command."""
    sys.argv = ["sghatecheck", *map(str, arguments)]
    with pytest.raises(SystemExit) as left:
        cli.main()
    out, err = capsys.readouterr()
    return left.value.code or 0, out, err
