/* books.h - the equations that every shard's books keep at every moment. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "coordinator/coordinator.h"
#include "coordinator/hints.h"

/* sent = in flight + acknowledged + hinted + refused: each mutation is in one place. */
bool books_mutations_balance(const struct coordinator_book *);
/* written = delivered + pending + expired + dropped: so is each hint. */
bool books_hints_balance(const struct hint_book *);
