package coua;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.time.Duration;

/** The options of a filter. Options that are not set have the library's defaults. */
public final class Options {
    private long capacity;
    private double rate;
    private long maxItems;
    private long seed;
    private long windowLength;
    private int windowClock;
    private int windowBy;
    private int hashBits;
    private int whenFull;
    byte[] key;

    /** Keys to make room for at once. */
    public Options capacity(long keys) {
        capacity = natural("capacity", keys);
        return this;
    }

    /** The highest rate of wrong answers with maxItems keys, or capacity keys if maxItems is not set. */
    public Options rate(double rate) {
        this.rate = rate;
        return this;
    }

    /** Keys up to which the rate holds and the filter grows. */
    public Options maxItems(long keys) {
        maxItems = natural("maxItems", keys);
        return this;
    }

    /** The seed of the hash. */
    public Options seed(long seed) {
        this.seed = seed;
        return this;
    }

    /** A secret key of 16 bytes instead of a seed. */
    public Options key(byte[] key) {
        if (key.length != 16) {
            throw new IllegalArgumentException("a secret key has " + key.length + " bytes, expected 16");
        }
        this.key = key.clone();
        return this;
    }

    /** Forgets older keys, by the system's clock. */
    public Options window(Duration length) {
        windowLength = natural("window", length.toMillis());
        windowClock = 1;
        return this;
    }

    /** Forgets all but about the last keys. */
    public Options windowItems(long keys) {
        windowLength = natural("windowItems", keys);
        windowClock = 3;
        return this;
    }

    /** Counts the age of a key from when it was last seen: a repeat extends its time. */
    public Options lastSeen() {
        windowBy = 1;
        return this;
    }

    /** Bits of every key's hash to store, instead of a rate. */
    public Options hashBits(int bits) {
        hashBits = (int) natural("hashBits", bits);
        return this;
    }

    /** Never grows: a key without room is refused. */
    public Options refuse() {
        whenFull = 1;
        return this;
    }

    /** Grows even beyond maxItems, where the rate rises. */
    public Options exceed() {
        whenFull = 2;
        return this;
    }

    /** C has unsigned numbers. */
    private static long natural(String option, long number) {
        if (number < 0) {
            throw new IllegalArgumentException(option + " is " + number + ", expected 0 or more");
        }
        return number;
    }

    /** The struct coua_options. */
    MemorySegment inMemory(Arena arena) {
        var options = arena.allocate(80, 8);
        options.asByteBuffer().order(ByteOrder.nativeOrder())
                .putLong(80).putLong(capacity).putDouble(rate).putLong(maxItems).putLong(seed)
                .putLong(Library.keyIn(arena, key).address()).putLong(windowLength)
                .putInt(windowClock).putInt(0).putInt(windowBy).putInt(hashBits).putInt(whenFull);
        return options;
    }
}
