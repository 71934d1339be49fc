/* Compact - several SSTables of a table as one, as Cassandra's own compaction makes it.
 *
 *     inputs ──> CompactionIterator (merge, purge by CompactionController) ──> its writer ──> one
 *     outside ──> live files of the same table: what is older there keeps deletions from going
 *
 * Now and gc_before are given.  The schema may say that a column was dropped and made again
 * (`-- dropped NAME MICROSECONDS`).  The output is not compressed, so that its bytes do not depend
 * on a compressor.  Its own CompactionTask, which takes now from the clock, is in Task.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.Directories;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.compaction.CompactionController;
import org.apache.cassandra.db.compaction.CompactionIterator;
import org.apache.cassandra.db.compaction.CompactionTask;
import org.apache.cassandra.db.compaction.OperationType;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.ISSTableScanner;
import org.apache.cassandra.io.sstable.SSTableTxnWriter;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.schema.CompressionParams;
import org.apache.cassandra.schema.KeyspaceMetadata;
import org.apache.cassandra.schema.KeyspaceParams;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;
import org.apache.cassandra.schema.Tables;
import org.apache.cassandra.utils.ByteBufferUtil;
import org.apache.cassandra.utils.TimeUUID;

final class Compact implements AutoCloseable
{
    private final TableMetadata table;
    private final List<Files> files = new ArrayList<>();
    private final Set<SSTableReader> inputs = new LinkedHashSet<>();
    private final ColumnFamilyStore store;

    private Compact(List<String> schema, List<Path> inputPaths, List<Path> outside, Path folder)
        throws IOException
    {
        table = table(schema);
        store = store(table, folder);
        try {
            for (Path one : inputPaths)
                inputs.add(open(one));
            for (Path one : outside)
                open(one);
            List<SSTableReader> all = new ArrayList<>();
            files.forEach(one -> all.add(one.reader));
            store.getTracker().addInitialSSTables(all);
        } catch (Throwable problem) {
            close();
            throw problem;
        }
    }

    /* Merges the inputs into TO/<format>-1-big-Data.db; "data" is missing when nothing is left. */
    static Map<String, Object> run(List<String> schema, long now, long gcBefore, List<Path> inputs,
        List<Path> outside, Path to) throws IOException
    {
        java.nio.file.Files.createDirectories(to);
        try (Compact compact = new Compact(schema, inputs, outside, to)) {
            return compact.merge(now, gcBefore, to);
        }
    }

    private static TableMetadata table(List<String> schema)
    {
        TableMetadata table = Script.schema(schema);
        TableMetadata.Builder builder =
            table.unbuild().compression(CompressionParams.noCompression());
        for (String line : schema) {
            String[] words = line.split(" ");
            if (line.startsWith("-- dropped ")) {
                ByteBuffer name = ByteBufferUtil.bytes(words[2]);
                builder.recordColumnDrop(table.getColumn(name), Long.parseLong(words[3]));
            }
        }
        return builder.build();
    }

    /* Offline; its files are below FOLDER, which may be new. */
    static ColumnFamilyStore store(TableMetadata table, Path folder)
    {
        Keyspace keyspace = Keyspace.mockKS(
            KeyspaceMetadata.create(table.keyspace, KeyspaceParams.simple(1), Tables.of(table)));
        Directories directories = new Directories(
            table, List.of(new Directories.DataDirectory(new File(folder.toString()))));
        return ColumnFamilyStore.createColumnFamilyStore(keyspace, table.name,
            TableMetadataRef.forOfflineTools(table), directories, false, false, true);
    }

    private SSTableReader open(Path data) throws IOException
    {
        Files one = Files.open(data, table, true);
        files.add(one);
        return one.reader;
    }

    private Map<String, Object> merge(long now, long gcBefore, Path to) throws IOException
    {
        Map<String, Object> answer = new HashMap<>();
        List<ISSTableScanner> scanners = new ArrayList<>();
        for (SSTableReader one : inputs)
            scanners.add(one.getScanner());
        try (CompactionController controller =
                 new CompactionController(store, inputs, Version.seconds(gcBefore));
             CompactionIterator merged = new CompactionIterator(OperationType.COMPACTION, scanners,
                 controller, Version.seconds(now), TimeUUID.Generator.nextTimeUUID())) {
            if (merged.hasNext())
                answer.put("data", write(merged, to).toString());
            answer.put("merged", merged.getMergedRowCounts());
        }
        return answer;
    }

    private Path write(CompactionIterator merged, Path to) throws IOException
    {
        Writer.Settings settings = new Writer.Settings();
        settings.repairedAt = CompactionTask.getMinRepairedAt(inputs);
        Version.columnIndexSize(settings.columnIndexKib);
        Descriptor descriptor =
            Version.descriptor(new File(to.toString()), table.keyspace, table.name);
        try (SSTableTxnWriter writer =
                 Version.writer(table, descriptor, SSTableReader.getApproximateKeyCount(inputs),
                     settings, SerializationHeader.make(table, inputs))) {
            while (merged.hasNext())
                writer.append(merged.next());
            writer.finish(false);
        }
        return to.resolve(Version.FORMAT + "-1-big-Data.db");
    }

    @Override public void close() throws IOException
    {
        for (Files one : files)
            one.close();
    }
}
