/* Files - one SSTable, copied to a folder of its own and opened there.
 *
 * Metadata comes from the file itself (its serialization header), as sstabledump does it; verify
 * passes that of a schema instead.  Cassandra 4.1 takes keyspace and table from the two folders
 * above.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;
import org.apache.cassandra.tools.Util;

final class Files implements AutoCloseable
{
    private final Path folder;
    final Path origin; // the Data.db that this is a copy of
    final Path data;
    final Descriptor descriptor;
    final TableMetadata metadata;
    final SSTableReader reader;

    private Files(Path origin, Path folder, TableMetadata given, boolean validating)
        throws IOException
    {
        this.folder = folder;
        this.origin = origin;
        data = copy(origin, folder);
        descriptor = Version.descriptor(new File(data.toString()));
        metadata = given != null ? given : Util.metadataFromSSTable(descriptor);
        reader = Version.open(descriptor, TableMetadataRef.forOfflineTools(metadata), validating);
    }

    static Files open(Path data) throws IOException
    {
        return open(data, null, false);
    }

    /* given: the table's metadata, or null for what the file says of itself. */
    static Files open(Path data, TableMetadata given, boolean validating) throws IOException
    {
        Path folder = java.nio.file.Files.createTempDirectory("oracle");
        try {
            return new Files(data, folder, given, validating);
        } catch (Throwable problem) {
            delete(folder);
            throw problem;
        }
    }

    private static Path copy(Path data, Path folder) throws IOException
    {
        String name = data.getFileName().toString();
        String prefix = name.substring(0, name.length() - "Data.db".length());
        Path into = folder.resolve("ks").resolve("t-00000000000000000000000000000000");
        java.nio.file.Files.createDirectories(into);
        try (DirectoryStream<Path> all = java.nio.file.Files.newDirectoryStream(
                 data.toAbsolutePath().getParent(), prefix + "*")) {
            for (Path one : all)
                java.nio.file.Files.copy(one, into.resolve(one.getFileName().toString()));
        }
        return into.resolve(name);
    }

    /* A component's file, of the copy. */
    Path component(String component)
    {
        return beside(data, component);
    }

    static Path beside(Path data, String component)
    {
        String name = data.getFileName().toString();
        return data.resolveSibling(
            name.substring(0, name.length() - "Data.db".length()) + component);
    }

    boolean has(String component)
    {
        return java.nio.file.Files.exists(component(component));
    }

    @Override public void close() throws IOException
    {
        Version.release(reader);
        delete(folder);
    }

    static void delete(Path folder)throws IOException
    {
        List<Path> all = new ArrayList<>();
        try (Stream<Path> walk = java.nio.file.Files.walk(folder)) {
            walk.sorted(Comparator.reverseOrder()).forEach(all::add);
        }
        for (Path one : all)
            java.nio.file.Files.deleteIfExists(one);
    }
}
