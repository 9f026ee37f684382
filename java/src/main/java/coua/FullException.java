package coua;

import java.util.stream.IntStream;

/** Keys were refused, because the filter has no room for them. All other keys of a batch were inserted. */
public final class FullException extends CouaException {
    private static final long serialVersionUID = 1L;

    /** The answer for a key that was refused. */
    static final byte REFUSED = 2;

    private final byte[] answers;

    /** The exception for a batch, or for one key without an answer. */
    FullException(String message, byte... answers) {
        super(Status.FULL.ordinal(), message);
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
