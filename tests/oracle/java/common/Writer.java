/* Writer - partitions into one SSTable, by Cassandra's own writer.
 *
 * The header is one of two kinds: as CQLSSTableWriter makes it (minima that are fixed numbers,
 * every column of the table), or as a flush makes it (minima of the data, only columns that have
 * data).
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import org.apache.cassandra.db.RegularAndStaticColumns;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.ISSTableScanner;
import org.apache.cassandra.io.sstable.SSTableTxnWriter;
import org.apache.cassandra.io.sstable.metadata.MetadataType;
import org.apache.cassandra.io.sstable.metadata.ValidationMetadata;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.CompressionParams;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.utils.TimeUUID;

final class Writer
{
    static final class Settings
    {
        boolean isFlush;
        int columnIndexKib = 64;
        long repairedAt;
        TimeUUID pendingRepair;
        boolean isTransient;
    }

    /* The partitions come in token order.  Returns the path of the Data.db. */
    static Path write(TableMetadata table, List<PartitionUpdate> partitions, Settings settings,
        Path folder) throws IOException
    {
        Version.columnIndexSize(settings.columnIndexKib);
        java.nio.file.Files.createDirectories(folder);
        Descriptor descriptor =
            Version.descriptor(new File(folder.toString()), table.keyspace, table.name);
        SerializationHeader header =
            settings.isFlush ? flushHeader(table, partitions)
                             : new SerializationHeader(true, table, table.regularAndStaticColumns(),
                                 EncodingStats.NO_STATS);
        try (SSTableTxnWriter writer =
                 Version.writer(table, descriptor, partitions.size(), settings, header)) {
            for (PartitionUpdate partition : partitions)
                writer.append(partition.unfilteredIterator());
            writer.finish(false);
        }
        return folder.resolve(Version.FORMAT + "-1-big-Data.db");
    }

    private static SerializationHeader flushHeader(
        TableMetadata table, List<PartitionUpdate> partitions)
    {
        RegularAndStaticColumns.Builder columns = RegularAndStaticColumns.builder();
        EncodingStats stats = partitions.get(0).stats();
        for (PartitionUpdate partition : partitions) {
            stats = stats.mergeWith(partition.stats());
            for (ColumnMetadata column : partition.staticRow().columns())
                columns.add(column);
            for (Row row : partition)
                for (ColumnMetadata column : row.columns())
                    columns.add(column);
        }
        return new SerializationHeader(true, table, columns.build(), stats);
    }

    /* The rows of a table again, with the same header, compression, filter and summary. */
    static Path rewrite(Files table, Path folder, int columnIndexKib) throws IOException
    {
        ValidationMetadata validation =
            (ValidationMetadata)table.descriptor.getMetadataSerializer()
                .deserialize(table.descriptor, EnumSet.of(MetadataType.VALIDATION))
                .get(MetadataType.VALIDATION);
        CompressionParams compression = table.has("CompressionInfo.db")
                                            ? Version.compression(table.reader)
                                            : CompressionParams.noCompression();
        TableMetadata again = table.metadata.unbuild()
                                  .compression(compression)
                                  .bloomFilterFpChance(validation.bloomFilterFPChance)
                                  .minIndexInterval(indexInterval(table))
                                  .build();
        Settings settings = new Settings();
        settings.repairedAt = table.reader.getRepairedAt();
        settings.pendingRepair = table.reader.getPendingRepair();
        settings.isTransient = table.reader.isTransient();
        settings.columnIndexKib = columnIndexKib;
        java.nio.file.Files.createDirectories(folder);
        Version.columnIndexSize(settings.columnIndexKib);
        Descriptor descriptor =
            Version.descriptor(new File(folder.toString()), again.keyspace, again.name);
        try (ISSTableScanner count = table.reader.getScanner();
             ISSTableScanner scanner = table.reader.getScanner();
             SSTableTxnWriter writer = Version.writer(
                 again, descriptor, partitions(count), settings, table.reader.header)) {
            while (scanner.hasNext())
                writer.append(scanner.next());
            writer.finish(false);
        }
        return folder.resolve(Version.FORMAT + "-1-big-Data.db");
    }

    private static long partitions(ISSTableScanner scanner)
    {
        long count = 0;
        for (; scanner.hasNext(); count++)
            scanner.next().close();
        return count;
    }

    private static int indexInterval(Files table) throws IOException
    {
        Path original = Files.beside(
            table.origin, "Summary.db"); // the reader deletes its copy of one it does not expect
        if (!java.nio.file.Files.exists(original))
            return 128;
        try (DataInputStream in =
                 new DataInputStream(java.nio.file.Files.newInputStream(original))) {
            return in.readInt();
        }
    }
}
