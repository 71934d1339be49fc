/* Task - the SSTables of a table as one, by Cassandra's own CompactionTask, for who measures.
 *
 *     DATA/<ks>/<table>-<id>/*-Data.db ──> ColumnFamilyStore, offline ──> LifecycleTransaction
 *                                              ──> CompactionTask ──> one more in the same folder
 *
 * The store and the transaction are opened as Cassandra's standalone tools open theirs: no node, no
 * commit log, nothing that starts by itself.  The task does all its work: reading ahead, merging,
 * purging, writing, the log of the transaction, syncs, the output opened, the inputs obsolete.
 * Being offline it leaves out only its last lines: a row of system.compaction_history, a line of
 * the log.  It is not throttled, and opens nothing early: beyond the first 50 MiB an offline task
 * would seek in every input and open its file anew before each partition, which a node's does not.
 *
 * What it took is that of the task alone: opening the inputs is not in it, nor deleting them, which
 * another thread does.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.Directories;
import org.apache.cassandra.db.compaction.ActiveCompactionsTracker;
import org.apache.cassandra.db.compaction.CompactionTask;
import org.apache.cassandra.db.compaction.OperationType;
import org.apache.cassandra.db.lifecycle.LifecycleTransaction;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;

final class Task
{
    private final TableMetadata table;
    private final ColumnFamilyStore store;
    private final Set<Descriptor> inputs;

    private Task(TableMetadata table, Path data)
    {
        this.table = table;
        DatabaseDescriptor.setCompactionThroughputMebibytesPerSec(0);
        DatabaseDescriptor.setSSTablePreemptiveOpenIntervalInMiB(-1);
        DatabaseDescriptor.setDiskAccessMode(Config.DiskAccessMode.standard); // a node's default
        DatabaseDescriptor.setIndexAccessMode(Config.DiskAccessMode.mmap);
        store = Compact.store(table, data);
        inputs = files();
    }

    /* The schema names the table's id, which is in the folder's name. */
    static Map<String, Object> run(TableMetadata table, long gcBefore, Path data)
    {
        Task task = new Task(table, data);
        Map<String, Object> answer = task.measured(gcBefore);
        Set<Descriptor> outputs = task.files();
        outputs.removeAll(task.inputs);
        long rows = 0, bytes = 0;
        for (Descriptor one : outputs) {
            SSTableReader output = task.open(one, false);
            rows += output.getTotalRows();
            bytes += output.onDiskLength();
            Version.release(output);
        }
        answer.putAll(Map.of("inputs", task.inputs.size(), "rows", rows, "stored_bytes", bytes));
        return answer;
    }

    private Set<Descriptor> files()
    {
        return new HashSet<>(
            store.getDirectories().sstableLister(Directories.OnTxnErr.THROW).list().keySet());
    }

    private SSTableReader open(Descriptor one, boolean validating)
    {
        return Version.open(one, TableMetadataRef.forOfflineTools(table), validating);
    }

    private Map<String, Object> measured(long gcBefore)
    {
        Set<SSTableReader> readers = new HashSet<>();
        inputs.forEach(one -> readers.add(open(one, true)));
        store.getTracker().addInitialSSTables(readers);
        Map<String, Object> answer = new HashMap<>();
        try (LifecycleTransaction all =
                 LifecycleTransaction.offline(OperationType.COMPACTION, readers)) {
            double wall = System.nanoTime() / 1e9, cpu = processorSeconds();
            new CompactionTask(store, all, Version.seconds(gcBefore))
                .execute(ActiveCompactionsTracker.NOOP);
            answer.put("wall_s", System.nanoTime() / 1e9 - wall);
            answer.put("cpu_s", processorSeconds() - cpu);
        }
        LifecycleTransaction.waitForDeletions();
        return answer;
    }

    /* Of all threads of this process: compilers and collectors too. */
    private static double processorSeconds()
    {
        OperatingSystemMXBean system =
            (OperatingSystemMXBean)ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1e9;
    }
}
