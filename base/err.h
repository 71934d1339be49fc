/* err.h - every error of the server and the driver, as one table.
 *
 * A code exists only if some code reacts to it; what is merely detail goes to the log where it was
 * found.  The class says what the reaction is:
 *
 *   RETRY    the same request may succeed later or elsewhere
 *   REFUSE   the request is wrong or not admitted; repeating it changes nothing by itself
 *   CORRUPT  bytes are not what was written; never serve them
 *   STOP     this process cannot go on with what it was doing
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once

enum err_class {
    ERR_CLASS_NONE,
    ERR_CLASS_RETRY,
    ERR_CLASS_REFUSE,
    ERR_CLASS_CORRUPT,
    ERR_CLASS_STOP
};

/* Clang warns when a value of the enum is dropped; GCC in C11 cannot, so CI compiles with both. */
#ifdef __clang__
#define must_use __attribute__((warn_unused_result))
#else
#define must_use
#endif

/* X(name, class, sentence) */
#define ERR_LIST(X)                                                                \
    X(OK, NONE, "success")                                                         \
    X(ERR_TIMEOUT, RETRY, "the deadline passed")                                   \
    X(ERR_STOPPED, RETRY, "stopped: its owner is going away")                      \
    X(ERR_WOULD_WAIT, RETRY, "it would have to wait; nothing was started")         \
    X(ERR_CLOSED, RETRY, "the other side closed the connection")                   \
    X(ERR_REFUSED, RETRY, "nothing listens there")                                 \
    X(ERR_UNREACHABLE, RETRY, "the address cannot be reached")                     \
    X(ERR_BEHIND, RETRY, "the receiver is behind the epoch of the request")        \
    X(ERR_OVERLOADED, RETRY, "overloaded: a budget is used up")                    \
    X(ERR_UNAVAILABLE, RETRY, "too few replicas are alive")                        \
    X(ERR_WRITE_TIMEOUT, RETRY, "too few replicas acknowledged the write in time") \
    X(ERR_READ_TIMEOUT, RETRY, "too few replicas answered the read in time")       \
    X(ERR_WRITE_FAILURE, RETRY, "a replica failed to apply the write")             \
    X(ERR_READ_FAILURE, RETRY, "a replica failed to answer the read")              \
    X(ERR_FILES_LIMIT, RETRY, "too many open files")                               \
    X(ERR_NO_SPACE, RETRY, "no space left on the disk")                            \
    X(ERR_NOT_FOUND, REFUSE, "not found")                                          \
    X(ERR_EXISTS, REFUSE, "exists already")                                        \
    X(ERR_PERMISSION, REFUSE, "permission denied")                                 \
    X(ERR_ADDRESS_IN_USE, REFUSE, "the address is taken")                          \
    X(ERR_ADDRESS, REFUSE, "not an address of this machine")                       \
    X(ERR_LIMIT, REFUSE, "over a limit")                                           \
    X(ERR_PROTOCOL, REFUSE, "not what the protocol allows")                        \
    X(ERR_SYNTAX, REFUSE, "cannot be parsed")                                      \
    X(ERR_INVALID, REFUSE, "parsed, but not valid")                                \
    X(ERR_CONFIG, REFUSE, "a setting is wrong")                                    \
    X(ERR_UNAUTHORIZED, REFUSE, "not allowed")                                     \
    X(ERR_CREDENTIALS, REFUSE, "wrong credentials")                                \
    X(ERR_UNPREPARED, REFUSE, "no such prepared statement here")                   \
    X(ERR_TRUNCATE, RETRY, "truncation failed")                                    \
    X(ERR_NOT_YET, REFUSE, "not there yet")                                        \
    X(ERR_NEWER, REFUSE, "written by a newer version")                             \
    X(ERR_FOREIGN, REFUSE, "belongs to another cluster")                           \
    X(ERR_CORRUPT, CORRUPT, "corrupt: a checksum or a structure does not hold")    \
    X(ERR_IO, STOP, "the disk refused")                                            \
    X(ERR_MEMORY, STOP, "no memory")

enum must_use err {
#define X(name, class, text) name,
    ERR_LIST(X)
#undef X
        ERR_COUNT
};

/* The name ("ERR_TIMEOUT"), the sentence, the class.  Static storage, never NULL; a value outside
 * the list stops the process. */
const char *err_name(enum err);
const char *err_text(enum err);
enum err_class err_class(enum err);
