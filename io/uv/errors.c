/* errors.c - the system's error numbers as ours, in one table.
 *
 * What the table does not know is, for a file, "the disk refused" and, for a socket, a lost
 * connection: both are what the caller must react to; the number itself is detail.
 */
// SPDX-License-Identifier: Apache-2.0
#include "io/uv/impl.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
    int code;
    enum err err;
} errors[] = {
    { ENOENT, ERR_NOT_FOUND },
    { ENOTDIR, ERR_NOT_FOUND },
    { EEXIST, ERR_EXISTS },
    { ENOTEMPTY, ERR_EXISTS },
    { EACCES, ERR_PERMISSION },
    { EPERM, ERR_PERMISSION },
    { EROFS, ERR_PERMISSION },
    { EADDRINUSE, ERR_ADDRESS_IN_USE },
    { EADDRNOTAVAIL, ERR_ADDRESS },
    { EAFNOSUPPORT, ERR_ADDRESS },
    { EMFILE, ERR_FILES_LIMIT },
    { ENFILE, ERR_FILES_LIMIT },
    { ENOSPC, ERR_NO_SPACE },
    { EDQUOT, ERR_NO_SPACE },
    { ECONNREFUSED, ERR_REFUSED },
    { EHOSTUNREACH, ERR_UNREACHABLE },
    { ENETUNREACH, ERR_UNREACHABLE },
    { ENETDOWN, ERR_UNREACHABLE },
    { EHOSTDOWN, ERR_UNREACHABLE },
    { ETIMEDOUT, ERR_TIMEOUT },
    { ECONNRESET, ERR_CLOSED },
    { ECONNABORTED, ERR_CLOSED },
    { EPIPE, ERR_CLOSED },
    { ENOTCONN, ERR_CLOSED },
    { ECANCELED, ERR_CLOSED },
    { EAGAIN, ERR_WOULD_WAIT },
    { ENOBUFS, ERR_OVERLOADED },
    { ENOMEM, ERR_MEMORY },
    { EINVAL, ERR_INVALID },
    { EISDIR, ERR_INVALID },
    { ENAMETOOLONG, ERR_INVALID },
    { ELOOP, ERR_INVALID },
    { EXDEV, ERR_INVALID },
};

static enum err find(int code, enum err otherwise)
{
    ensure(code != 0);
    for (size_t i = 0; i < array_count(errors); i++)
        if (errors[i].code == abs(code))
            return errors[i].err;
    return otherwise;
}

enum err err_of_system(int code) { return find(code, ERR_IO); }
enum err err_of_socket(int code) { return find(code, ERR_CLOSED); }
