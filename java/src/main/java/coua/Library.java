package coua;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/** The functions of coua.h. */
final class Library {
    private static final Linker LINKER = Linker.nativeLinker();

    static final MethodHandle LAST_ERROR = handle("coua_last_error", FunctionDescriptor.of(ADDRESS));
    static final MethodHandle FREE = handle("coua_free", FunctionDescriptor.ofVoid(ADDRESS));
    static final MethodHandle CREATE = status("coua_create", ADDRESS, ADDRESS);
    static final MethodHandle SHARED_CREATE = status("coua_shared_create", ADDRESS, ADDRESS);
    static final MethodHandle STORE_OPEN = status("coua_store_open", ADDRESS, ADDRESS, JAVA_INT, ADDRESS);
    static final MethodHandle STORE_COMMIT = status("coua_store_commit", ADDRESS);
    static final MethodHandle STORE_CLOSE = status("coua_store_close", ADDRESS);
    static final MethodHandle LOAD = status("coua_load", ADDRESS, ADDRESS, ADDRESS);
    static final MethodHandle SAVE = status("coua_save", ADDRESS, ADDRESS);
    static final MethodHandle FROM_BYTES = status("coua_from_bytes", ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    static final MethodHandle TO_BYTES = status("coua_to_bytes", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
    static final MethodHandle DESCRIBE = status("coua_describe", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
    static final MethodHandle CLONE = status("coua_clone", ADDRESS, ADDRESS);
    static final MethodHandle CLEAR = status("coua_clear", ADDRESS);
    static final MethodHandle MERGE = status("coua_merge", ADDRESS, ADDRESS);
    static final MethodHandle MERGE_UNIQUE = status("coua_merge_unique", ADDRESS, ADDRESS);
    static final MethodHandle LEN = status("coua_len", ADDRESS, ADDRESS);
    static final MethodHandle MEMORY = status("coua_memory", ADDRESS, ADDRESS);
    static final MethodHandle RATE = status("coua_rate", ADDRESS, ADDRESS);

    private Library() {}

    /** A call for one key, in its forms. */
    enum Verb {
        INSERT("coua_insert"),
        INSERT_UNIQUE("coua_insert_unique"),
        CONTAINS("coua_contains"),
        REMOVE("coua_remove"),
        COUNT("coua_count");

        final MethodHandle bytes;
        final MethodHandle integer;
        final MethodHandle batch;

        Verb(String name) {
            bytes = single(name, ADDRESS, ADDRESS, JAVA_LONG);
            integer = single(name + "_u64", ADDRESS, JAVA_LONG);
            batch = status(name + "_batch", ADDRESS, ADDRESS, ADDRESS);
        }

        /** A call for one key, whose last argument gets the answer. Only coua_insert() has none. */
        private static MethodHandle single(String name, MemoryLayout... key) {
            if (name.matches("coua_insert(_u64)?")) {
                return MethodHandles.dropArguments(status(name, key), key.length, MemorySegment.class);
            }
            var arguments = Arrays.copyOf(key, key.length + 1);
            arguments[key.length] = ADDRESS;
            return status(name, arguments);
        }
    }

    private static MethodHandle handle(String name, FunctionDescriptor type) {
        return LINKER.downcallHandle(Symbols.find(name), type);
    }

    private static MethodHandle status(String name, MemoryLayout... arguments) {
        return handle(name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    /** A call of the library with a filter, or with the place for a new one. */
    interface Call {
        int invoke(MemorySegment filter) throws Throwable;
    }

    static int statusOf(Call call, MemorySegment filter) {
        try {
            return call.invoke(filter);
        } catch (RuntimeException | Error refused) {
            throw refused; // such as that of a closed filter
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Throws what the last call of this thread failed with. */
    static void check(int status) {
        if (status != 0) {
            throw failure(status);
        }
    }

    static void free(MemorySegment filter) {
        statusOf(address -> {
            FREE.invokeExact(address);
            return 0;
        }, filter);
    }

    /** Of the last call of this thread. */
    static CouaException failure(int status) {
        try {
            var message = ((MemorySegment) LAST_ERROR.invokeExact()).reinterpret(Long.MAX_VALUE);
            var text = inJava(message.getString(0));
            boolean isFull = status == CouaException.Status.FULL.ordinal();
            return isFull ? new FullException(text) : new CouaException(status, text);
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** What messages call by the names of coua.h, and the names of this package. Longer names stand before their parts. */
    private static final String[][] WORDS = {
        {"window_length, window_generations and window_by need a window_clock, such as COUA_CLOCK_ARRIVAL",
            "lastSeen needs a window"},
        {"coua_store_open()", "Filter.open"}, {"coua_to_bytes()", "toBytes"}, {"coua_from_bytes()", "Filter.fromBytes"},
        {"coua_insert_unique_batch()", "insertUniqueMany"}, {"coua_insert_unique()", "insertUnique"},
        {"coua_merge()", "merge"}, {"max_items", "maxItems"}, {"hash_bits", "hashBits"},
    };

    private static String inJava(String message) {
        for (var name : WORDS) {
            message = message.replace(name[0], name[1]);
        }
        return message;
    }

    static MemorySegment keyIn(Arena arena, byte[] key) {
        return key == null ? MemorySegment.NULL : arena.allocateFrom(ValueLayout.JAVA_BYTE, key);
    }

    /** How the system encodes file names. */
    private static final Charset NAMES = Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));

    /** A path as the system has it. */
    static MemorySegment text(Arena arena, Path path) {
        var text = path.toString();
        boolean isWindows = System.getProperty("os.name").startsWith("Windows");
        var names = isWindows ? StandardCharsets.UTF_8 : NAMES;
        // Java has another character where it could not decode a name.
        if (text.indexOf('\ufffd') >= 0 || !names.newEncoder().canEncode(text)) {
            throw new IllegalArgumentException("the path " + text + " cannot be encoded in " + names
                    + ", this Java's encoding of file names; use a UTF-8 locale such as LC_ALL=C.UTF-8, or rename the file");
        }
        var bytes = text.getBytes(names);
        var memory = arena.allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, 0, bytes.length);
        return memory;
    }
}
