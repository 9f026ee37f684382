package coua;

import com.github.mgunlogson.cuckoofilter4j.CuckooFilter;
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;

/** Coua beside Guava's BloomFilter and CuckooFilter4j, in one run: {@code scripts/test-java --compare}. */
final class Compare {
    private static final int KEYS = 1_000_000;
    private static final int BLOCK = 1 << 14;
    private static final double RATE = 0.001;

    private Compare() {}

    private static double nanoseconds(Runnable work) {
        long begin = System.nanoTime();
        work.run();
        return (double) (System.nanoTime() - begin) / KEYS;
    }

    /** Bytes in use. */
    private static double heap() {
        var runtime = Runtime.getRuntime();
        for (int i = 0; i < 5; i++) {
            runtime.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void row(String name, double insert, double lookup, double absent, double bits, int wrong, int lost) {
        System.out.printf("| %s | %.0f | %.0f | %.0f | %.1f | %.3f %% | %d |%n",
                name, insert, lookup, absent, bits, 100.0 * wrong / KEYS, lost);
    }

    private static void single(String name, double bits, LongConsumer insert, LongPredicate contains) {
        int[] found = new int[2];
        double inserted = nanoseconds(() -> {
            for (long key = 0; key < KEYS; key++) {
                insert.accept(key);
            }
        });
        double[] looked = new double[2];
        for (int part = 0; part < 2; part++) {
            long from = (long) part * KEYS;
            int number = part;
            looked[part] = nanoseconds(() -> {
                for (long key = from; key < from + KEYS; key++) {
                    found[number] += contains.test(key) ? 1 : 0;
                }
            });
        }
        row(name, inserted, looked[0], looked[1], bits, found[1], KEYS - found[0]);
    }

    private static void blocks(long from, Consumer<long[]> work) {
        for (long begin = from; begin < from + KEYS; begin += BLOCK) {
            var keys = new long[(int) Math.min(BLOCK, from + KEYS - begin)];
            for (int i = 0; i < keys.length; i++) {
                keys[i] = begin + i;
            }
            work.accept(keys);
        }
    }

    private static int count(boolean[] mask) {
        int sum = 0;
        for (boolean yes : mask) {
            sum += yes ? 1 : 0;
        }
        return sum;
    }

    private static void batches(Filter filter) {
        int[] found = new int[2];
        double inserted = nanoseconds(() -> blocks(0, keys -> filter.insertUniqueMany(Keys.of(keys))));
        double bits = 8.0 * filter.memory() / KEYS;
        double lookup = nanoseconds(() -> blocks(0, keys -> found[0] += count(filter.containsMany(Keys.of(keys)))));
        double absent = nanoseconds(() -> blocks(KEYS, keys -> found[1] += count(filter.containsMany(Keys.of(keys)))));
        // Insert-if-absent stores nothing for a key that is taken for another one, and finds it.
        row("coua, in batches", inserted, lookup, absent, bits, found[1], KEYS - found[0]);
    }

    private static Filter filter() {
        return new Filter(new Options().capacity(KEYS).rate(RATE));
    }

    public static void main(String[] arguments) {
        System.out.println("| " + KEYS + " keys, rate " + RATE + " | ns to insert | to look up | absent | bits a key | wrong | lost keys |");
        System.out.println("|---|---|---|---|---|---|---|");
        // The first round compiles.
        for (int round = 0; round < 3; round++) {
            try (var one = filter(); var many = filter()) {
                batches(many);
                single("coua, one by one", 8.0 * one.memory() / KEYS, one::insertUnique, one::contains);
            }
            double before = heap();
            var bloom = BloomFilter.create(Funnels.longFunnel(), KEYS, RATE);
            double bloomBits = 8 * (heap() - before) / KEYS;
            single("Guava BloomFilter", bloomBits, bloom::put, bloom::mightContain);
            before = heap();
            var cuckoo = new CuckooFilter.Builder<>(Funnels.longFunnel(), KEYS).withFalsePositiveRate(RATE).build();
            double cuckooBits = 8 * (heap() - before) / KEYS;
            single("CuckooFilter4j", cuckooBits, cuckoo::put, cuckoo::mightContain);
        }
    }
}
