/* Draw - a random table from a seed: a script (Script) of its types, itself, and statements on it.
 *
 * Keys and clusterings come from small pools, so that statements meet: rows are written twice,
 * ranges cover rows and each other, deletions come before and after.  The same seed gives the same
 * script for the same version of Cassandra.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

final class Draw
{
    private static final class Column
    {
        final String name;
        final Type type;

        Column(String name, Type type)
        {
            this.name = name;
            this.type = type;
        }
    }

    private static final String TABLE = "oracle.t";

    private final Random random;
    private final List<String> script = new ArrayList<>();
    private final List<Type> udts = new ArrayList<>();
    private final List<Column> keys = new ArrayList<>(), clusterings = new ArrayList<>();
    private final List<Column> statics = new ArrayList<>(), regulars = new ArrayList<>();
    private final List<List<String>> keyPool = new ArrayList<>(), clusteringPool =
                                                                      new ArrayList<>();
    private boolean isCounter, isMany; // many: a table of several files, to be compacted
    private long now;

    private Draw(long seed)
    {
        random = new Random(seed * 0x9E3779B97F4A7C15L ^ 0x5DEECE66DL);
        random.nextLong();
    }

    /* Draws the script into DIR/script.cql and runs it there. */
    static Map<String, Object> write(long seed, Path folder) throws IOException
    {
        Draw draw = new Draw(seed);
        draw.schema(seed);
        draw.settings();
        draw.statements();
        java.nio.file.Files.createDirectories(folder);
        Path script = folder.resolve("script.cql");
        java.nio.file.Files.write(script, draw.script);
        return Script.run(script, folder);
    }

    /* Several files of one table, DIR/data/<ks>/<table>-<id>/<format>-1.., and what a compaction
     * of them is told: how many stand outside, now, gc_before, and a column that was dropped. */
    static Map<String, Object> inputs(long seed, Path folder) throws IOException
    {
        Draw draw = new Draw(seed);
        draw.isMany = true;
        draw.schema(seed);
        draw.settings();
        long begun = draw.now;
        draw.statements();
        return new Inputs(draw.random, draw.script, begun, draw.now).write(folder);
    }

    private boolean oneIn(int n)
    {
        return random.nextInt(n) == 0;
    }

    private <T> T pick(List<T> list)
    {
        return list.get(random.nextInt(list.size()));
    }

    /* ---- the schema ---- */

    private void schema(long seed)
    {
        isCounter = oneIn(10);
        for (int i = random.nextInt(3); i > 0; i--)
            udt("u" + i);
        columns(keys, "k", oneIn(2) ? 1 : 1 + random.nextInt(3), true);
        columns(clusterings, "c", random.nextInt(4), true);
        columns(statics, "s",
            clusterings.isEmpty() ? 0
            : oneIn(40)           ? 70
                                  : random.nextInt(4),
            false);
        columns(regulars, "r", oneIn(12) ? 60 + random.nextInt(30) : random.nextInt(8), false);
        if (isCounter && regulars.isEmpty())
            regulars.add(new Column("r", Type.of("counter")));
        List<String> all = new ArrayList<>();
        keys.forEach(one -> all.add(one.name + " " + one.type.cql()));
        clusterings.forEach(one -> all.add(one.name + " " + one.type.cql()));
        statics.forEach(one -> all.add(one.name + " " + one.type.cql() + " static"));
        regulars.forEach(one -> all.add(one.name + " " + one.type.cql()));
        Collections.shuffle(all, random);
        all.add("PRIMARY KEY ((" + names(keys) + ")"
                + (clusterings.isEmpty() ? "" : ", " + names(clusterings)) + ")");
        script.add("CREATE TABLE " + TABLE + " (" + String.join(", ", all) + ") WITH "
                   + options(seed) + ";");
    }

    private void udt(String name)
    {
        List<String> fields = new ArrayList<>();
        List<Type> types = new ArrayList<>();
        for (int i = 0; i <= random.nextInt(4); i++) {
            fields.add("f" + i);
            Type type = Type.any(random, udts, 1);
            types.add(type.isComplex() ? type.frozen() : type);
        }
        List<String> all = new ArrayList<>();
        for (int i = 0; i < fields.size(); i++)
            all.add(fields.get(i) + " " + types.get(i).cql());
        script.add("CREATE TYPE oracle." + name + " (" + String.join(", ", all) + ");");
        udts.add(Type.udt(name, fields, types));
    }

    private void columns(List<Column> into, String prefix, int count, boolean isKey)
    {
        for (int i = 0; i < count; i++) {
            Type type = isKey       ? Type.ordered(random, udts, 2)
                        : isCounter ? Type.of("counter")
                                    : Type.any(random, udts, count > 20 ? 1 : 3);
            into.add(new Column(columnName(prefix, i), type));
        }
    }

    private String columnName(String prefix, int i)
    {
        int kind = random.nextInt(20);
        if (isMany && kind == 1) // Cassandra loses its deletion when it writes a row again
            return prefix + i;
        switch (kind) {
        case 0: return "\"" + prefix.toUpperCase() + i + "\"";
        case 1: return "\"" + (char)('À' + random.nextInt(20)) + prefix + i + "\"";
        case 2: return prefix + "_a_long_name_" + i;
        default: return prefix + i;
        }
    }

    private static String names(List<Column> columns)
    {
        return columns.stream().map(one -> one.name).collect(Collectors.joining(", "));
    }

    private String options(long seed)
    {
        List<String> all = new ArrayList<>();
        all.add(String.format("id = 00000000-0000-1000-8001-%012x", seed));
        if (!clusterings.isEmpty() && oneIn(2))
            all.add("CLUSTERING ORDER BY ("
                    + clusterings.stream()
                          .map(one -> one.name + (oneIn(2) ? " DESC" : " ASC"))
                          .collect(Collectors.joining(", "))
                    + ")");
        all.add("compression = " + compression());
        if (oneIn(4))
            all.add("bloom_filter_fp_chance = " + pick(List.of("0.1", "0.001", "0.05", "1.0")));
        if (oneIn(4))
            all.add("min_index_interval = " + pick(List.of("1", "2", "16", "128")));
        if (!isCounter && oneIn(6))
            all.add("default_time_to_live = " + (1 + timeToLive()));
        return String.join(" AND ", all);
    }

    private String compression()
    {
        if (oneIn(4))
            return "{'enabled': false}";
        String ratio = oneIn(4) ? ", 'min_compress_ratio': 1." + (1 + random.nextInt(9)) : "";
        String kind =
            pick(List.of("'LZ4Compressor'", "'LZ4Compressor', 'lz4_compressor_type': 'high'",
                "'ZstdCompressor'", "'ZstdCompressor', 'compression_level': 7",
                "'SnappyCompressor'", "'DeflateCompressor'"));
        return "{'class': " + kind + ", 'chunk_length_in_kb': " + (1 << random.nextInt(6)) + ratio
            + "}";
    }

    private void settings()
    {
        tick(!isMany && oneIn(8)
                 ? Version.NOW_MAX / 2 + random.nextInt(1_000_000_000) % (Version.NOW_MAX / 2)
                 : 1_700_000_000);
        script.add(
            "-- header "
            + (oneIn(2) && now <= Integer.MAX_VALUE ? "flush"
                                                    : "writer")); // 5.0 misreads a later minimum
        script.add("-- column_index_kib " + pick(List.of(1, 1, 2, 4, 64)));
        if (oneIn(8))
            script.add("-- repaired " + (1 + random.nextInt(1_000_000_000)));
        else if (!isMany && oneIn(20))
            script.add("-- pending 50554d6e-29bb-11e5-b345-feff819cdc9f");
    }

    private void tick(long to)
    {
        now = to;
        script.add("-- now " + now);
    }

    /* ---- the statements ---- */

    private void statements()
    {
        int partitions = oneIn(15) ? 40 + random.nextInt(300) : 1 + random.nextInt(8);
        pools(partitions);
        int rows = oneIn(10) ? 100 + random.nextInt(400) : partitions + random.nextInt(40);
        insert();
        for (int i = 0; i < rows; i++) {
            if (oneIn(10))
                tick(Math.min(now + random.nextInt(1000), Version.NOW_MAX));
            if (isCounter)
                countOrDelete();
            else if (oneIn(4))
                delete();
            else if (oneIn(3))
                update();
            else
                insert();
        }
    }

    private void pools(int partitions)
    {
        for (int i = 0; i < partitions; i++)
            keyPool.add(
                keys.stream().map(one -> keyLiteral(one.type)).collect(Collectors.toList()));
        for (Column one : clusterings) {
            List<String> pool = new ArrayList<>();
            for (int i = oneIn(10) ? 100 : 2 + random.nextInt(8); i > 0; i--)
                pool.add(one.type.literal(random));
            clusteringPool.add(pool);
        }
    }

    /* A key of one column may not be empty. */
    private String keyLiteral(Type type)
    {
        for (;;) {
            String literal = keys.size() == 1 ? type.inner(random) : type.literal(random);
            if (keys.size() > 1 || !literal.equals("''") && !literal.equals("0x"))
                return literal;
        }
    }

    private String key()
    {
        List<String> values = pick(keyPool);
        List<String> all = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++)
            all.add(keys.get(i).name + " = " + values.get(i));
        return String.join(" AND ", all);
    }

    private String row()
    {
        StringBuilder all = new StringBuilder(key());
        for (int i = 0; i < clusterings.size(); i++)
            all.append(" AND ")
                .append(clusterings.get(i).name)
                .append(" = ")
                .append(pick(clusteringPool.get(i)));
        return all.toString();
    }

    private String using(boolean canExpire)
    {
        List<String> all = new ArrayList<>();
        if (oneIn(5))
            all.add("TIMESTAMP " + timestamp(canExpire));
        if (canExpire && oneIn(5))
            all.add("TTL " + (oneIn(3) ? random.nextInt(3) : timeToLive()));
        return all.isEmpty() ? "" : " USING " + String.join(" AND ", all);
    }

    /* Of many often one that is over soon, and never past 2038, which 5.0 misreads in a header. */
    private int timeToLive()
    {
        if (!isMany)
            return random.nextInt(Version.TTL_MAX);
        return random.nextInt(oneIn(2) ? 4_000 : 100_000_000);
    }

    /* A deletion of a partition below zero would be unreadable in oa. */
    private long timestamp(boolean mayBeNegative)
    {
        if (oneIn(8))
            return mayBeNegative ? -random.nextInt(1000) : random.nextInt(1000);
        if (oneIn(20))
            return Long.MAX_VALUE - random.nextInt(3);
        return now * 1_000_000 + random.nextInt(2000) - 1000;
    }

    private List<Column> some(List<Column> columns)
    {
        List<Column> chosen = new ArrayList<>();
        int share = 1 + random.nextInt(4);
        for (Column one : columns)
            if (random.nextInt(4) < share)
                chosen.add(one);
        return chosen;
    }

    private void insert()
    {
        if (isCounter) {
            countOrDelete();
            return;
        }
        boolean isStatic = !statics.isEmpty() && oneIn(5);
        List<String> names = new ArrayList<>(), values = new ArrayList<>();
        List<String> key = pick(keyPool);
        for (int i = 0; i < keys.size(); i++)
            put(names, values, keys.get(i).name, key.get(i));
        for (int i = 0; i < clusterings.size() && !isStatic; i++)
            put(names, values, clusterings.get(i).name, pick(clusteringPool.get(i)));
        List<Column> columns = isStatic ? some(statics) : some(regulars);
        if (isStatic && columns.isEmpty())
            columns.add(statics.get(0));
        if (!isStatic && oneIn(6))
            columns.addAll(some(statics));
        for (Column one : columns)
            put(names, values, one.name, oneIn(10) ? "null" : one.type.literal(random));
        script.add("INSERT INTO " + TABLE + " (" + String.join(", ", names) + ") VALUES ("
                   + String.join(", ", values) + ")" + using(true) + ";");
    }

    private static void put(List<String> names, List<String> values, String name, String value)
    {
        names.add(name);
        values.add(value);
    }

    private void update()
    {
        boolean isStatic = !statics.isEmpty() && oneIn(4);
        List<Column> columns = some(isStatic ? statics : regulars);
        if (columns.isEmpty())
            return;
        String set = columns.stream().map(this::assignment).collect(Collectors.joining(", "));
        script.add("UPDATE " + TABLE + using(true) + " SET " + set + " WHERE "
                   + (isStatic ? key() : row()) + ";");
    }

    private String assignment(Column column)
    {
        String name = column.name;
        Type type = column.type;
        if (!type.isComplex() || oneIn(3))
            return name + " = " + (oneIn(8) ? "null" : type.literal(random));
        switch (type.kind) {
        case LIST: return name + " = " + name + " + " + type.inner(random);
        case SET: return name + " = " + name + (oneIn(3) ? " - " : " + ") + type.inner(random);
        case UDT:
            int field = random.nextInt(type.fields.size());
            return name + "." + type.fields.get(field) + " = "
                + (oneIn(4) ? "null" : type.parts.get(field).inner(random));
        default:
            if (oneIn(2))
                return name + " = " + name + " + " + type.inner(random);
            return name + "[" + type.parts.get(0).inner(random)
                + "] = " + (oneIn(4) ? "null" : type.parts.get(1).inner(random));
        }
    }

    private void countOrDelete()
    {
        if (oneIn(5)) {
            delete();
            return;
        }
        if (oneIn(5))
            script.add("-- counter " + (1 + random.nextInt(4)) + " "
                       + (oneIn(20) ? pick(List.of("local", "remote")) : "global"));
        boolean isStatic = !statics.isEmpty() && oneIn(4);
        List<Column> columns = isStatic ? statics : regulars;
        Column one = pick(columns);
        script.add("UPDATE " + TABLE + " SET " + one.name + " = " + one.name + " + "
                   + random.nextInt() + " WHERE " + (isStatic ? key() : row()) + ";");
    }

    private void delete()
    {
        String using = isCounter ? "" : using(false);
        switch (random.nextInt(clusterings.isEmpty() ? 3 : 6)) {
        case 0:
            script.add(
                "DELETE FROM " + TABLE + using + " WHERE " + (oneIn(5) ? key() : row()) + ";");
            break;
        case 1:
        case 2: cells(using); break;
        default: script.add("DELETE FROM " + TABLE + using + " WHERE " + range() + ";");
        }
    }

    private void cells(String using)
    {
        boolean isStatic = !statics.isEmpty() && oneIn(4);
        List<Column> columns = some(isStatic ? statics : regulars);
        if (columns.isEmpty())
            return;
        String what = columns.stream().map(this::deletable).collect(Collectors.joining(", "));
        script.add("DELETE " + what + " FROM " + TABLE + using + " WHERE "
                   + (isStatic ? key() : row()) + ";");
    }

    private String deletable(Column column)
    {
        Type type = column.type;
        if (!type.isComplex() || oneIn(2) || type.kind == Type.Kind.LIST)
            return column.name;
        if (type.kind == Type.Kind.UDT)
            return column.name + "." + pick(type.fields);
        return column.name + "[" + type.parts.get(0).inner(random) + "]";
    }

    private String range()
    {
        StringBuilder all = new StringBuilder(key());
        int equal = random.nextInt(clusterings.size());
        for (int i = 0; i < equal; i++)
            all.append(" AND ")
                .append(clusterings.get(i).name)
                .append(" = ")
                .append(pick(clusteringPool.get(i)));
        String name = clusterings.get(equal).name;
        int which = random.nextInt(4);
        if (which != 1)
            all.append(" AND ")
                .append(name)
                .append(oneIn(2) ? " > " : " >= ")
                .append(pick(clusteringPool.get(equal)));
        if (which > 0)
            all.append(" AND ")
                .append(name)
                .append(oneIn(2) ? " < " : " <= ")
                .append(pick(clusteringPool.get(equal)));
        return all.toString();
    }
}
