/* Type - a CQL type that can draw literals of itself.
 *
 * Literals are what Cassandra's dump can print again: no empty boolean (it fails on one), times
 * within the years 1 to 9999, durations that are not nothing.  Nor an empty frozen map, which
 * Cassandra takes for a set where the column is in descending order.
 */
// SPDX-License-Identifier: Apache-2.0
package oracle;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.stream.Collectors;

final class Type
{
    enum Kind { NATIVE, LIST, SET, MAP, TUPLE, UDT, VECTOR }

    private static final String[] NATIVE = {
        "int",
        "text",
        "bigint",
        "blob",
        "boolean",
        "uuid",
        "timeuuid",
        "timestamp",
        "double",
        "float",
        "varint",
        "decimal",
        "ascii",
        "inet",
        "date",
        "time",
        "smallint",
        "tinyint",
        "duration",
    };
    private static final int KEYS_OF_NATIVE = NATIVE.length - 1; // a duration has no order
    private static final String CAN_BE_EMPTY =
        " int bigint uuid timeuuid timestamp double float varint decimal inet ";

    final Kind kind;
    final String name; // of a native type or a UDT
    final boolean isFrozen;
    final List<Type> parts;
    final List<String> fields;
    final int size; // of a vector

    private Type(
        Kind kind, String name, boolean isFrozen, List<Type> parts, List<String> fields, int size)
    {
        this.kind = kind;
        this.name = name;
        this.isFrozen = isFrozen;
        this.parts = parts;
        this.fields = fields;
        this.size = size;
    }

    static Type of(String name)
    {
        return new Type(Kind.NATIVE, name, false, List.of(), null, 0);
    }

    static Type udt(String name, List<String> fields, List<Type> types)
    {
        return new Type(Kind.UDT, name, false, types, fields, 0);
    }

    Type frozen()
    {
        return new Type(kind, name, true, parts, fields, size);
    }

    boolean isComplex()
    {
        return !isFrozen
            && (kind == Kind.LIST || kind == Kind.SET || kind == Kind.MAP || kind == Kind.UDT);
    }

    /* A type for a key, a clustering, an element of a set, a key of a map: it has an order. */
    static Type ordered(Random random, List<Type> udts, int depth)
    {
        return draw(random, udts, depth, true);
    }

    static Type any(Random random, List<Type> udts, int depth)
    {
        return draw(random, udts, depth, false);
    }

    private static Type draw(Random random, List<Type> udts, int depth, boolean isOrdered)
    {
        if (depth == 0 || random.nextInt(isOrdered ? 8 : 2) > 0)
            return of(NATIVE[random.nextInt(isOrdered ? KEYS_OF_NATIVE : NATIVE.length)]);
        Kind kind = Kind.values()[1 + random.nextInt(Version.HAS_VECTORS ? 6 : 5)];
        if (kind == Kind.UDT && (udts.isEmpty() || isOrdered))
            kind = Kind.SET;
        if (kind == Kind.UDT) {
            Type udt = udts.get(random.nextInt(udts.size()));
            return random.nextBoolean() ? udt.frozen() : udt;
        }
        List<Type> parts = new ArrayList<>();
        for (int count = kind == Kind.MAP     ? 2
                         : kind == Kind.TUPLE ? 1 + random.nextInt(3)
                                              : 1;
             count > 0; count--) {
            boolean isKey = kind == Kind.SET || kind == Kind.MAP && parts.isEmpty();
            Type part = draw(random, udts, depth - 1, isOrdered || isKey);
            parts.add(
                part.kind == Kind.NATIVE || part.kind == Kind.TUPLE || part.kind == Kind.VECTOR
                    ? part
                    : part.frozen());
        }
        boolean isFrozen = isOrdered || random.nextInt(3) == 0;
        return new Type(
            kind, null, isFrozen, parts, null, kind == Kind.VECTOR ? 1 + random.nextInt(4) : 0);
    }

    String cql()
    {
        String inside = parts.stream().map(Type::cql).collect(Collectors.joining(", "));
        switch (kind) {
        case NATIVE: return name;
        case TUPLE: return "tuple<" + inside + ">";
        case VECTOR: return "vector<" + inside + ", " + size + ">";
        case UDT: return isFrozen ? "frozen<" + name + ">" : name;
        default:
            String bare = kind.name().toLowerCase() + "<" + inside + ">";
            return isFrozen ? "frozen<" + bare + ">" : bare;
        }
    }

    /* A literal for a whole column; now and then an empty value. */
    String literal(Random random)
    {
        if (kind == Kind.NATIVE && random.nextInt(20) == 0
            && CAN_BE_EMPTY.contains(" " + name + " "))
            return "blobAs" + Character.toUpperCase(name.charAt(0)) + name.substring(1) + "(0x)";
        return inner(random);
    }

    /* A literal that may stand in a collection. */
    String inner(Random random)
    {
        switch (kind) {
        case NATIVE: return nativeLiteral(random);
        case LIST: return "[" + several(random, parts.get(0)) + "]";
        case SET: return "{" + several(random, parts.get(0)) + "}";
        case MAP: return "{" + pairs(random) + "}";
        case TUPLE:
            return "("
                + parts.stream().map(part -> orNull(part, random)).collect(Collectors.joining(", "))
                + ")";
        case UDT: return "{" + fieldsSet(random) + "}";
        default: return "[" + exactly(random, parts.get(0), size) + "]";
        }
    }

    private String orNull(Type part, Random random)
    {
        return random.nextInt(5) == 0 ? "null" : part.inner(random);
    }

    private static String several(Random random, Type part)
    {
        return exactly(random, part, random.nextInt(4));
    }

    private static String exactly(Random random, Type part, int count)
    {
        List<String> list = new ArrayList<>();
        for (; count > 0; count--)
            list.add(part.inner(random));
        return String.join(", ", list);
    }

    private String pairs(Random random)
    {
        List<String> list = new ArrayList<>();
        for (int count = (isFrozen ? 1 : 0) + random.nextInt(3); count > 0; count--)
            list.add(parts.get(0).inner(random) + ": " + parts.get(1).inner(random));
        return String.join(", ", list);
    }

    private String fieldsSet(Random random)
    {
        List<String> list = new ArrayList<>();
        for (int i = 0; i < fields.size(); i++)
            if (i == 0 || random.nextInt(4) > 0)
                list.add(fields.get(i) + ": " + orNull(parts.get(i), random));
        return String.join(", ", list);
    }

    private String nativeLiteral(Random random)
    {
        switch (name) {
        case "int": return Integer.toString((int)number(random, 32));
        case "bigint": return Long.toString(number(random, 64));
        case "smallint": return Short.toString((short)number(random, 16));
        case "tinyint": return Byte.toString((byte)number(random, 8));
        case "varint":
            return new BigInteger(1 + random.nextInt(100), random)
                .subtract(BigInteger.valueOf(random.nextInt()))
                .toString();
        case "decimal":
            return new BigDecimal(
                new BigInteger(1 + random.nextInt(60), random), random.nextInt(40) - 20)
                .toString();
        case "boolean": return Boolean.toString(random.nextBoolean());
        case "text": return quoted(text(random, 0x24F));
        case "ascii": return quoted(text(random, 0x7F));
        case "blob": return "0x" + hex(random);
        case "uuid":
            return new UUID(
                random.nextLong() & ~0xF000L | 0x4000, random.nextLong() & ~(3L << 62) | 1L << 63)
                .toString();
        case "timeuuid":
            return new UUID(
                random.nextLong() & ~0xF000L | 0x1000, random.nextLong() & ~(3L << 62) | 1L << 63)
                .toString();
        case "inet":
            return random.nextBoolean()
                ? "'10.0." + random.nextInt(256) + "." + random.nextInt(256) + "'"
                : "'fe80::" + Integer.toHexString(random.nextInt(65536)) + "'";
        default: return timeOrFloat(random);
        }
    }

    private String timeOrFloat(Random random)
    {
        switch (name) {
        case "timestamp":
            return Long.toString(random.nextInt(4) == 0 ? -random.nextInt()
                                                        : random.nextInt(2_000_000_000) * 1000L
                                                              + random.nextInt(1000));
        case "date": return "'" + LocalDate.ofEpochDay(random.nextInt(60_000) - 20_000) + "'";
        case "time": return Long.toString(Math.floorMod(random.nextLong(), 86_400_000_000_000L));
        case "duration": return duration(random);
        case "float": return real(random, Float.toString(Float.intBitsToFloat(random.nextInt())));
        case "double":
            return real(random, Double.toString(Double.longBitsToDouble(random.nextLong())));
        default: throw new IllegalStateException(name);
        }
    }

    private static String duration(Random random)
    {
        return (random.nextInt(3) == 0 ? "-" : "") + (1 + random.nextInt(20)) + "mo"
            + random.nextInt(40) + "d" + random.nextInt(2_000_000_000) + "ns";
    }

    private static String real(Random random, String any)
    {
        String[] special = {
            "NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1.5", "100.0", "0.001", "1.0E7"};
        return random.nextInt(3) == 0 ? special[random.nextInt(special.length)] : any;
    }

    /* Small ones, the ends of the range, and any. */
    private static long number(Random random, int bits)
    {
        switch (random.nextInt(5)) {
        case 0: return random.nextInt(10);
        case 1: return -1 - random.nextInt(10);
        case 2: return (1L << bits - 1) - 1;
        case 3: return -1L << bits - 1;
        default: return random.nextLong();
        }
    }

    private static String text(Random random, int last)
    {
        StringBuilder text = new StringBuilder();
        for (int left = random.nextInt(random.nextInt(20) == 0 ? 300 : 12); left > 0; left--) {
            int c = random.nextInt(4) > 0 ? 'a' + random.nextInt(26) : 1 + random.nextInt(last);
            text.appendCodePoint(c == '\n' || c == '\r' || c == 0x85 ? ' ' : c);
        }
        if (last > 0x7F && random.nextInt(20) == 0)
            text.appendCodePoint(0x1F600 + random.nextInt(40));
        return text.toString();
    }

    private static String quoted(String text)
    {
        return "'" + text.replace("'", "''") + "'";
    }

    private static String hex(Random random)
    {
        byte[] bytes = new byte[random.nextInt(random.nextInt(20) == 0 ? 2000 : 20)];
        random.nextBytes(bytes);
        StringBuilder hex = new StringBuilder();
        for (byte one : bytes)
            hex.append(String.format("%02x", one));
        return hex.toString();
    }
}
