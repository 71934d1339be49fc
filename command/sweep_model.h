/* sweep_model.h - what the formulas predict of a setting: no files, milliseconds. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/sweep_row.h"

/* Stored bytes of each flush as they are estimated from rows that are made and packed; *out has
 * room for sweep_flushes. */
void sweep_model_flushes(const struct sweep *, const struct sweep_setting *, double *out);
/* Predicts the row's stops from the sizes of flushes, measured or estimated. */
void sweep_model(const struct sweep *, const struct sweep_setting *, const double *flush_bytes,
                 struct sweep_stops *out);
