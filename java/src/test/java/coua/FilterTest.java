package coua;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import coua.CouaException.Status;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class FilterTest {
    private static final int MANY = 100_000;

    @TempDir
    Path folder;

    private static void fails(Status status, Executable call) {
        var error = assertThrows(CouaException.class, call);
        assertEquals(status, error.status);
        assertFalse(error.getMessage().isEmpty());
    }

    private static int trues(boolean[] mask) {
        int sum = 0;
        for (boolean yes : mask) {
            sum += yes ? 1 : 0;
        }
        return sum;
    }

    @Test
    void singleCalls() {
        for (var filter : List.of(new Filter(), Filter.shared(new Options()))) {
            try (filter) {
                assertTrue(filter.insertUnique("kestrel"));
                assertFalse(filter.insertUnique("kestrel".getBytes(StandardCharsets.UTF_8)));
                assertTrue(filter.insertUnique(new byte[0]));
                assertTrue(filter.insertUnique(new byte[5000]));
                assertTrue(filter.contains("kestrel") && !filter.contains("osprey"));
                filter.insert("kestrel".getBytes(StandardCharsets.UTF_8));
                assertEquals(2, filter.count("kestrel".getBytes(StandardCharsets.UTF_8)));
                assertTrue(filter.remove("kestrel") && filter.remove("kestrel"));
                assertFalse(filter.remove("kestrel"));
                assertTrue(filter.insertUnique(7L) && filter.contains(7L));
                assertTrue(filter.contains(new byte[] {7, 0, 0, 0, 0, 0, 0, 0}));
                filter.insert(7L);
                filter.insert("osprey");
                filter.insert("osprey");
                assertEquals(List.of(2L, 2L), List.of(filter.count(7L), filter.count("osprey")));
                assertEquals(6, filter.size());
                filter.clear();
                assertEquals(0, filter.size());
            }
        }
    }

    @Test
    void batches() {
        try (var filter = new Filter()) {
            var integers = LongStream.range(0, MANY).toArray();
            var texts = IntStream.range(0, MANY).mapToObj(i -> i == 0 ? new byte[0] : ("key " + i).getBytes(StandardCharsets.UTF_8));
            var keys = texts.toArray(byte[][]::new);
            assertEquals(MANY, trues(filter.insertUniqueMany(Keys.of(integers))));
            assertEquals(MANY, trues(filter.insertUniqueMany(Keys.of(keys))));
            assertEquals(0, trues(filter.insertUniqueMany(Keys.of(keys))));
            assertEquals(MANY, trues(filter.containsMany(Keys.of(keys))));
            assertEquals(MANY, trues(filter.containsMany(Keys.of(integers))));
            assertEquals(MANY, trues(filter.removeMany(Keys.of(integers))));
            assertEquals(MANY, trues(filter.removeMany(Keys.of(keys))));
            assertEquals(0, filter.size());
            var strings = new String[] {"kestrel", "\ud83e\udd89", "", "kestrel"};
            filter.insertMany(Keys.of(strings));
            filter.insertMany(Keys.of(7, 7));
            filter.insertMany(Keys.of("kestrel".getBytes(StandardCharsets.UTF_8)));
            assertArrayEquals(new long[] {3, 1, 1, 3}, filter.countMany(Keys.of(strings)));
            assertArrayEquals(new long[] {2, 0}, filter.countMany(Keys.of(7, 8)));
            assertArrayEquals(new boolean[] {false, true}, filter.insertUniqueMany(Keys.of("", "new")));
            assertArrayEquals(new boolean[] {true, false}, filter.containsMany(Keys.of("new", "absent")));
            assertArrayEquals(new boolean[] {true, false}, filter.removeMany(Keys.of("new", "new")));
        }
    }

    @Test
    void fullAndDescribed() {
        try (var filter = new Filter(new Options().capacity(1000).rate(0.001))) {
            filter.insertUniqueMany(Keys.of(LongStream.range(0, 900).toArray()));
            fails(Status.FULL, () -> filter.insertUniqueMany(Keys.of(LongStream.range(1000, 3000).toArray())));
            assertEquals(900, trues(filter.containsMany(Keys.of(LongStream.range(0, 900).toArray()))));
            assertTrue(filter.rate() <= 0.001 && filter.memory() > 1000);
            assertTrue(filter.describe().contains("\"capacity\":1000"));
        }
    }

    @Test
    void aFullFilterTellsWhichKeysItRefused() {
        try (var filter = new Filter(new Options().capacity(1000).rate(0.001))) {
            var keys = LongStream.range(0, 200_000).toArray();
            var full = assertThrows(CouaException.class, () -> filter.insertUniqueMany(Keys.of(keys)));
            assertEquals(Status.FULL, full.status);
            assertEquals(1000, trues(full.isNew()));
            var isRefused = new boolean[keys.length];
            for (int place : full.refused()) {
                isRefused[place] = true;
                assertFalse(full.isNew()[0] && place == 0);
            }
            for (int i = 0; i < keys.length; i++) {
                assertTrue(isRefused[i] || filter.contains(keys[i]));
            }
            var one = assertThrows(CouaException.class, () -> filter.insert("one more"));
            assertEquals(Status.FULL, one.status);
            assertEquals(0, one.refused().length);
        }
    }

    /** Of keys that look alike insertUnique stores one, so that removing one would remove all. */
    @Test
    void removedKeysTakeNoOthersAlong() {
        try (var filter = new Filter(new Options().capacity(200_000).rate(0.001))) {
            filter.insertMany(Keys.of(LongStream.range(0, 150_000).toArray()));
            assertEquals(75_000, trues(filter.removeMany(Keys.of(LongStream.range(0, 75_000).toArray()))));
            assertEquals(75_000, trues(filter.containsMany(Keys.of(LongStream.range(75_000, 150_000).toArray()))));
        }
    }

    /** Their bytes would be those of other keys. */
    @Test
    void halfSurrogatePairsAreNoKeys() {
        try (var filter = new Filter()) {
            for (var key : List.of("\ud800", "a\udc00b", "\udc00\ud800", "\ud83e")) {
                assertThrows(IllegalArgumentException.class, () -> filter.insert(key));
                assertThrows(IllegalArgumentException.class, () -> filter.contains(key));
                assertThrows(IllegalArgumentException.class, () -> filter.insertUniqueMany(Keys.of("good", key)));
            }
            assertEquals(0, filter.size());
            filter.insert("a\ud83e\udd89b");
            assertTrue(filter.contains("a\ud83e\udd89b".getBytes(StandardCharsets.UTF_8)));
        }
    }

    @Test
    void messagesNameTheOptionsOfThisPackage() {
        var rate = assertThrows(CouaException.class, () -> new Filter(new Options().rate(0.1)));
        assertTrue(rate.getMessage().contains("set maxItems"), rate.getMessage());
        var seen = assertThrows(CouaException.class, () -> new Filter(new Options().lastSeen()));
        assertEquals("lastSeen needs a window", seen.getMessage());
        var options = new Options();
        for (var wrong : List.<Runnable>of(() -> options.capacity(-1), () -> options.maxItems(-1), () -> options.windowItems(-1),
                () -> options.hashBits(-1), () -> options.window(Duration.ofDays(-1)))) {
            var error = assertThrows(IllegalArgumentException.class, wrong::run);
            assertTrue(error.getMessage().matches("[a-zA-Z]+ is -\\d+, expected 0 or more"), error.getMessage());
        }
    }

    /** Each use says what is missing: an error of a class's initialization would be reported only once. */
    @Test
    void withoutTheLibraryTheErrorSaysWhatToDo() throws Exception {
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var process = new ProcessBuilder(java, "-Dcoua.library=missing.so", "-cp", System.getProperty("java.class.path"),
                "coua.FilterTest$WithoutLibrary").redirectErrorStream(true).start();
        var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(2, output.split("cannot load the C library missing.so; install libcoua, or name its file by -Dcoua.library=PATH", -1)
                .length - 1, output);
    }

    static final class WithoutLibrary {
        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) {
                try {
                    new Filter();
                } catch (UnsatisfiedLinkError expected) {
                    System.out.println(expected.getMessage());
                }
            }
        }
    }

    @Test
    void nullIsNoKey() {
        try (var filter = new Filter()) {
            var keys = IntStream.range(0, MANY).mapToObj(i -> ("key " + i).getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
            keys[MANY - 1] = null;
            assertThrows(NullPointerException.class, () -> filter.insertUniqueMany(Keys.of(keys)));
            assertEquals(0, filter.size());
        }
    }

    @Test
    void closedDuringCalls() throws Exception {
        for (int round = 0; round < 20; round++) {
            var filter = round % 2 == 0 ? new Filter() : Filter.open(folder.resolve("closed" + round), new Options());
            var threads = IntStream.range(0, 4).mapToObj(number -> Thread.ofPlatform().start(() -> {
                try {
                    for (long key = number;; key++) {
                        filter.insertUnique(key);
                        filter.containsMany(Keys.of(key, 1, 2));
                    }
                } catch (IllegalStateException closed) {
                    // as it should be
                } catch (CouaException closed) {
                    assertEquals(Status.INVALID, closed.status);
                }
            })).toList();
            Thread.sleep(5);
            filter.close();
            for (var thread : threads) {
                assertTrue(thread.join(java.time.Duration.ofSeconds(20)));
            }
        }
    }

    @Test
    void forgottenFiltersAreFreed() throws Exception {
        var path = folder.resolve("forgotten.coua");
        for (int i = 0; i < 3; i++) {
            Filter.open(path, new Options()).insert("a");
            for (int wait = 0; wait < 200; wait++) {
                System.gc();
                Thread.sleep(10);
                try {
                    Filter.open(path, new Options()).close();
                    break;
                } catch (CouaException busy) {
                    assertEquals(Status.BUSY, busy.status);
                }
            }
        }
        Filter.open(path, new Options()).close();
    }

    @Test
    void pathsThatCannotBeEncoded() {
        var names = System.getProperty("sun.jnu.encoding");
        Assumptions.assumeTrue(names.equals("UTF-8"), "this Java encodes file names in " + names);
        var path = folder.resolve("name \ufffd.coua");
        try (var filter = new Filter()) {
            var error = assertThrows(IllegalArgumentException.class, () -> filter.save(path));
            assertTrue(error.getMessage().contains("UTF-8"));
            assertThrows(IllegalArgumentException.class, () -> Filter.load(path, new Options()));
        }
    }

    @Test
    void bytesAreAPromise() throws Exception {
        try (var filter = new Filter(new Options().capacity(MANY).rate(0.001).seed(42))) {
            LongStream.range(0, MANY).forEach(key -> {
                var bytes = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(key).array();
                filter.insert(bytes);
            });
            var hash = MessageDigest.getInstance("SHA-256").digest(filter.toBytes());
            assertEquals("d051abcd6e61774a959c2735f5e6b5fbac02f5cff2f63b3061d55d63934e6ce7", HexFormat.of().formatHex(hash));
        }
    }

    @Test
    void filesAndBytes() {
        var secret = new Options().key("0123456789abcdef".getBytes(StandardCharsets.UTF_8));
        for (var options : List.of(new Options(), secret)) {
            var path = folder.resolve("seen.coua");
            try (var filter = new Filter(options)) {
                filter.insertUnique("kestrel");
                filter.save(path);
                try (var loaded = Filter.load(path, options);
                        var copied = Filter.fromBytes(filter.toBytes(), options);
                        var other = copied.copy()) {
                    assertTrue(loaded.contains("kestrel") && copied.contains("kestrel"));
                    other.insertUnique("osprey");
                    loaded.mergeUnique(other);
                    assertEquals(2, loaded.size());
                    assertEquals(1, copied.size());
                }
            }
        }
        fails(Status.NOT_A_FILTER, () -> Filter.load(folder.resolve("seen.coua"), new Options()));
        fails(Status.IO, () -> Filter.load(folder.resolve("missing.coua"), new Options()));
        fails(Status.NOT_A_FILTER, () -> Filter.fromBytes(new byte[100], new Options()));
        fails(Status.INVALID, () -> new Filter(new Options().rate(2)));
        assertThrows(IllegalArgumentException.class, () -> new Options().key(new byte[3]));
        try (var filter = new Filter()) {
            var error = assertThrows(CouaException.class, filter::commit);
            assertTrue(error.getMessage().contains("Filter.open creates one"));
        }
    }

    @Test
    void opened() {
        var path = folder.resolve("open.coua");
        try (var filter = Filter.open(path, new Options())) {
            filter.insertUnique("kept");
            filter.commit();
            fails(Status.BUSY, () -> Filter.open(path, new Options()));
            filter.insertUnique("later");
        }
        fails(Status.MISMATCH, () -> Filter.open(path, new Options().seed(3)));
        var filter = Filter.open(path, new Options());
        assertEquals(2, filter.size());
        filter.close();
        filter.close();
        assertThrows(IllegalStateException.class, () -> filter.insertUnique("a"));
        try (var unlucky = Filter.open(path, new Options())) {
            unlucky.insert("given up");
            unlucky.abandon();
        }
        try (var loaded = Filter.load(path, new Options())) {
            assertEquals(2, loaded.size());
        }
    }

    @Test
    void windows() {
        try (var last = new Filter(new Options().windowItems(1000))) {
            for (long key = 0; key < 5000; key++) {
                assertTrue(last.insertUnique(key));
            }
            assertTrue(last.size() >= 1000 && last.size() < 1300);
        }
        assertTrue(timesNew("again", new Options().windowItems(1000)) > 1);
        assertEquals(1, timesNew("again", new Options().windowItems(1000).lastSeen()));
        assertThrows(CouaException.class, () -> new Filter(new Options().lastSeen()));
    }

    /** How often a key is new that comes with every tenth other one. */
    private static int timesNew(String key, Options options) {
        int times = 0;
        try (var filter = new Filter(options)) {
            for (long other = 0; other < 5000; other++) {
                filter.insertUnique(other);
                if (other % 10 == 0 && filter.insertUnique(key)) {
                    times++;
                }
            }
        }
        return times;
    }

    @Test
    void threads() throws Exception {
        try (var filter = Filter.shared(new Options())) {
            var firsts = new int[4];
            var threads = IntStream.range(0, 4).mapToObj(number -> Thread.ofPlatform().start(() -> {
                for (long from = 0; from < 50_000; from += 1000) {
                    firsts[number] += trues(filter.insertUniqueMany(Keys.of(LongStream.range(from, from + 1000).toArray())));
                    filter.contains("kestrel " + from);
                }
            })).toList();
            for (var thread : threads) {
                thread.join();
            }
            assertEquals(50_000, Arrays.stream(firsts).sum());
        }
    }

    /** Keys of every kind: the empty one, texts, integers, and any bytes. */
    private static byte[] keyOf(long number) {
        long mixed = number * 0x9e37_79b9_7f4a_7c15L;
        mixed ^= mixed >>> 29;
        var integer = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(mixed).array();
        return number == 0 ? new byte[0] : switch ((int) (number % 5)) {
            case 1 -> ("key " + number).getBytes(StandardCharsets.UTF_8);
            case 3 -> Arrays.copyOf(integer, 8 + (int) (number % 9));
            case 4 -> Arrays.copyOf(integer, 200);
            default -> integer;
        };
    }

    /** The environment variable COUA_PROGRAM names the program coua. */
    @Test
    void theProgramAndThisPackageReadEachOther() throws Exception {
        var program = System.getenv("COUA_PROGRAM");
        Assumptions.assumeTrue(program != null, "COUA_PROGRAM does not name the program coua");
        // No key has these bytes.
        var end = new byte[] {(byte) 0xff, 0, '|', 'e', 'n', 'd', '|', '\n'};
        var all = new ByteArrayOutputStream();
        var some = new ByteArrayOutputStream();
        var keys = new ArrayList<byte[]>();
        for (long i = 0; i < MANY; i++) {
            var key = keyOf(i);
            keys.add(key);
            for (var records : i % 2 == 0 ? List.of(all, some) : List.of(all)) {
                records.writeBytes(key);
                records.writeBytes(end);
            }
        }
        Files.write(folder.resolve("all"), all.toByteArray());
        Files.write(folder.resolve("some"), some.toByteArray());
        run(program, "add", "made-by-coua", "some");
        try (var filter = Filter.load(folder.resolve("made-by-coua"), new Options())) {
            var found = filter.containsMany(Keys.of(keys.toArray(byte[][]::new)));
            for (int i = 0; i < MANY; i++) {
                assertEquals(i % 2 == 0, found[i]);
                assertEquals(found[i], filter.contains(keys.get(i)));
            }
        }
        try (var filter = new Filter()) {
            for (int i = 0; i < MANY; i += 2) {
                assertTrue(filter.insertUnique(keys.get(i)));
            }
            filter.save(folder.resolve("made-by-java"));
        }
        assertArrayEquals(some.toByteArray(), run(program, "check", "made-by-java", "all"));
    }

    private byte[] run(String program, String command, String filter, String records) throws Exception {
        var builder = new ProcessBuilder(program, command, "--delimiter", "\\xff\\x00|end|\\n", filter, records);
        var process = builder.directory(folder.toFile()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var output = process.getInputStream().readAllBytes();
        assertTrue(process.waitFor() <= 1);
        return output;
    }
}
