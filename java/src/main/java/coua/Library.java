package coua;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.Arrays;

/** The functions of coua.h. The property {@code coua.library} is the path of libcoua, if it is not installed. */
final class Library {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final String FILE = System.getProperty("coua.library", System.mapLibraryName("coua"));
    /** Null if there is no library: an error here would be reported only once. */
    private static final SymbolLookup SYMBOLS = symbols();

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

    private static SymbolLookup symbols() {
        try {
            return SymbolLookup.libraryLookup(FILE, Arena.global());
        } catch (IllegalArgumentException missing) {
            return null;
        }
    }

    /** Fails if there is no library. */
    static void checkFound() {
        if (SYMBOLS == null) {
            throw new UnsatisfiedLinkError("cannot load the C library " + FILE
                    + "; install libcoua, or name its file by -Dcoua.library=PATH");
        }
    }

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
            bytes = single(name, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
            integer = single(name + "_u64", ADDRESS, JAVA_LONG, ADDRESS);
            batch = status(name + "_batch", ADDRESS, ADDRESS, ADDRESS);
        }

        /** A call for one key, whose last argument gets the answer. The C function coua_insert() has no such argument. */
        private static MethodHandle single(String name, MemoryLayout... arguments) {
            if (!name.matches("coua_insert(_u64)?")) {
                return status(name, arguments);
            }
            int last = arguments.length - 1;
            return MethodHandles.dropArguments(status(name, Arrays.copyOf(arguments, last)), last, MemorySegment.class);
        }
    }

    private static MethodHandle handle(String name, FunctionDescriptor type) {
        if (SYMBOLS == null) {
            return null;
        }
        var symbol = SYMBOLS.find(name).orElseThrow(
                () -> new UnsatisfiedLinkError(FILE + " has no " + name + "; expected version 0.1"));
        return LINKER.downcallHandle(symbol, type);
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
    static CouaException failure(int status, byte... answers) {
        try {
            var message = ((MemorySegment) LAST_ERROR.invokeExact()).reinterpret(Long.MAX_VALUE);
            return new CouaException(status, inJava(message.getString(0)), answers);
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

    /** The encoding of file names for libcoua: that of the system, except that Windows is given UTF-8. */
    private static final Charset NAMES = Charset.forName(System.getProperty("os.name").startsWith("Windows")
            ? "UTF-8" : System.getProperty("sun.jnu.encoding", "UTF-8"));

    /** A path as the system has it. */
    static MemorySegment text(Arena arena, Path path) {
        var text = path.toString();
        // Java has another character where it could not decode a name.
        if (text.indexOf('\ufffd') >= 0 || !NAMES.newEncoder().canEncode(text)) {
            throw new IllegalArgumentException("the path " + text + " cannot be encoded in " + NAMES
                    + ", this Java's encoding of file names; use a UTF-8 locale such as LC_ALL=C.UTF-8, or rename the file");
        }
        return arena.allocateFrom(ValueLayout.JAVA_BYTE, (text + '\0').getBytes(NAMES));
    }
}
