/* sstable.h - Cassandra's SSTable files as bytes: the BIG format, versions nb and oa.
 *
 *     partitions, rows, markers ──writer──> Data  Index  Summary  Filter  Statistics  ...
 *     Data  Index  ...          ──decode──> partitions, rows, markers
 *
 * The facade of sstable/.  Pure: bytes in, bytes out; no disk, no waiting.  Who reads and writes
 * the files is store/; the offline commands and the fuzzers use the same functions.
 *
 *     name.h         which files make up one SSTable, and what they are called
 *     compress.h     the compressors; chunks of Data.db; CompressionInfo.db, CRC.db
 *     filter.h       Filter.db
 *     summary.h      Summary.db
 *     estimate.h     the sketches inside of Statistics.db: histograms, drop times, cardinality
 *     statistics.h   Statistics.db
 *     layout.h       the columns of a file and how its numbers are coded (serialization header)
 *     unfiltered.h   Data.db: partitions, rows, markers
 *     index.h        Index.db, with the column index of wide partitions
 *     writer.h       all of them together, written in one pass
 *     dump.h         rows as JSON, as sstabledump prints them
 *     checksums.h    Checksums.db, a component of our own: what covers every other byte
 *
 * Every integer is big-endian where nothing else is said; vints are Cassandra's (base/buf.h).  The
 * facts are in the format's own sources; docs/formats.md tells what this project chose where the
 * format leaves a choice.
 *
 * Decoders trust nothing: each takes a report that says what is wrong and at which offset of the
 * component, and answers ERR_CORRUPT.
 */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sstable/checksums.h"
#include "sstable/compress.h"
#include "sstable/dump.h"
#include "sstable/filter.h"
#include "sstable/index.h"
#include "sstable/layout.h"
#include "sstable/name.h"
#include "sstable/statistics.h"
#include "sstable/summary.h"
#include "sstable/unfiltered.h"
#include "sstable/writer.h"
