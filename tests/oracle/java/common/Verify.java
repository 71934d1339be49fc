/* Verify - what a node would find, had it this SSTable: opened by the reader that validates, every
 * row read by scan, every partition again by key, forward and backward, rows one at a time through
 * the promoted index, then digest and checksums.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.db.Clustering;
import org.apache.cassandra.db.ClusteringBound;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.Slice;
import org.apache.cassandra.db.Slices;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.io.sstable.ISSTableScanner;
import org.apache.cassandra.io.util.DataIntegrityMetadata;
import org.apache.cassandra.schema.TableMetadata;

final class Verify
{
    private static final int ROWS_BY_NAME = 16;

    private final Files table;
    private long partitions, unfiltereds;

    private Verify(Files table)
    {
        this.table = table;
    }

    static Object run(Path data, Path schema) throws IOException
    {
        TableMetadata given =
            schema == null ? null : Script.schema(java.nio.file.Files.readAllLines(schema));
        try (Files table = Files.open(data, given, true)) {
            Verify verify = new Verify(table);
            verify.rows();
            Version.checkDigest(table);
            verify.checksums();
            if (!table.has("Summary.db"))
                throw new IOException("the reader would not have Summary.db, and deleted it");
            return Map.of("partitions", verify.partitions, "unfiltereds", verify.unfiltereds);
        }
    }

    private void rows() throws IOException
    {
        DecoratedKey before = null;
        try (ISSTableScanner scanner = table.reader.getScanner()) {
            while (scanner.hasNext())
                try (UnfilteredRowIterator partition = scanner.next()) {
                    DecoratedKey key = partition.partitionKey();
                    if (before != null && before.compareTo(key) >= 0)
                        throw new IOException("out of order: " + before + " is before " + key);
                    before = key;
                    partition(key, Dump.partition(partition));
                }
        }
        if (before == null || !Version.last(table.reader).equals(before))
            throw new IOException(
                "the last key is " + before + ", not " + Version.last(table.reader));
    }

    private void partition(DecoratedKey key, List<Object> scanned) throws IOException
    {
        partitions++;
        unfiltereds += scanned.size() - 1;
        List<Clustering<?>> rows = new ArrayList<>();
        List<Object> forward = byKey(key, Slices.ALL, false, rows);
        if (!forward.equals(scanned))
            throw new IOException("by key " + key + ": " + forward + "; by scan: " + scanned);
        List<Object> backward = byKey(key, Slices.ALL, true, null);
        int head = backward.size() > 1 && isStatic(backward.get(1)) ? 2 : 1;
        Collections.reverse(backward.subList(head, backward.size()));
        if (!backward.equals(scanned))
            throw new IOException("backward " + key + ": " + backward + "; by scan: " + scanned);
        int step = Math.max(1, rows.size() / ROWS_BY_NAME);
        for (int i = 0; i < rows.size(); i += step)
            byName(key, rows.get(i), scanned, i % 2 == 1);
    }

    private void byName(DecoratedKey key, Clustering<?> row, List<Object> scanned, boolean reversed)
        throws IOException
    {
        if (row.size() == 0)
            return;
        Slice slice =
            Slice.make(ClusteringBound.inclusiveStartOf(row), ClusteringBound.inclusiveEndOf(row));
        List<Object> found =
            byKey(key, Slices.with(table.metadata.comparator, slice), reversed, null);
        for (Object one : found)
            if (((List<?>)one).get(0).equals("row") && scanned.contains(one))
                return;
        throw new IOException("row " + row.toString(table.metadata) + " of " + key
                              + " is not found by its name: " + found);
    }

    private List<Object> byKey(
        DecoratedKey key, Slices slices, boolean reversed, List<Clustering<?>> rows)
    {
        List<Object> list;
        try (UnfilteredRowIterator found = Version.rows(table.reader, key, slices, reversed)) {
            list = Dump.partition(found);
        }
        if (rows == null)
            return list;
        try (UnfilteredRowIterator found = Version.rows(table.reader, key, slices, reversed)) {
            while (found.hasNext()) {
                Unfiltered one = found.next();
                if (one.isRow())
                    rows.add((Clustering<?>)one.clustering());
            }
        }
        return list;
    }

    private static boolean isStatic(Object one)
    {
        return ((List<?>)one).get(0).equals("static");
    }

    private void checksums() throws IOException
    {
        try (DataIntegrityMetadata.ChecksumValidator validator = Version.checksums(table)) {
            if (validator == null)
                return;
            try (InputStream in = java.nio.file.Files.newInputStream(table.data)) {
                byte[] chunk = new byte[validator.chunkSize];
                for (int got; (got = in.readNBytes(chunk, 0, chunk.length)) > 0;)
                    validator.validate(chunk, 0, got);
            }
        }
    }
}
