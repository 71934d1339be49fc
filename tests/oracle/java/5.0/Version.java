/* Version - what differs between the versions: here Cassandra 5.0, which writes oa. */
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
import org.apache.cassandra.db.ClusteringBound;
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
import org.apache.cassandra.io.sstable.SSTableReadsListener;
import org.apache.cassandra.io.sstable.metadata.StatsMetadata;
import org.apache.cassandra.io.util.DataIntegrityMetadata;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.schema.CompressionParams;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;
import org.apache.cassandra.utils.ByteBufferUtil;

final class Version
{
    static final String FORMAT = "oa";
    static final boolean HAS_VECTORS = true;
    static final int TTL_MAX = 630_720_000;
    static final long NOW_MAX = 3_500_000_000L;

    static void start()
    {
        CassandraRelevantProperties.FORCE_LOAD_LOCAL_KEYSPACES.setBoolean(true);
        DatabaseDescriptor.clientInitialization(false);
        if (DatabaseDescriptor.getPartitioner() == null)
            DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        Config config = DatabaseDescriptor.getRawConfig(); // for what a table's store starts
        config.concurrent_compactors = 1;
        config.concurrent_validations = 1;
        config.memtable_flush_writers = 1;
        config.data_file_directories = new String[] {System.getProperty("cassandra.storagedir")};
        Schema.instance.getKeyspaces();
    }

    static void columnIndexSize(int kib)
    {
        DatabaseDescriptor.setColumnIndexSizeInKiB(kib);
    }

    static long seconds(long seconds)
    {
        return seconds;
    }

    static Descriptor descriptor(File data)
    {
        return Descriptor.fromFile(data);
    }

    static Descriptor descriptor(File folder, String keyspace, String table)
    {
        return new Descriptor(folder, keyspace, table, new SequenceBasedSSTableId(1));
    }

    static SSTableReader open(Descriptor descriptor, TableMetadataRef metadata, boolean validating)
    {
        return validating ? SSTableReader.open(null, descriptor, null, metadata)
                          : SSTableReader.openNoValidation(null, descriptor, metadata);
    }

    static void release(SSTableReader reader)
    {
        reader.selfRef().release();
    }

    static SSTableTxnWriter writer(TableMetadata table, Descriptor descriptor, long keys,
        Writer.Settings settings, SerializationHeader header)
    {
        return SSTableTxnWriter.create(TableMetadataRef.forOfflineTools(table), descriptor, keys,
            settings.repairedAt, settings.pendingRepair, settings.isTransient, header,
            Collections.emptyList(), null);
    }

    static UnfilteredRowIterator rows(
        SSTableReader reader, DecoratedKey key, Slices slices, boolean reversed)
    {
        return reader.rowIterator(key, slices, ColumnFilter.all(reader.metadata()), reversed,
            SSTableReadsListener.NOOP_LISTENER);
    }

    static void checkDigest(Files table) throws IOException
    {
        DataIntegrityMetadata.FileDigestValidator validator =
            table.reader.maybeGetDigestValidator();
        if (validator == null)
            throw new IOException("no Digest.crc32");
        validator.validate();
    }

    static DataIntegrityMetadata.ChecksumValidator checksums(Files table) throws IOException
    {
        return table.reader.maybeGetChecksumValidator();
    }

    static CompressionParams compression(SSTableReader reader)
    {
        return reader.getCompressionMetadata().parameters;
    }

    static DecoratedKey first(SSTableReader reader)
    {
        return reader.getFirst();
    }

    static DecoratedKey last(SSTableReader reader)
    {
        return reader.getLast();
    }

    /* null where the file says that there is none. */
    static Long deletionTime(long time)
    {
        return time == Cell.NO_DELETION_TIME ? null : (Long)time;
    }

    static void statsOfVersion(StatsMetadata stats, boolean isOld, Map<String, Object> into)
    {
        if (isOld) {
            into.put("min_clustering", values(stats.coveredClustering.start()));
            into.put("max_clustering", values(stats.coveredClustering.end()));
            return;
        }
        into.put("covered_slice", Map.of("start", bound(stats.coveredClustering.start()), "end",
                                      bound(stats.coveredClustering.end())));
        into.put("has_partition_deletions", stats.hasPartitionLevelDeletions);
        into.put("token_space_coverage",
            Double.isNaN(stats.tokenSpaceCoverage) ? null : stats.tokenSpaceCoverage);
    }

    private static Object bound(ClusteringBound<?> bound)
    {
        return Map.of("kind", bound.kind().ordinal(), "values", values(bound));
    }

    private static List<Object> values(ClusteringBound<?> bound)
    {
        List<Object> values = new ArrayList<>();
        for (ByteBuffer value : bound.getBufferArray())
            values.add(value == null ? null : ByteBufferUtil.bytesToHex(value));
        return values;
    }
}
