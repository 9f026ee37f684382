package coua;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/** Where the library has a filter, which is freed when it is closed and no call uses it. */
final class Handle {
    /** Added to the calls at work when it is closed. */
    private static final long CLOSED = Long.MIN_VALUE;

    private final MemorySegment address;
    private final AtomicLong calls = new AtomicLong();

    Handle(MemorySegment address) {
        this.address = address;
    }

    boolean isClosed() {
        return calls.get() < 0;
    }

    /** Begins a call. {@link #leave} ends it. */
    MemorySegment enter() {
        for (long now = calls.get(); now >= 0; now = calls.get()) {
            if (calls.compareAndSet(now, now + 1)) {
                return address;
            }
        }
        throw new IllegalStateException("the filter is closed");
    }

    void leave() {
        if (calls.decrementAndGet() == CLOSED) {
            release();
        }
    }

    /** Closes it. The last call that is at work frees it. */
    void free() {
        for (long now = calls.get(); now >= 0; now = calls.get()) {
            if (calls.compareAndSet(now, now + CLOSED)) {
                if (now == 0) {
                    release();
                }
                return;
            }
        }
    }

    private void release() {
        Library.statusOf(() -> {
            Library.FREE.invokeExact(address);
            return 0;
        });
    }
}
