/* sweep_ring.h - one setting of a sweep on a fresh ring on this machine. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/sweep_engine.h"

/* As sweep_engine: the ring is started below options->folder and stopped whatever happens.  The
 * sizes of flushes are not seen from outside: `flush_bytes` are those of the run for the floor.
 * With an error the reason has been told, or stands in the report. */
enum err sweep_ring(const struct sweep_engine_options *, const double *flush_bytes, struct arena *,
                    struct sweep_row *out, struct report *);
/* Stops what a killed sweep has left running below the folder, if anything. */
void sweep_ring_stop(const char *folder);
