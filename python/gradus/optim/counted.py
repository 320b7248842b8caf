"""Handles steps of schedules inside of functions that are being compiled."""

import functools
import sys

from .. import _native


def state_restorer(schedule):
    """Returns a function that restores the current state of a schedule and of its optimizer's settings."""
    parts = [schedule.__dict__, *schedule.optimizer.param_groups, *(s.__dict__ for s in getattr(schedule, "_schedulers", ()))]
    before = [(part, dict(part)) for part in parts]

    def back():
        for part, was in before:
            part.clear()
            part.update(was)

    return back


def compilable_step(step):
    """Wraps the step of a schedule. In a function that is being compiled, registers the step to run before each run of the program. For
    the trace, takes the step at once, and undoes it afterwards."""

    @functools.wraps(step)
    def stepped(self, *args, **kwargs):
        if not _native._is_compiling():
            return step(self, *args, **kwargs)

        def now(first=True):
            back, seen_by = state_restorer(self), sys.getprofile()
            sys.setprofile(None)  # its reads need no guards, because it runs each time
            try:
                _native._outside(lambda: step(self, *args, **kwargs))
            finally:
                sys.setprofile(seen_by)
            return back

        back = now()

        def over(reads):
            back()
            if reads.knows(self.optimizer.__dict__, "param_groups"):  # the function has read settings after this step
                reads.guard("item", self.__dict__, "last_epoch", f"{type(self).__name__}.last_epoch")

        _native._after_trace(over)
        _native._before_run(now)

    return stepped
