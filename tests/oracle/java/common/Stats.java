/* Stats - what Statistics.db and CompressionInfo.db say, as one object (the names: README.md).
 *
 * Statistics are parsed by Cassandra.  CompressionInfo.db is parsed here: Cassandra's object for it
 * keeps neither the options as they are written nor the count of chunks in both versions.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.commitlog.CommitLogPosition;
import org.apache.cassandra.db.marshal.AbstractType;
import org.apache.cassandra.io.sstable.metadata.CompactionMetadata;
import org.apache.cassandra.io.sstable.metadata.MetadataComponent;
import org.apache.cassandra.io.sstable.metadata.MetadataType;
import org.apache.cassandra.io.sstable.metadata.StatsMetadata;
import org.apache.cassandra.io.sstable.metadata.ValidationMetadata;
import org.apache.cassandra.utils.ByteBufferUtil;
import org.apache.cassandra.utils.EstimatedHistogram;

final class Stats
{
    static Map<String, Object> of(Files table) throws IOException
    {
        Map<MetadataType, MetadataComponent> parts =
            table.descriptor.getMetadataSerializer().deserialize(
                table.descriptor, EnumSet.allOf(MetadataType.class));
        Map<String, Object> all = new TreeMap<>();
        all.put("version", table.descriptor.version.toString());
        ValidationMetadata validation = (ValidationMetadata)parts.get(MetadataType.VALIDATION);
        all.put("partitioner", validation.partitioner);
        all.put("bloom_filter_fp_chance", validation.bloomFilterFPChance);
        CompactionMetadata compaction = (CompactionMetadata)parts.get(MetadataType.COMPACTION);
        if (compaction != null) {
            all.put("estimated_keys", compaction.cardinalityEstimator.cardinality());
            all.put("sketch", ByteBufferUtil.bytesToHex(
                                  ByteBuffer.wrap(compaction.cardinalityEstimator.getBytes())));
        }
        StatsMetadata stats = (StatsMetadata)parts.get(MetadataType.STATS);
        minima(stats, all);
        rest(stats, all);
        boolean isOld = table.descriptor.version.toString().startsWith("n");
        Version.statsOfVersion(stats, isOld, all);
        all.put("header", header((SerializationHeader.Component)parts.get(MetadataType.HEADER)));
        all.put("first_key", ByteBufferUtil.bytesToHex(Version.first(table.reader).getKey()));
        all.put("last_key", ByteBufferUtil.bytesToHex(Version.last(table.reader).getKey()));
        all.put("compression", compression(table));
        return all;
    }

    private static void minima(StatsMetadata stats, Map<String, Object> all)
    {
        all.put("min_timestamp", stats.minTimestamp);
        all.put("max_timestamp", stats.maxTimestamp);
        all.put("min_local_deletion_time", Version.deletionTime(stats.minLocalDeletionTime));
        all.put("max_local_deletion_time", Version.deletionTime(stats.maxLocalDeletionTime));
        all.put("min_ttl", stats.minTTL);
        all.put("max_ttl", stats.maxTTL);
        all.put("compression_ratio", stats.compressionRatio);
    }

    private static void rest(StatsMetadata stats, Map<String, Object> all)
    {
        all.put("partition_size_histogram", histogram(stats.estimatedPartitionSize));
        all.put("cells_per_partition_histogram", histogram(stats.estimatedCellPerPartitionCount));
        List<Object> tombstones = new ArrayList<>();
        stats.estimatedTombstoneDropTime.forEach(
            (point, count) -> tombstones.add(List.of(point, count)));
        all.put("tombstone_histogram", tombstones);
        all.put("sstable_level", stats.sstableLevel);
        all.put("repaired_at", stats.repairedAt);
        all.put(
            "pending_repair", stats.pendingRepair == null ? null : stats.pendingRepair.toString());
        all.put("is_transient", stats.isTransient);
        all.put("has_legacy_counter_shards", stats.hasLegacyCounterShards);
        all.put("columns_set", stats.totalColumnsSet);
        all.put("rows", stats.totalRows);
        all.put(
            "host_id", stats.originatingHostId == null ? null : stats.originatingHostId.toString());
        List<Object> intervals = new ArrayList<>();
        Iterator<CommitLogPosition> ends = stats.commitLogIntervals.ends().iterator();
        for (CommitLogPosition start : stats.commitLogIntervals.starts())
            intervals.add(List.of(position(start), position(ends.next())));
        all.put("commit_log_intervals", intervals);
    }

    private static Object position(CommitLogPosition position)
    {
        return List.of(position.segmentId, position.position);
    }

    private static Object histogram(EstimatedHistogram histogram)
    {
        long[] bounds = histogram.getBucketOffsets(), counts = histogram.getBuckets(false);
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < counts.length; i++)
            if (counts[i] > 0)
                list.add(Arrays.asList(i < bounds.length ? bounds[i] : null, counts[i]));
        return Map.of("buckets", counts.length, "counts", list);
    }

    private static Object header(SerializationHeader.Component header)
    {
        List<Object> clustering = new ArrayList<>();
        for (AbstractType<?> type : header.getClusteringTypes())
            clustering.add(type.toString());
        return Map.of("min_timestamp", header.getEncodingStats().minTimestamp,
            "min_local_deletion_time", header.getEncodingStats().minLocalDeletionTime, "min_ttl",
            header.getEncodingStats().minTTL, "key_type", header.getKeyType().toString(),
            "clustering_types", clustering, "static_columns", columns(header.getStaticColumns()),
            "regular_columns", columns(header.getRegularColumns()));
    }

    private static Object columns(Map<ByteBuffer, AbstractType<?>> columns)
    {
        Map<String, Object> named = new TreeMap<>();
        columns.forEach((name, type) -> named.put(text(name), type.toString()));
        return named;
    }

    private static String text(ByteBuffer name)
    {
        return new String(ByteBufferUtil.getArray(name), java.nio.charset.StandardCharsets.UTF_8);
    }

    private static Object compression(Files table) throws IOException
    {
        if (!table.has("CompressionInfo.db"))
            return null;
        Map<String, Object> all = new TreeMap<>();
        try (DataInputStream in = new DataInputStream(
                 java.nio.file.Files.newInputStream(table.component("CompressionInfo.db")))) {
            all.put("class", in.readUTF());
            Map<String, Object> options = new TreeMap<>();
            for (int left = in.readInt(); left > 0; left--)
                options.put(in.readUTF(), in.readUTF());
            all.put("options", options);
            all.put("chunk_length", in.readInt());
            all.put("max_compressed_length", in.readInt());
            all.put("data_length", in.readLong());
            all.put("chunk_count", in.readInt());
        }
        return all;
    }
}
