package coua;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/** Keys of a batch. The array of the keys is not copied. */
public final class Keys {
    /** Numbers of {@code coua.h}. */
    private static final int OFFSETS_64 = 2;
    private static final int INTEGERS = 3;

    final int length;
    final Pack pack;

    /** Copies some keys to the struct coua_keys. */
    interface Pack {
        MemorySegment apply(Arena arena, int from, int count);
    }

    private Keys(int length, Pack pack) {
        this.length = length;
        this.pack = pack;
    }

    /** The keys of the eight bytes of each number, little endian. */
    public static Keys of(long... keys) {
        return new Keys(keys.length, (arena, from, count) -> {
            var data = arena.allocate(8L * count, 8);
            MemorySegment.copy(keys, from, data, JAVA_LONG, 0, count);
            return packed(arena, INTEGERS, count, data, MemorySegment.NULL);
        });
    }

    /** The keys of the UTF-8 of each string. */
    public static Keys of(String... keys) {
        return of(Arrays.stream(keys).map(key -> key == null ? null : utf8(key)).toArray(byte[][]::new));
    }

    /** Keys of any bytes. */
    public static Keys of(byte[]... keys) {
        for (int i = 0; i < keys.length; i++) {
            int place = i;
            Objects.requireNonNull(keys[i], () -> "key " + place + " of the batch is null; nothing was done");
        }
        return new Keys(keys.length, (arena, from, count) -> {
            long bytes = 0;
            for (int i = from; i < from + count; i++) {
                bytes += keys[i].length;
            }
            var data = arena.allocate(Math.max(bytes, 1));
            var offsets = arena.allocate(8L * (count + 1), 8);
            long end = 0;
            for (int i = 0; i < count; i++) {
                var key = keys[from + i];
                MemorySegment.copy(key, 0, data, JAVA_BYTE, end, key.length);
                end += key.length;
                offsets.setAtIndex(JAVA_LONG, i + 1, end);
            }
            return packed(arena, OFFSETS_64, count, data, offsets);
        });
    }

    private static MemorySegment packed(Arena arena, int kind, int count, MemorySegment data, MemorySegment sizes) {
        var keys = arena.allocate(32, 8);
        keys.asByteBuffer().order(ByteOrder.nativeOrder())
                .putInt(kind).putInt(0).putLong(count).putLong(data.address()).putLong(sizes.address());
        return keys;
    }

    /** The bytes of a string. {@code getBytes} would make "?" of half a surrogate pair, so such strings would be one key. */
    static byte[] utf8(String key) {
        int point;
        for (int i = 0; i < key.length(); i += Character.charCount(point)) {
            point = key.codePointAt(i);
            if (Character.isBmpCodePoint(point) && Character.isSurrogate((char) point)) {
                throw new IllegalArgumentException("a key has half a surrogate pair at character " + i
                        + ", which UTF-8 cannot encode; use its bytes in another encoding");
            }
        }
        return key.getBytes(StandardCharsets.UTF_8);
    }
}
