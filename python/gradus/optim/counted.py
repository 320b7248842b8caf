"""Steps of schedules inside of functions that are being compiled."""

import functools
import sys

from .. import _native


def remembered(schedule):
    """What puts a schedule and the settings of its optimiser back to what they are now."""
    parts = [schedule.__dict__, *schedule.optimizer.param_groups, *(s.__dict__ for s in getattr(schedule, "_schedulers", ()))]
    before = [(part, dict(part)) for part in parts]

    def back():
        for part, was in before:
            part.clear()
            part.update(was)

    return back


def counted(step):
    """A step of a schedule: in a function that is being compiled one that happens before each run. For the trace alone it is taken
    now, and taken back."""

    @functools.wraps(step)
    def stepped(self, *args, **kwargs):
        if not _native._is_compiling():
            return step(self, *args, **kwargs)

        def now(first=True):
            back, seen_by = remembered(self), sys.getprofile()
            sys.setprofile(None)  # what it reads is read anew each time
            try:
                _native._outside(lambda: step(self, *args, **kwargs))
            finally:
                sys.setprofile(seen_by)
            return back

        back = now()

        def over(reads):
            back()
            if reads.knows(self.optimizer.__dict__, "param_groups"):  # settings after this step were seen
                reads.guard("item", self.__dict__, "last_epoch", f"{type(self).__name__}.last_epoch")

        _native._after_trace(over)
        _native._before_run(now)

    return stepped
