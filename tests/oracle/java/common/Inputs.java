/* Inputs - one script's statements shared out among several files of its table.
 *
 *     DIR/schema.cql                          the table, and `-- dropped NAME MICROSECONDS`
 *     DIR/script-N.cql                        what is in the Nth file
 *     DIR/data/<ks>/<table>-<id>/<format>-N-big-*
 *
 * Either in turns, as flushes would have it, or each statement in any file; a few are in two.  Each
 * file counts the microseconds of its own statements, so that equal timestamps meet.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

final class Inputs
{
    private static final int FILES_MAX = 6;

    private final Random random;
    private final List<String> script;
    private final long begun, ended; // seconds
    private final List<List<String>> files = new ArrayList<>();

    Inputs(Random random, List<String> script, long begun, long ended)
    {
        this.random = random;
        this.script = script;
        this.begun = begun;
        this.ended = ended;
    }

    private boolean oneIn(int n)
    {
        return random.nextInt(n) == 0;
    }

    Map<String, Object> write(Path folder) throws IOException
    {
        share(2 + random.nextInt(FILES_MAX - 1));
        java.nio.file.Files.createDirectories(folder);
        List<String> written = new ArrayList<>();
        for (List<String> lines : files)
            written.addAll(file(lines, folder, written.size() + 1));
        if (written.isEmpty())
            throw new IOException("no file has anything in it");
        Map<String, Object> told = new HashMap<>();
        told.put("folder", Path.of(written.get(0)).getParent().toString());
        told.put("files", written);
        told.put("outside", written.size() > 1 && oneIn(3) ? 1 : 0);
        long now = now();
        told.put("now", now);
        told.put("gc_before", gcBefore(now));
        String dropped = oneIn(4) ? dropped() : null;
        if (dropped != null)
            told.put("dropped", dropped);
        schema(folder, dropped);
        return told;
    }

    private void share(int count)
    {
        for (int i = 0; i < count; i++)
            files.add(new ArrayList<>());
        boolean inTurns = oneIn(3);
        for (int i = 0; i < script.size(); i++) {
            String line = script.get(i);
            if (line.startsWith("--") || line.startsWith("CREATE")) {
                files.forEach(one -> one.add(line));
                continue;
            }
            int file = inTurns ? i * count / script.size() : random.nextInt(count);
            files.get(file).add(line);
            if (oneIn(8))
                files.get(random.nextInt(count)).add(line);
        }
        for (List<String> one : files)
            one.add("-- header " + (oneIn(2) ? "flush" : "writer"));
    }

    /* Its name below the folder; none when the statements leave nothing. */
    private List<String> file(List<String> lines, Path folder, int number) throws IOException
    {
        Path script = folder.resolve("script-" + number + ".cql"), apart = folder.resolve("one");
        java.nio.file.Files.write(script, lines);
        if (lines.stream().noneMatch(line -> line.matches("(INSERT|UPDATE|DELETE) .*")))
            return List.of();
        Path data;
        try {
            data = Path.of((String)Script.run(script, apart).get("data"));
        } catch (Script.Nothing nothing) {
            return List.of();
        }
        Path into = folder.resolve("data").resolve(data.getParent());
        java.nio.file.Files.createDirectories(into);
        try (DirectoryStream<Path> all =
                 java.nio.file.Files.newDirectoryStream(apart.resolve(data).getParent())) {
            for (Path one : all)
                java.nio.file.Files.move(one, into.resolve(numbered(one, number)));
        }
        Files.delete(apart);
        return List.of(folder.relativize(into.resolve(numbered(data, number))).toString());
    }

    private static String numbered(Path file, int number)
    {
        return file.getFileName().toString().replace("-1-big-", "-" + number + "-big-");
    }

    /* ---- what the compaction is told ---- */

    private long now()
    {
        switch (random.nextInt(4)) {
        case 0: return ended + 1;
        case 1: return ended + random.nextInt(5_000);
        case 2: return ended + 1_000_000;
        default: return ended + 150_000_000; // what has a time to live is over
        }
    }

    private long gcBefore(long now)
    {
        switch (random.nextInt(5)) {
        case 0: return now;
        case 1: return Math.max(0, now - 864_000);
        case 2: return begun - 10; // nothing may go but what was explicitly old
        default: return begun + random.nextInt((int)(ended - begun) + 2);
        }
    }

    /* NAME MICROSECONDS: some column that is no key. */
    private String dropped()
    {
        String table =
            script.stream().filter(one -> one.startsWith("CREATE TABLE")).findAny().get();
        List<String> names = java.util.regex.Pattern.compile("[(,] ?([rs]\\d+) ")
                                 .matcher(table)
                                 .results()
                                 .map(found -> found.group(1))
                                 .collect(Collectors.toList());
        long at =
            (begun + random.nextInt((int)(ended - begun) + 1)) * 1_000_000 + random.nextInt(50);
        return names.isEmpty() ? null : names.get(random.nextInt(names.size())) + " " + at;
    }

    private void schema(Path folder, String dropped) throws IOException
    {
        List<String> lines =
            script.stream().filter(one -> one.startsWith("CREATE")).collect(Collectors.toList());
        if (dropped != null)
            lines.add("-- dropped " + dropped);
        java.nio.file.Files.write(folder.resolve("schema.cql"), lines);
    }
}
