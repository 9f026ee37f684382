package coua;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import coua.Library.Call;
import coua.Library.Verb;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * A set or multiset of keys, in a few bytes per key.
 *
 * <p>A key is any bytes, a string (its UTF-8), or a {@code long} (the key of its eight bytes, little endian). The same key
 * has the same hash in every language, and a filter the same bytes. All calls may be made by many threads. A call that
 * fails throws a {@link CouaException}. A filter that is forgotten is freed, without a commit.
 */
public final class Filter implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    /** Where the library has it. A call with this address keeps it from being freed. */
    private final MemorySegment address;
    private final Cleaner.Cleanable cleanable;
    private final boolean isFile;

    private Filter(MemorySegment created, boolean isFile) {
        var life = Arena.ofShared();
        this.address = created.reinterpret(life, Library::free);
        this.cleanable = CLEANER.register(this, () -> end(life));
        this.isFile = isFile;
    }

    /** Frees a filter, after the calls that are at work. */
    private static void end(Arena life) {
        while (life.scope().isAlive()) {
            try {
                life.close();
            } catch (IllegalStateException atWork) {
                Thread.yield();
            }
        }
    }

    /** Creates a filter that grows, and stores 64 bits of every key's hash. */
    public Filter() {
        this(new Options());
    }

    /** Creates a filter in memory. */
    public Filter(Options options) {
        this(made((arena, created) -> (int) Library.CREATE.invokeExact(options.inMemory(arena), created)), false);
    }

    /** Creates a filter whose parts have a lock each, for threads that change it concurrently. */
    public static Filter shared(Options options) {
        return inMemory((arena, created) -> (int) Library.SHARED_CREATE.invokeExact(options.inMemory(arena), created));
    }

    /**
     * Opens the filter in a file, or creates it. {@link #close} commits, even after an exception in a {@code try} with
     * resources: to give up the changes, {@link #abandon} first.
     */
    public static Filter open(Path path, Options options) {
        return new Filter(made((arena, created) -> (int) Library.STORE_OPEN.invokeExact(
                Library.text(arena, path), options.inMemory(arena), 0, created)), true);
    }

    /** Reads a filter file of any coua program or package into memory. Only the key of the options is used. */
    public static Filter load(Path path, Options options) {
        return inMemory((arena, created) -> (int) Library.LOAD.invokeExact(
                Library.text(arena, path), Library.keyIn(arena, options.key), created));
    }

    /** Loads a filter from the bytes of {@link #toBytes}, or of a file. Only the key of the options is used. */
    public static Filter fromBytes(byte[] bytes, Options options) {
        return inMemory((arena, created) -> (int) Library.FROM_BYTES.invokeExact(
                arena.allocateFrom(JAVA_BYTE, bytes), (long) bytes.length, Library.keyIn(arena, options.key), created));
    }

    /** Copies the filter in memory. */
    public Filter copy() {
        return inMemory((arena, created) -> status(address -> (int) Library.CLONE.invokeExact(address, created)));
    }

    private interface Maker {
        int make(Arena arena, MemorySegment created) throws Throwable;
    }

    private static MemorySegment made(Maker maker) {
        Library.checkFound();
        try (var arena = Arena.ofConfined()) {
            var created = arena.allocate(ADDRESS);
            Library.check(Library.statusOf(place -> maker.make(arena, place), created));
            return created.get(ADDRESS, 0);
        }
    }

    private static Filter inMemory(Maker maker) {
        return new Filter(made(maker), false);
    }

    /** Makes a call with the filter, which is not forgotten meanwhile. */
    private int status(Call call) {
        if (!address.scope().isAlive()) {
            throw new IllegalStateException("the filter is closed");
        }
        try {
            return Library.statusOf(call, address);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private void check(Call call) {
        Library.check(status(call));
    }

    /**
     * Commits a filter that {@link #open} opened, and frees the memory. If the commit fails, the filter stays open, and
     * can be committed, closed or abandoned. Running calls of other threads finish first; later ones throw an
     * {@link IllegalStateException}.
     */
    @Override
    public void close() {
        try {
            if (isFile) {
                check(address -> (int) Library.STORE_CLOSE.invokeExact(address));
            }
            cleanable.clean();
        } catch (IllegalStateException closed) {
            // by an earlier call, or by another thread
        }
    }

    /** Frees the memory. The file of a filter that {@link #open} opened stays as it was at the last commit. */
    public void abandon() {
        cleanable.clean();
    }

    /** Memory for a key and its answer, one for each thread. */
    private static final class Space {
        MemorySegment key = Arena.ofAuto().allocate(1024, 8);
        final MemorySegment answer = Arena.ofAuto().allocate(8, 8);
    }

    private static final ThreadLocal<Space> SPACES = ThreadLocal.withInitial(Space::new);

    private long one(Verb verb, byte[] key) {
        var space = SPACES.get();
        if (space.key.byteSize() < key.length) {
            space.key = Arena.ofAuto().allocate(2L * key.length, 8);
        }
        MemorySegment.copy(key, 0, space.key, JAVA_BYTE, 0, key.length);
        space.answer.set(JAVA_LONG, 0, 0);
        check(address -> (int) verb.bytes.invokeExact(address, space.key, (long) key.length, space.answer));
        return space.answer.get(JAVA_LONG, 0);
    }

    private long one(Verb verb, long key) {
        var space = SPACES.get();
        space.answer.set(JAVA_LONG, 0, 0);
        check(address -> (int) verb.integer.invokeExact(address, key, space.answer));
        return space.answer.get(JAVA_LONG, 0);
    }

    /**
     * Adds a copy of the key. In a filter with a rate, use this call for keys that will be removed:
     * {@link #insertUnique(byte[])} stores nothing for a key that it mistakes for another one, and removing either then
     * makes both absent.
     */
    public void insert(byte[] key) {
        one(Verb.INSERT, key);
    }

    /**
     * Adds a copy of the key. In a filter with a rate, use this call for keys that will be removed:
     * {@link #insertUnique(String)} stores nothing for a key that it mistakes for another one, and removing either then
     * makes both absent.
     */
    public void insert(String key) {
        insert(Keys.utf8(key));
    }

    /**
     * Adds a copy of the key. In a filter with a rate, use this call for keys that will be removed:
     * {@link #insertUnique(long)} stores nothing for a key that it mistakes for another one, and removing either then
     * makes both absent.
     */
    public void insert(long key) {
        one(Verb.INSERT, key);
    }

    /**
     * Adds the key if it is absent, and returns whether it was: a set. For keys that will be removed from a filter with
     * a rate, use {@link #insert(byte[])}.
     */
    public boolean insertUnique(byte[] key) {
        return one(Verb.INSERT_UNIQUE, key) != 0;
    }

    /**
     * Adds the key if it is absent, and returns whether it was: a set. For keys that will be removed from a filter with
     * a rate, use {@link #insert(String)}.
     */
    public boolean insertUnique(String key) {
        return insertUnique(Keys.utf8(key));
    }

    /**
     * Adds the key if it is absent, and returns whether it was: a set. For keys that will be removed from a filter with
     * a rate, use {@link #insert(long)}.
     */
    public boolean insertUnique(long key) {
        return one(Verb.INSERT_UNIQUE, key) != 0;
    }

    /** Whether the key is present. For an absent key, true with the probability of the rate. */
    public boolean contains(byte[] key) {
        return one(Verb.CONTAINS, key) != 0;
    }

    /** Whether the key is present. For an absent key, true with the probability of the rate. */
    public boolean contains(String key) {
        return contains(Keys.utf8(key));
    }

    /** Whether the key is present. For an absent key, true with the probability of the rate. */
    public boolean contains(long key) {
        return one(Verb.CONTAINS, key) != 0;
    }

    /**
     * Removes one copy of the key, and returns whether there was one. Remove only what was inserted, and in a filter
     * with a rate only what {@code insert} inserted.
     */
    public boolean remove(byte[] key) {
        return one(Verb.REMOVE, key) != 0;
    }

    /**
     * Removes one copy of the key, and returns whether there was one. Remove only what was inserted, and in a filter
     * with a rate only what {@code insert} inserted.
     */
    public boolean remove(String key) {
        return remove(Keys.utf8(key));
    }

    /**
     * Removes one copy of the key, and returns whether there was one. Remove only what was inserted, and in a filter
     * with a rate only what {@code insert} inserted.
     */
    public boolean remove(long key) {
        return one(Verb.REMOVE, key) != 0;
    }

    /** Counts the copies of the key. */
    public long count(byte[] key) {
        return one(Verb.COUNT, key);
    }

    /** Counts the copies of the key. */
    public long count(String key) {
        return count(Keys.utf8(key));
    }

    /** Counts the copies of the key. */
    public long count(long key) {
        return one(Verb.COUNT, key);
    }

    /** {@code insert} for many keys. A {@link CouaException} has the places of refused keys. */
    public void insertMany(Keys keys) {
        batch(Verb.INSERT, keys);
    }

    /** {@code insertUnique} for many keys. A {@link CouaException} has the answers, and the places of refused keys. */
    public boolean[] insertUniqueMany(Keys keys) {
        return batch(Verb.INSERT_UNIQUE, keys);
    }

    /** {@code contains} for many keys. */
    public boolean[] containsMany(Keys keys) {
        return batch(Verb.CONTAINS, keys);
    }

    /** {@code remove} for many keys. */
    public boolean[] removeMany(Keys keys) {
        return batch(Verb.REMOVE, keys);
    }

    /** {@code count} for many keys. */
    public long[] countMany(Keys keys) {
        var copies = new long[keys.length];
        each(Verb.COUNT, keys, MemorySegment.ofArray(copies), Long.BYTES);
        return copies;
    }

    private boolean[] batch(Verb verb, Keys keys) {
        var answers = new byte[keys.length];
        each(verb, keys, MemorySegment.ofArray(answers), 1);
        return CouaException.areNew(answers);
    }

    /** Keys that one call takes. */
    private static final int CHUNK = 1 << 16;

    /** Makes a call for many keys, with an answer of {@code width} bytes each. */
    private void each(Verb verb, Keys keys, MemorySegment answers, int width) {
        for (int from = 0; from < keys.length; from += CHUNK) {
            int count = Math.min(CHUNK, keys.length - from);
            long begin = (long) width * from;
            long bytes = (long) width * count;
            try (var arena = Arena.ofConfined()) {
                var packed = keys.pack.apply(arena, from, count);
                var found = arena.allocate(bytes, 8);
                int status = status(address -> (int) verb.batch.invokeExact(address, packed, found));
                answers.asSlice(begin, bytes).copyFrom(found);
                if (status == CouaException.Status.FULL.ordinal()) {
                    answers.asSlice(begin + bytes).fill(CouaException.REFUSED);
                    throw Library.failure(status, answers.toArray(JAVA_BYTE));
                }
                Library.check(status);
            }
        }
    }

    /** Removes all keys. */
    public void clear() {
        check(address -> (int) Library.CLEAR.invokeExact(address));
    }

    /** Adds every copy of every key of another filter. */
    public void merge(Filter other) {
        check(address -> other.status(from -> (int) Library.MERGE.invokeExact(address, from)));
    }

    /** Adds the keys of another filter that are absent here: the union of sets. */
    public void mergeUnique(Filter other) {
        check(address -> other.status(from -> (int) Library.MERGE_UNIQUE.invokeExact(address, from)));
    }

    /** Makes all changes to an open file durable. */
    public void commit() {
        check(address -> (int) Library.STORE_COMMIT.invokeExact(address));
    }

    /** Writes the filter to a file in one step. */
    public void save(Path path) {
        try (var arena = Arena.ofConfined()) {
            var text = Library.text(arena, path);
            check(address -> (int) Library.SAVE.invokeExact(address, text));
        }
    }

    /** The bytes that {@link #save} writes, which are the same on every machine. */
    public byte[] toBytes() {
        return written(Library.TO_BYTES);
    }

    /** A JSON object with the fields of {@code coua info --json}. */
    public String describe() {
        return new String(written(Library.DESCRIBE), StandardCharsets.UTF_8);
    }

    /** Gets the length and then the bytes, and repeats this if the filter has grown in between. */
    private byte[] written(MethodHandle call) {
        for (long capacity = 0;;) {
            try (var arena = Arena.ofConfined()) {
                var length = arena.allocate(JAVA_LONG);
                var bytes = arena.allocate(Math.max(capacity, 1));
                long size = capacity;
                int status = status(address -> (int) call.invokeExact(address, bytes, size, length));
                if (status != CouaException.Status.TOO_SMALL.ordinal()) {
                    Library.check(status);
                    return bytes.asSlice(0, length.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
                }
                capacity = length.get(JAVA_LONG, 0) + 1;
            }
        }
    }

    private MemorySegment measured(MethodHandle call) {
        var answer = SPACES.get().answer;
        check(address -> (int) call.invokeExact(address, answer));
        return answer;
    }

    /** Keys in the filter, counting every copy. */
    public long size() {
        return measured(Library.LEN).get(JAVA_LONG, 0);
    }

    /** Bytes of its memory. */
    public long memory() {
        return measured(Library.MEMORY).get(JAVA_LONG, 0);
    }

    /** Its rate of wrong answers now. */
    public double rate() {
        return measured(Library.RATE).get(JAVA_DOUBLE, 0);
    }
}
