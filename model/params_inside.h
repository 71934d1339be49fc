/* params_inside.h - what the files that read options share.  Inside of model/. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* The value of a pair; NULL when the map has none of that name. */
const char *option_pair(const struct option *map, const char *name);
/* Copies the map with the pair added, or replaced, in its order. */
struct option option_with(struct arena *, const struct option *map, const char *name,
                          const char *value);
/* The class that the map names, without its package; NULL: none is named. */
const char *option_class(const struct option *map, const char *package);

bool text_is(const char *text, const char *word); /* in any case */
bool text_flag(const char *text, bool *out);      /* true or false, in any case */
bool text_whole(const char *text, int64_t *out);  /* digits, a sign before them or none */
bool text_decimal(const char *text, double *out); /* no NaN, no Infinity */
/* As Java shows a double: at least one digit behind the point. */
const char *text_of_double(struct arena *, double);

enum err params_compaction(struct compaction_params *, struct arena *, const struct option *,
                           struct report *);
/* Also the old place of crc_check_chance: *chance stays when it is not given there. */
enum err params_compression(struct compression_params *, double *chance, struct arena *,
                            const struct option *, struct report *);
enum err params_caching(struct table_params *, struct arena *, const struct option *,
                        struct report *);
/* speculative_retry and additional_write_policy, in the spelling that is shown. */
enum err params_retry(const char **out, struct arena *, const struct option *, struct report *);
