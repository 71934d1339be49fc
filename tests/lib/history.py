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


def floor_of(read, known):
    """The newest of what was known before the read began: (stamp, event)."""
    return max(((stamp, e) for at, stamp, e in known if at < read.began), default=(0, None),
               key=lambda pair: pair[0])


def deletion_of(read, versions, floor):
    """The oldest deletion as new as the floor that may be why it found nothing; None: none may."""
    return min((v for v in versions if v.kind == "delete" and v.outcome != "refused" and
                v.stamp >= floor and v.began <= read.ended), default=None, key=lambda v: v.stamp)


def fault_of(read, versions, by_value, known):
    """A sentence, or None; what the read has returned is known from now on."""
    stamp, why = floor_of(read, known)
    if read.value is None:
        version = deletion_of(read, versions, stamp)
        if stamp and not version:
            return f"{read}: nothing is there, but it was: {why}"
    else:
        version = by_value.get(read.value)
        if not version or version.began > read.ended or version.outcome == "refused":
            return f"{read}: nobody has written that"
        if version.stamp < stamp:
            return f"{read}: it is older than what was known before: {why}"
    if version and (stamp or read.value is not None):
        known.append((read.ended, version.stamp, read))
    return None


def faults_of_one(events):
    """Of one register; a read can only rest on what ended before it, so they are looked at in the
    order in which they ended."""
    versions = [e for e in events if e.kind != "read"]
    by_value = {v.value: v for v in versions if v.value is not None}
    reads = [e for e in events if e.kind == "read" and e.outcome == "answered"]
    known = [(v.ended, v.stamp, v) for v in versions if v.outcome == "acknowledged"]
    return [fault for fault in (fault_of(r, versions, by_value, known)
                                for r in sorted(reads, key=lambda r: r.ended)) if fault]
