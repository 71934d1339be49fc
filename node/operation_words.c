/* operation_words.c - what a form says of an operation, word by word: yes or no, numbers, tokens.
 *
 * A word that is none of those that may stand there is refused: nothing is guessed, since what is
 * taken for "no" might be done for real.
 */
// SPDX-License-Identifier: Apache-2.0
#include "node/operation.h"

#include <errno.h>
#include <stdlib.h>

enum err operation_flag(struct operation *o, const char *name, bool *out)
{
    const char *text = form_get(&o->form, name);
    *out = text && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
    if (!text || *out || strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return OK;
    return report_set(&o->failed, ERR_INVALID, "%s is true or false, not '%.40s'", name, text);
}

enum err operation_number(struct operation *o, const char *name, uint64_t least, uint64_t most,
                          uint64_t *out)
{
    const char *text = form_get(&o->form, name);
    char *end = NULL;
    errno = 0;
    *out = text ? strtoull(text, &end, 10) : 0;
    bool is_number = text && *text >= '0' && *text <= '9' && !*end && errno == 0;
    if (is_number && *out >= least && *out <= most)
        return OK;
    return report_set(&o->failed, ERR_INVALID, "%s is a whole number from %llu to %llu%s%.40s%s",
                      name, (unsigned long long)least, (unsigned long long)most,
                      text ? ", not '" : "", text ? text : "", text ? "'" : "");
}

enum err operation_token(struct operation *o, const char *name, int64_t *out)
{
    const char *text = form_get(&o->form, name);
    char *end = NULL;
    errno = 0;
    *out = text ? strtoll(text, &end, 10) : 0;
    bool is_number = text && (*text == '-' || (*text >= '0' && *text <= '9')) && end != text;
    if (is_number && !*end && errno == 0)
        return OK;
    return report_set(&o->failed, ERR_INVALID, "%s is a token, a whole number of 64 bits%s%.40s%s",
                      name, text ? ", not '" : "", text ? text : "", text ? "'" : "");
}
