/* base.c - reports: an error together with a sentence for a human.
 *
 * A sentence that does not fit is cut, never refused: losing the end of an explanation is better
 * than losing the error.
 */
// SPDX-License-Identifier: Apache-2.0
#include "base/base.h"

#include <stdarg.h>

enum err report_set(struct report *report, enum err err, const char *format, ...)
{
    if (!report)
        return err;
    va_list list;
    va_start(list, format);
    int written = vsnprintf(report->text, sizeof report->text, format, list);
    va_end(list);
    ensure(written >= 0);
    report->err = err;
    return err;
}
