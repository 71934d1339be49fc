/* wire.h - the native protocol, versions 4 and 5, for both sides; pure: bytes in, bytes out.
 *
 *     bytes ─> wire_in ─> envelopes ─> request.h / answer.h decode the bodies
 *     request.h / answer.h encode bodies ─> envelopes ─> wire_out ─> bytes
 *
 * The facade of wire/.  In reading order: protocol.h (codes), frame.h (wire_in, wire_out: headers,
 * v5 frames, LZ4, CRCs, limits), request.h, answer.h.  Facts: cql-protocol.md sections 1 to 3.
 *
 * Limits: version 3, Snappy and beta versions are not spoken; a client that tries them is answered
 * so that it falls back.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "wire/answer.h"
#include "wire/frame.h"
#include "wire/protocol.h"
#include "wire/request.h"
