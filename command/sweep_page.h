/* sweep_page.h - the results of a sweep as one HTML page with its drawings inside. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "command/sweep_row.h"

/* The whole page: no script, nothing from elsewhere, light and dark as the reader has it. */
void sweep_page(const struct sweep *, const struct sweep_result *, struct buf *out);

/* ---- its drawings, as SVG ---- */
/* Rewrites against SSTables per read: a dot a setting. */
void sweep_draw_curve(const struct sweep_result *, struct buf *out);
/* Space over the floor: a bar a setting. */
void sweep_draw_space(const struct sweep_result *, struct buf *out);
/* How many SSTables reads opened: a bar a setting, divided. */
void sweep_draw_spread(const struct sweep_result *, struct buf *out);
/* Text with what HTML reads as its own written out. */
void sweep_escape(const char *text, struct buf *out);
