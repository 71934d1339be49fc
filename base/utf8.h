/* utf8.h - is it text? */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/base.h"

/* Well-formed UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF. */
bool utf8_valid(struct bytes);
bool ascii_valid(struct bytes);
