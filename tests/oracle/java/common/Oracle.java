/* Oracle - answers commands from stdin, one a line, each with one line of JSON on stdout.
 *
 *     dump FILE TO            raw FILE TO           stats FILE          verify FILE [SCHEMA]
 *     rewrite FILE DIR KIB    script FILE DIR       write SEED DIR
 *     inputs SEED DIR         compact SCHEMA NOW GC_BEFORE TO COUNT FILE...
 *     task SCHEMA GC_BEFORE DATA
 *
 * Words are apart by a tab.  An answer is {"ok": ...} or {"error": "..."}; whatever Cassandra
 * itself prints goes to stderr.  Every file that is read is read as a copy (Files), since
 * Cassandra's readers create and delete files beside it; a task eats its files.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public final class Oracle
{
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception
    {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Version.start();
        BufferedReader commands =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null;) {
            answers.println(JSON.writeValueAsString(answer(line.split("\t"))));
            answers.flush();
        }
        System.exit(0);
    }

    private static Map<String, Object> answer(String[] words)
    {
        try {
            return Map.of("ok", run(words));
        } catch (Throwable problem) {
            if (System.getenv("ORACLE_TRACE") != null)
                problem.printStackTrace();
            return Map.of("error", told(problem));
        }
    }

    private static String told(Throwable problem)
    {
        StringBuilder told = new StringBuilder();
        for (Throwable at = problem; at != null; at = at.getCause() == at ? null : at.getCause())
            told.append(told.length() > 0 ? ": " : "").append(at);
        for (StackTraceElement frame : problem.getStackTrace())
            if (told.length() < 2000)
                told.append(" < ").append(frame);
        return told.toString();
    }

    private static Object run(String[] words) throws Exception
    {
        Path first = Path.of(words[1]); // of write it is the seed
        switch (words[0]) {
        case "dump": try (Files table = Files.open(first)) { Dump.json(table, Path.of(words[2]));
            }
            return words[2];
        case "raw": try (Files table = Files.open(first)) { Dump.raw(table, Path.of(words[2]));
            }
            return words[2];
        case "stats": try (Files table = Files.open(first)) { return Stats.of(table);
            }
        case "verify": return Verify.run(first, words.length > 2 ? Path.of(words[2]) : null);
        case "rewrite":
            try (Files table = Files.open(first)) {
                return Writer.rewrite(table, Path.of(words[2]), Integer.parseInt(words[3]))
                    .toString();
            }
        case "script": return Script.run(first, Path.of(words[2]));
        case "write": return Draw.write(Long.parseLong(words[1]), Path.of(words[2]));
        case "inputs": return Draw.inputs(Long.parseLong(words[1]), Path.of(words[2]));
        case "compact": return compact(words);
        case "task":
            return Task.run(Script.schema(java.nio.file.Files.readAllLines(first)),
                Long.parseLong(words[2]), Path.of(words[3]));
        default: throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    /* The first COUNT files are merged, the others stand beside them. */
    private static Object compact(String[] words) throws Exception
    {
        List<Path> files =
            Stream.of(words).skip(6).map(word -> Path.of(word)).collect(Collectors.toList());
        int count = Integer.parseInt(words[5]);
        return Compact.run(java.nio.file.Files.readAllLines(Path.of(words[1])),
            Long.parseLong(words[2]), Long.parseLong(words[3]), files.subList(0, count),
            files.subList(count, files.size()), Path.of(words[4]));
    }
}
