/* Dump - the rows of an SSTable: as sstabledump prints them, and raw, where nothing is lost.
 *
 * json is Cassandra's own JsonTransformer.  raw is ours, since that one prints NaN as null, an
 * empty number like an empty text, and no more than the head of a counter's context: each value,
 * path, clustering and key is in hex.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.cassandra.db.ClusteringPrefix;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.ColumnData;
import org.apache.cassandra.db.rows.ComplexColumnData;
import org.apache.cassandra.db.rows.RangeTombstoneMarker;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.io.sstable.ISSTableScanner;
import org.apache.cassandra.tools.JsonTransformer;
import org.apache.cassandra.tools.Util;
import org.apache.cassandra.utils.ByteBufferUtil;

final class Dump
{
    static void json(Files table, Path to) throws IOException
    {
        try (ISSTableScanner scanner = table.reader.getScanner();
             OutputStream out = java.nio.file.Files.newOutputStream(to)) {
            JsonTransformer.toJsonLines(
                scanner, Util.iterToStream(scanner), true, table.metadata, out);
        }
        java.nio.file.Files.writeString(to, "\n", StandardOpenOption.APPEND);
    }

    static void raw(Files table, Path to) throws IOException
    {
        try (ISSTableScanner scanner = table.reader.getScanner();
             BufferedWriter out = java.nio.file.Files.newBufferedWriter(to)) {
            while (scanner.hasNext())
                try (UnfilteredRowIterator partition = scanner.next()) {
                    for (Object one : partition(partition))
                        out.write(Oracle.JSON.writeValueAsString(one) + "\n");
                }
        }
    }

    /* A partition as a list: its key, deletion and static row, then its rows and markers. */
    static List<Object> partition(UnfilteredRowIterator partition)
    {
        List<Object> list = new ArrayList<>();
        list.add(
            Arrays.asList("partition", ByteBufferUtil.bytesToHex(partition.partitionKey().getKey()),
                deletion(partition.partitionLevelDeletion())));
        if (!partition.staticRow().isEmpty())
            list.add(row(partition.staticRow()));
        while (partition.hasNext())
            list.add(unfiltered(partition.next()));
        return list;
    }

    private static Object unfiltered(Unfiltered one)
    {
        if (one.isRow())
            return row((Row)one);
        RangeTombstoneMarker marker = (RangeTombstoneMarker)one;
        return Arrays.asList("marker", clustering(marker.clustering()),
            marker.isClose(false) ? deletion(marker.closeDeletionTime(false)) : null,
            marker.isOpen(false) ? deletion(marker.openDeletionTime(false)) : null);
    }

    private static Object row(Row row)
    {
        List<Object> cells = new ArrayList<>();
        for (ColumnData column : row) {
            if (column instanceof ComplexColumnData) {
                ComplexColumnData complex = (ComplexColumnData)column;
                cells.add(Arrays.asList(
                    column.column().name.toString(), deletion(complex.complexDeletion())));
                for (Cell<?> cell : complex)
                    cells.add(cell(cell));
            } else
                cells.add(cell((Cell<?>)column));
        }
        long timestamp = row.primaryKeyLivenessInfo().timestamp();
        int ttl = row.primaryKeyLivenessInfo().ttl();
        long expires = row.primaryKeyLivenessInfo().localExpirationTime();
        boolean live = !row.primaryKeyLivenessInfo().isEmpty();
        return Arrays.asList(row.isStatic() ? "static" : "row", clustering(row.clustering()),
            live ? Arrays.asList(timestamp, ttl, ttl == 0 ? null : (Object)expires) : null,
            deletion(row.deletion().time()), cells);
    }

    private static Object cell(Cell<?> cell)
    {
        boolean timed = cell.isTombstone() || cell.isExpiring();
        return Arrays.asList(cell.column().name.toString(),
            cell.path() == null ? null : ByteBufferUtil.bytesToHex(cell.path().get(0)),
            cell.timestamp(), cell.ttl(), timed ? (Object)(long)cell.localDeletionTime() : null,
            cell.isTombstone() ? null : ByteBufferUtil.bytesToHex(cell.buffer()));
    }

    private static Object clustering(ClusteringPrefix<?> prefix)
    {
        List<Object> values = new ArrayList<>();
        values.add(prefix.kind().name());
        for (int i = 0; i < prefix.size(); i++)
            values.add(
                prefix.get(i) == null ? null : ByteBufferUtil.bytesToHex(prefix.bufferAt(i)));
        return values;
    }

    private static Object deletion(DeletionTime time)
    {
        return time.isLive()
            ? null
            : Arrays.asList(time.markedForDeleteAt(), (long)time.localDeletionTime());
    }
}
