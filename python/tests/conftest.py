"""Counts comparisons that were skipped because a package or a driver is not installed.

`cargo xtask test --oracles` sets `GRADUS_ORACLES=required`: then such a skip fails the run. A missing package already fails when
`oracle.peer` imports it; the count also covers drivers.
"""

import signal

import pytest

from oracle import REQUIRED

# A shell starts background jobs with Ctrl-C ignored. Tests that interrupt a computation would then never end.
signal.signal(signal.SIGINT, signal.default_int_handler)


def skipped(terminal):
    """Returns reports of tests that were skipped with a reason that contains "is not installed"."""
    reports = terminal.stats.get("skipped", [])
    return [r for r in reports if isinstance(r.longrepr, tuple) and "is not installed" in r.longrepr[2]]


def pytest_terminal_summary(terminalreporter):
    """Prints how many comparisons did not run, and which command runs them."""
    count = len(skipped(terminalreporter))
    if count:
        terminalreporter.write_line(f"{count} comparisons with other packages were skipped; `cargo xtask test --oracles` installs these and runs them")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fails the run if comparisons are required and some were skipped."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if REQUIRED and terminal is not None and skipped(terminal):
        session.exitstatus = 1
