/* fuzz.h - what every target is and uses.
 *
 * A target gets bytes and gives 0; what it finds it says by ending the process: a broken ensure or
 * a sanitizer.  The bytes are on the heap at their size.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* libFuzzer's name */

/* The first byte is the target's own choice (a version, a compressor): below `count`. */
static inline unsigned fuzz_choice(struct bytes *in, unsigned count)
{
    unsigned choice = in->size ? in->data[0] % count : 0;
    *in = bytes_of(in->data + (in->size > 0), in->size - (in->size > 0));
    return choice;
}
