/* driver.h - the facade of driver/ for Rondo's own programs: the same as the public header.
 *
 * Inside: core.h (connections and requests as pure state machines: bytes in, bytes out), ring.h
 * (tokens and replicas as the system tables tell), face.c (the blocking face over poll(2)).
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver/rondo.h"
