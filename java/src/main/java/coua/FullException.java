package coua;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;

/** Keys were refused, because the filter has no room for them. All other keys of a batch were inserted. */
public final class FullException extends CouaException {
    private static final long serialVersionUID = 1L;

    /** The answer for a key that was refused. */
    private static final int REFUSED = 2;

    private final boolean[] isNew;
    private final int[] refused;

    /** The exception for a call that is no batch. */
    FullException(String message) {
        this(message, new boolean[0], new int[0]);
    }

    private FullException(String message, boolean[] isNew, int[] refused) {
        super(Status.FULL.ordinal(), message);
        this.isNew = isNew;
        this.refused = refused;
    }

    /** The exception for a part of a batch, whose answers are in found; later keys are refused too. */
    static FullException of(CouaException full, MemorySegment found, boolean[] isNew, int from, int count) {
        var here = IntStream.range(0, count).filter(i -> found.get(ValueLayout.JAVA_BYTE, i) == REFUSED);
        var later = IntStream.range(from + count, isNew.length);
        var refused = IntStream.concat(here.map(i -> from + i), later).toArray();
        var message = full.getMessage() + " (" + refused.length + " keys of the batch were refused)";
        return new FullException(message, isNew, refused);
    }

    /** The answers of a batch: true for a new key, false for one that was present or refused. */
    public boolean[] isNew() {
        return isNew.clone();
    }

    /** The places of the keys of a batch that were not inserted. */
    public int[] refused() {
        return refused.clone();
    }
}
