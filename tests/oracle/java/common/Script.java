/* Script - a file of CQL, run into one SSTable.
 *
 *     CREATE TYPE ...;  CREATE TABLE ...;      first, each on a line of its own
 *     INSERT ... / UPDATE ... / DELETE ...;    each on a line of its own, with literals
 *     -- now SECONDS                           the clock of what follows: deletion times, expiry,
 *                                              the timestamp of statements that name none
 *     -- counter NUMBER global|local|remote    whose shard the increments that follow count in
 *     -- for FROM TO STATEMENT                 the statement once for each number, put for {i}
 *     -- header flush|writer                   the SSTable's header (Writer)
 *     -- column_index_kib N   -- repaired MILLISECONDS   -- pending UUID   -- transient
 *
 * Statements become partition updates as they do in CQLSSTableWriter, which however takes one
 * statement, no counters, and its times from the clock.  Here all is decided by the script, the ids
 * in list paths too, so that the same script gives the same bytes.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.cassandra.cql3.QueryOptions;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.UpdateParameters;
import org.apache.cassandra.cql3.statements.ModificationStatement;
import org.apache.cassandra.cql3.statements.schema.CreateTableStatement;
import org.apache.cassandra.cql3.statements.schema.CreateTypeStatement;
import org.apache.cassandra.db.Clustering;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.Slice;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.KeyspaceMetadata;
import org.apache.cassandra.schema.KeyspaceParams;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.SchemaTransformations;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.Types;
import org.apache.cassandra.service.ClientState;
import org.apache.cassandra.utils.CounterId;
import org.apache.cassandra.utils.TimeUUID;

final class Script
{
    static final class Nothing extends IOException
    {
        Nothing()
        {
            super("the script leaves nothing to write");
        }
    }

    private static final ClientState STATE = ClientState.forInternalCalls();
    private static final QueryOptions OPTIONS =
        QueryOptions.forInternalCalls(null, Collections.emptyList());

    private final TableMetadata table;
    private final Writer.Settings settings = new Writer.Settings();
    private final Map<DecoratedKey, PartitionUpdate.Builder> partitions = new TreeMap<>();
    private final Map<String, Long> counters = new HashMap<>();
    private DecoratedKey key;
    private long now = 1_700_000_000;
    private long statements, listIds;
    private int shard = 1;
    private String shardKind = "global";

    private Script(TableMetadata table)
    {
        this.table = table;
    }

    /* Runs the script into DIR/<keyspace>/<table>-<id>/ and puts schema.cql into DIR. */
    static Map<String, Object> run(Path script, Path folder) throws IOException
    {
        List<String> lines = java.nio.file.Files.readAllLines(script);
        List<String> schema =
            lines.stream().filter(line -> line.startsWith("CREATE ")).collect(Collectors.toList());
        java.nio.file.Files.createDirectories(folder);
        java.nio.file.Files.write(folder.resolve("schema.cql"), schema);
        Script run = new Script(schema(schema));
        for (String line : lines)
            run.line(line.strip());
        Path data = run.finish(folder.resolve(run.table.keyspace)
                                   .resolve(run.table.name + "-" + run.table.id.toHexString()));
        return Map.of(
            "data", folder.relativize(data).toString(), "partitions", run.partitions.size());
    }

    /* The table that the CREATE statements among the lines make, in a keyspace made anew. */
    static TableMetadata schema(List<String> statements)
    {
        CreateTableStatement.Raw create = null;
        List<CreateTypeStatement.Raw> types = new ArrayList<>();
        for (String statement : statements)
            if (statement.startsWith("CREATE TYPE"))
                types.add(QueryProcessor.parseStatement(
                    statement, CreateTypeStatement.Raw.class, "CREATE TYPE"));
            else if (statement.startsWith("CREATE TABLE"))
                create = QueryProcessor.parseStatement(
                    statement, CreateTableStatement.Raw.class, "CREATE TABLE");
        String keyspace = create.keyspace();
        Types.RawBuilder raw = Types.rawBuilder(keyspace);
        types.forEach(type -> type.addToRawBuilder(raw));
        Types built = raw.build();
        KeyspaceMetadata empty = KeyspaceMetadata.create(keyspace, KeyspaceParams.simple(1));
        Schema.instance.transform(all -> all.withAddedOrUpdated(empty));
        Schema.instance.transform(SchemaTransformations.addTypes(built, true));
        CreateTableStatement prepared = create.prepare(STATE);
        prepared.validate(STATE);
        TableMetadata table = prepared.builder(built).build();
        Schema.instance.transform(SchemaTransformations.addTable(table, true));
        return table;
    }

    private void line(String line)
    {
        if (line.isEmpty() || line.startsWith("CREATE "))
            return;
        if (!line.startsWith("--")) {
            execute(line);
            return;
        }
        String[] words = line.substring(2).strip().split(" ", 4);
        switch (words[0]) {
        case "now": now = Long.parseLong(words[1]); break;
        case "counter":
            shard = Integer.parseInt(words[1]);
            shardKind = words[2];
            break;
        case "header": settings.isFlush = words[1].equals("flush"); break;
        case "column_index_kib": settings.columnIndexKib = Integer.parseInt(words[1]); break;
        case "repaired": settings.repairedAt = Long.parseLong(words[1]); break;
        case "pending": settings.pendingRepair = TimeUUID.fromString(words[1]); break;
        case "transient": settings.isTransient = true; break;
        case "for":
            for (int i = Integer.parseInt(words[1]); i <= Integer.parseInt(words[2]); i++)
                execute(words[3].replace("{i}", Integer.toString(i)));
            break;
        default: break; // a comment
        }
    }

    private void execute(String text)
    {
        try {
            apply(text);
        } catch (RuntimeException | AssertionError problem) {
            throw new IllegalArgumentException(text, problem);
        }
    }

    private void apply(String text)
    {
        ModificationStatement statement =
            QueryProcessor.parseStatement(text, ModificationStatement.Parsed.class, "a mutation")
                .prepare(STATE);
        statement.validate(STATE);
        long timestamp = statement.getTimestamp(now * 1_000_000 + statements++, OPTIONS);
        UpdateParameters parameters = new Parameters(statement, timestamp);
        for (ByteBuffer bytes : statement.buildPartitionKeyNames(OPTIONS, STATE)) {
            key = table.partitioner.decorateKey(bytes);
            PartitionUpdate.Builder update = partitions.computeIfAbsent(key,
                one -> new PartitionUpdate.Builder(table, one, table.regularAndStaticColumns(), 4));
            if (statement.hasSlices())
                for (Slice slice : statement.createSlices(OPTIONS))
                    statement.addUpdateForKey(update, slice, parameters);
            else
                for (Clustering<?> clustering : statement.createClustering(OPTIONS, STATE))
                    statement.addUpdateForKey(update, clustering, parameters);
        }
    }

    /* Increments become shards here, as the leader of a counter's write makes them. */
    private final class Parameters extends UpdateParameters
    {
        Parameters(ModificationStatement statement, long timestamp)
        {
            super(table, statement.updatedColumns(), STATE, OPTIONS, timestamp,
                Version.seconds(now), statement.getTimeToLive(OPTIONS), Collections.emptyMap());
        }

        @Override public void addCounter(ColumnMetadata column, long increment)
        {
            String where =
                key + " " + currentClustering().toString(table) + " " + column.name + " " + shard;
            long total = counters.merge(where, increment, Long::sum);
            addCell(column, context(total, counters.merge(where + " clock", 1L, Long::sum)));
        }

        @Override public byte[] nextTimeUUIDAsBytes()
        {
            long ticks = now * 10_000_000 + 0x01B21DD213814000L + listIds++;
            long high = ticks << 32 | ticks >>> 16 & 0xFFFF0000L | 0x1000 | ticks >>> 48 & 0xFFF;
            return ByteBuffer.allocate(16).putLong(high).putLong(0x8080010203040506L).array();
        }
    }

    private ByteBuffer context(long total, long clock)
    {
        boolean hasElement = !shardKind.equals("remote");
        ByteBuffer context = ByteBuffer.allocate(hasElement ? 36 : 34);
        context.putShort((short)(hasElement ? 1 : 0));
        if (hasElement)
            context.putShort((short)(shardKind.equals("global") ? Short.MIN_VALUE : 0));
        context.put(CounterId.fromInt(shard).bytes().duplicate()).putLong(clock).putLong(total);
        context.flip();
        return context;
    }

    private Path finish(Path folder) throws IOException
    {
        List<PartitionUpdate> updates = new ArrayList<>();
        for (PartitionUpdate.Builder builder : partitions.values()) {
            PartitionUpdate update = builder.build();
            if (!update.isEmpty())
                updates.add(update);
        }
        if (updates.isEmpty())
            throw new Nothing();
        return Writer.write(table, updates, settings, folder);
    }
}
