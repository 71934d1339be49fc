/* Version - what differs between the versions: here Cassandra 4.1, which writes nb. */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.config.CassandraRelevantProperties;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.Slices;
import org.apache.cassandra.db.filter.ColumnFilter;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.SSTableTxnWriter;
import org.apache.cassandra.io.sstable.SequenceBasedSSTableId;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.sstable.format.SSTableReadsListener;
import org.apache.cassandra.io.sstable.metadata.StatsMetadata;
import org.apache.cassandra.io.util.DataIntegrityMetadata;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.locator.SimpleSnitch;
import org.apache.cassandra.schema.CompressionParams;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;
import org.apache.cassandra.utils.ByteBufferUtil;

final class Version
{
    static final String FORMAT = "nb";
    static final boolean HAS_VECTORS = false;
    static final int TTL_MAX = 100_000_000;
    static final long NOW_MAX = 2_000_000_000L;

    static void start()
    {
        CassandraRelevantProperties.FORCE_LOAD_LOCAL_KEYSPACES.setBoolean(true);
        DatabaseDescriptor.clientInitialization(false);
        if (DatabaseDescriptor.getPartitioner() == null)
            DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        DatabaseDescriptor.setEndpointSnitch(new SimpleSnitch()); // a table's store asks for one
        Config config = DatabaseDescriptor.getRawConfig();        // for what a table's store starts
        config.concurrent_compactors = 1;
        config.concurrent_validations = 1;
        config.memtable_flush_writers = 1;
        config.data_file_directories = new String[] {System.getProperty("cassandra.storagedir")};
        Schema.instance.getKeyspaces();
    }

    static void columnIndexSize(int kib)
    {
        DatabaseDescriptor.setColumnIndexSize(kib);
    }

    static int seconds(long seconds)
    {
        return Math.toIntExact(seconds);
    }

    static Descriptor descriptor(File data)
    {
        return Descriptor.fromFilename(data);
    }

    static Descriptor descriptor(File folder, String keyspace, String table)
    {
        return new Descriptor(folder, keyspace, table, new SequenceBasedSSTableId(1));
    }

    static SSTableReader open(Descriptor descriptor, TableMetadataRef metadata, boolean validating)
    {
        return validating ? SSTableReader.open(descriptor, metadata)
                          : SSTableReader.openNoValidation(descriptor, metadata);
    }

    static void release(SSTableReader reader)
    {
        reader.selfRef().release();
    }

    static SSTableTxnWriter writer(TableMetadata table, Descriptor descriptor, long keys,
        Writer.Settings settings, SerializationHeader header)
    {
        return SSTableTxnWriter.create(TableMetadataRef.forOfflineTools(table), descriptor, keys,
            settings.repairedAt, settings.pendingRepair, settings.isTransient, 0, header,
            Collections.emptyList());
    }

    static UnfilteredRowIterator rows(
        SSTableReader reader, DecoratedKey key, Slices slices, boolean reversed)
    {
        return reader.rowIterator(key, slices, ColumnFilter.all(reader.metadata()), reversed,
            SSTableReadsListener.NOOP_LISTENER);
    }

    static void checkDigest(Files table) throws IOException
    {
        try (DataIntegrityMetadata.FileDigestValidator validator =
                 DataIntegrityMetadata.fileDigestValidator(table.descriptor)) {
            validator.validate();
        }
    }

    static DataIntegrityMetadata.ChecksumValidator checksums(Files table) throws IOException
    {
        return table.has("CRC.db") ? DataIntegrityMetadata.checksumValidator(table.descriptor)
                                   : null;
    }

    static CompressionParams compression(SSTableReader reader)
    {
        return reader.getCompressionMetadata().parameters;
    }

    static DecoratedKey first(SSTableReader reader)
    {
        return reader.first;
    }

    static DecoratedKey last(SSTableReader reader)
    {
        return reader.last;
    }

    /* null where the file says that there is none. */
    static Long deletionTime(long time)
    {
        return time == Cell.NO_DELETION_TIME ? null : (Long)time;
    }

    static void statsOfVersion(StatsMetadata stats, boolean isOld, Map<String, Object> into)
    {
        into.put("min_clustering", values(stats.minClusteringValues));
        into.put("max_clustering", values(stats.maxClusteringValues));
    }

    private static List<Object> values(List<ByteBuffer> list)
    {
        List<Object> values = new ArrayList<>();
        for (ByteBuffer value : list)
            values.add(value == null ? null : ByteBufferUtil.bytesToHex(value));
        return values;
    }
}
