/* err.c - the error table, asked by value.
 *
 * Everything here is derived from ERR_LIST; a new error is one line in err.h and nothing here.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/base.h"

struct err_entry {
    const char *name, *text;
    enum err_class class;
};

static const struct err_entry entries[ERR_COUNT] = {
#define X(name, class, text) [name] = { #name, text, ERR_CLASS_##class },
    ERR_LIST(X)
#undef X
};

static const struct err_entry *entry_of(enum err err)
{
    ensure((unsigned)err < ERR_COUNT);
    return &entries[err];
}

const char *err_name(enum err err) { return entry_of(err)->name; }

const char *err_text(enum err err) { return entry_of(err)->text; }

enum err_class err_class(enum err err) { return entry_of(err)->class; }
