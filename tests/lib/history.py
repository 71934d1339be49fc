"""history.py - what clients were told, and whether a ring may have told it.

    history = History()
    version = history.begins("write", register, value)      ... history.ends(version, "acknowledged")
    read = history.begins("read", register)                 ... history.ends(read, "answered", value)
    history.faults()                                        sentences; [] is what is wanted

A register is one cell.  Each version of it (a write, or a delete, whose value is None) has a
timestamp of its own, given here, and later ones win.  Everything is at QUORUM.  A QUORUM read has
to return something at least as new as every version that was acknowledged before it began, and as
every version that an earlier read has returned; and nothing that nobody wrote.  One that finds
nothing where something was known has returned the oldest deletion that explains it, whether that
was acknowledged or not.  A version that was refused as Unavailable was never sent; one that failed
otherwise may be there or not, for ever.
"""
import bisect
import threading
import time

OUTCOMES = ("acknowledged", "refused", "unknown", "answered")


class Event:
    def __init__(self, kind, register, value, stamp, began):
        self.kind, self.register, self.value, self.stamp = kind, register, value, stamp
        self.began, self.ended, self.outcome = began, None, "unknown"

    def __repr__(self):
        return (f"{self.kind} {self.register} value {self.value!r} stamp {self.stamp} "
                f"{self.outcome} [{self.began} .. {self.ended}]")


class History:
    def __init__(self, clock=time.monotonic_ns, first_stamp=None):
        self.clock, self.lock, self.events = clock, threading.Lock(), []
        self.stamp = first_stamp if first_stamp is not None else time.time_ns() // 1000

    def begins(self, kind, register, value=None):
        with self.lock:
            self.stamp += kind != "read"
            event = Event(kind, register, value, self.stamp if kind != "read" else None, self.clock())
            self.events.append(event)
            return event

    def ends(self, event, outcome, value=None):
        assert outcome in OUTCOMES and event.ended is None
        if event.kind == "read":
            event.value = value
        event.outcome, event.ended = outcome, self.clock()

    def counts(self):
        counts = {}
        for e in self.events:
            name = f"{e.kind} {e.outcome}"
            counts[name] = counts.get(name, 0) + 1
        return counts

    def faults(self):
        registers = {}
        for e in self.events:
            registers.setdefault(e.register, []).append(e)
        return [fault for events in registers.values() for fault in faults_of_one(events)]


class Known:
    """What was known, and since when: the newest of it before a moment is found by bisection."""

    def __init__(self):
        self.moments, self.newest = [], [(0, None)]  # newest[n]: of the first n moments

    def add(self, moment, stamp, event):
        """Moments come in their order."""
        self.moments.append(moment)
        self.newest.append(max(self.newest[-1], (stamp, event), key=lambda pair: pair[0]))

    def before(self, moment):
        """(stamp, event) of the newest one; (0, None)."""
        return self.newest[bisect.bisect_left(self.moments, moment)]


def deletion_of(read, deletions, floor):
    """The oldest deletion as new as the floor that may be why it found nothing; None: none may.
    Deletions are in the order of their stamps."""
    first = bisect.bisect_left(deletions, floor, key=lambda v: v.stamp)
    return next((v for v in deletions[first:] if v.began <= read.ended), None)


def fault_of(read, deletions, by_value, known):
    """A sentence, or None; what the read has returned is known from now on."""
    stamp, why = known.before(read.began)
    if read.value is None:
        version = deletion_of(read, deletions, stamp)
        if stamp and not version:
            return f"{read}: nothing is there, but it was: {why}"
    else:
        version = by_value.get(read.value)
        if not version or version.began > read.ended or version.outcome == "refused":
            return f"{read}: nobody has written that"
        if version.stamp < stamp:
            return f"{read}: it is older than what was known before: {why}"
    if version and (stamp or read.value is not None):
        known.add(read.ended, version.stamp, read)
    return None


def faults_of_one(events):
    """Of one register; what ended is looked at in the order in which it ended, since a read can
    only rest on what ended before it."""
    versions = [e for e in events if e.kind != "read"]
    by_value = {v.value: v for v in versions if v.value is not None}
    deletions = sorted((v for v in versions if v.kind == "delete" and v.outcome != "refused"),
                       key=lambda v: v.stamp)
    known, faults = Known(), []
    for e in sorted((e for e in events if e.outcome in ("acknowledged", "answered")),
                    key=lambda e: e.ended):
        if e.kind != "read":
            known.add(e.ended, e.stamp, e)
        else:
            faults.append(fault_of(e, deletions, by_value, known))
    return [fault for fault in faults if fault]
