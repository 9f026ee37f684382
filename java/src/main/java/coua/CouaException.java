package coua;

/** Why a call failed: what was found, what was expected, what to do. The call has changed nothing. */
public class CouaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The kind of failure: the statuses of {@code coua.h}, in their order. */
    public enum Status {
        /** Never thrown. */
        OK,
        /** An argument is invalid. */
        INVALID,
        /** The filter has no room for a key. */
        FULL,
        /** There is not enough memory. */
        OUT_OF_MEMORY,
        /** The bytes or the file are not a complete filter, or its secret key is missing or wrong. */
        NOT_A_FILTER,
        /** Two filters differ, or the filter in a file differs from the options. */
        MISMATCH,
        /** An error of the operating system. */
        IO,
        /** Another process or filter is writing the file. */
        BUSY,
        /** Filters of this kind do not support the call. */
        UNSUPPORTED,
        /** Never thrown. */
        TOO_SMALL,
        /** An earlier call failed internally, so the filter is unusable. */
        POISONED,
        /** The call failed internally. */
        PANIC,
    }

    /** The kind of failure. */
    public final Status status;

    CouaException(int status, String message) {
        super(message);
        this.status = Status.values()[status];
    }
}
