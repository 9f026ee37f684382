package coua;

/** Why a call failed: what was found, what was expected, what to do. The call has changed nothing. */
public class CouaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What kind of failure it is: the statuses of {@code coua.h}, in their order. */
    public enum Status {
        /** Never thrown. */
        OK,
        /** An argument has no meaning. */
        INVALID,
        /** The filter has no room for a key. */
        FULL,
        /** There is not enough memory. */
        OUT_OF_MEMORY,
        /** The bytes or the file are no whole filter, or its secret key is missing or wrong. */
        NOT_A_FILTER,
        /** Two filters differ, or a file has not the filter that the options describe. */
        MISMATCH,
        /** The operating system refused something. */
        IO,
        /** The file is being written. */
        BUSY,
        /** Filters of this kind cannot do that. */
        UNSUPPORTED,
        /** Never thrown. */
        TOO_SMALL,
        /** An earlier call failed inside. */
        POISONED,
        /** The call failed inside. */
        PANIC,
    }

    /** What kind of failure it is. */
    public final Status status;

    CouaException(int status, String message) {
        super(message);
        this.status = Status.values()[status];
    }
}
