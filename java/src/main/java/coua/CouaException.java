package coua;

import java.util.stream.IntStream;

/**
 * Why a call failed: what was found, what was expected, what to do. The call has changed nothing, except that a full
 * filter refuses some keys of a batch: all others were inserted.
 */
public final class CouaException extends RuntimeException {
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

    /** The answer for a key that was refused. */
    static final byte REFUSED = 2;

    /** The kind of failure. */
    public final Status status;
    private final byte[] answers;

    /** The exception for a batch of a full filter with its answers, or for any other call without answers. */
    CouaException(int status, String message, byte... answers) {
        super(message);
        this.status = Status.values()[status];
        this.answers = answers;
    }

    @Override
    public String getMessage() {
        var many = " (" + refused().length + " keys of the batch were refused)";
        return answers.length == 0 ? super.getMessage() : super.getMessage() + many;
    }

    /** The answers of a batch: true for a new key, false for one that was present or refused. */
    public boolean[] isNew() {
        return areNew(answers);
    }

    /** The places of the keys of a batch that were not inserted. */
    public int[] refused() {
        return IntStream.range(0, answers.length).filter(i -> answers[i] == REFUSED).toArray();
    }

    /** Which answers are 1. */
    static boolean[] areNew(byte[] answers) {
        var areNew = new boolean[answers.length];
        for (int i = 0; i < answers.length; i++) {
            areNew[i] = answers[i] == 1;
        }
        return areNew;
    }
}
