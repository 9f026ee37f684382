// Every call on filters in memory, with keys of all kinds.
#include "check.h"

#ifndef MANY
enum { MANY = 100000 };
#endif

static void single_calls(coua_filter *filter) {
    bool yes;
    uint64_t number, hash;
    OK(coua_insert_unique(filter, "kestrel", 7, &yes));
    CHECK(yes);
    OK(coua_insert_unique(filter, "kestrel", 7, &yes));
    CHECK(!yes);
    OK(coua_insert_unique(filter, "", 0, NULL));
    OK(coua_insert_unique(filter, "a\0b", 3, &yes));
    CHECK(yes);
    OK(coua_contains(filter, NULL, 0, &yes)); // the empty key
    CHECK(yes && has(filter, "kestrel") && !has(filter, "osprey") && !has(filter, "a"));
    CHECK(length_of(filter) == 3);

    OK(coua_insert(filter, "kestrel", 7));
    OK(coua_count(filter, "kestrel", 7, &number));
    CHECK(number == 2);
    OK(coua_remove(filter, "kestrel", 7, &yes));
    CHECK(yes);
    OK(coua_remove(filter, "kestrel", 7, NULL));
    OK(coua_remove(filter, "kestrel", 7, &yes));
    CHECK(!yes);

    // An integer is its eight bytes, little endian, on every machine.
    const unsigned char seven[8] = {7};
    OK(coua_insert_unique_u64(filter, 7, &yes));
    CHECK(yes);
    OK(coua_contains(filter, seven, sizeof seven, &yes));
    CHECK(yes);
    OK(coua_hash(filter, seven, sizeof seven, &hash));
    CHECK(hash == UINT64_C(0x81671e58d6b596af));
    OK(coua_contains_hash(filter, hash, &yes));
    CHECK(yes);
    OK(coua_insert_u64(filter, 7));
    OK(coua_insert_hash(filter, hash));
    OK(coua_insert_unique_hash(filter, hash, &yes));
    CHECK(!yes);
    OK(coua_count_u64(filter, 7, &number));
    CHECK(number == 3);
    OK(coua_count_hash(filter, hash, &number));
    CHECK(number == 3);
    OK(coua_remove_u64(filter, 7, &yes));
    CHECK(yes);
    OK(coua_remove_hash(filter, hash, &yes));
    CHECK(yes);
    OK(coua_contains_u64(filter, 7, &yes));
    CHECK(yes);

    OK(coua_clear(filter));
    CHECK(length_of(filter) == 0);
}

// The same keys in every form: numbers as text, of which the first is empty.
typedef struct {
    char *text;
    const void **pointers;
    size_t *lengths;
    int32_t *narrow;
    int64_t *wide;
    uint64_t *hashes;
} forms;

static forms forms_of(const coua_filter *filter) {
    forms of = {malloc(8 * MANY),
                malloc(MANY * sizeof(void *)),
                malloc(MANY * sizeof(size_t)),
                malloc((MANY + 1) * sizeof(int32_t)),
                malloc((MANY + 1) * sizeof(int64_t)),
                malloc(MANY * sizeof(uint64_t))};
    CHECK(of.text && of.pointers && of.lengths && of.narrow && of.wide && of.hashes);
    size_t end = 0;
    for (size_t i = 0; i < MANY; i++) {
        const size_t length = i == 0 ? 0 : (size_t)sprintf(of.text + end, "%zu", i);
        of.pointers[i] = length ? of.text + end : NULL;
        of.lengths[i] = length;
        of.narrow[i] = (int32_t)end;
        of.wide[i] = (int64_t)end;
        OK(coua_hash(filter, of.text + end, length, &of.hashes[i]));
        end += length;
    }
    of.narrow[MANY] = (int32_t)end;
    of.wide[MANY] = (int64_t)end;
    return of;
}

static void free_forms(forms of) {
    free(of.text);
    free(of.pointers);
    free(of.lengths);
    free(of.narrow);
    free(of.wide);
    free(of.hashes);
}

static size_t ones(const uint8_t *answers, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(answers[i] <= 1);
        sum += answers[i];
    }
    return sum;
}

static void batches(coua_filter *filter) {
    const forms of = forms_of(filter);
    const coua_keys keys[] = {
        {COUA_KEYS_POINTERS, MANY, of.pointers, of.lengths},
        {COUA_KEYS_OFFSETS_32, MANY, of.text, of.narrow},
        {COUA_KEYS_OFFSETS_64, MANY, of.text, of.wide},
        {COUA_KEYS_HASHES, MANY, of.hashes, NULL},
    };
    uint8_t *answers = malloc(MANY);
    uint64_t *copies = malloc(MANY * sizeof *copies);
    CHECK(answers && copies);
    for (size_t form = 0; form < 4; form++) {
        OK(coua_clear(filter));
        OK(coua_insert_unique_batch(filter, &keys[form], answers));
        CHECK(ones(answers, MANY) == MANY);
        for (size_t other = 0; other < 4; other++) {
            OK(coua_contains_batch(filter, &keys[other], answers));
            CHECK(ones(answers, MANY) == MANY);
            OK(coua_insert_unique_batch(filter, &keys[other], answers));
            CHECK(ones(answers, MANY) == 0);
        }
        CHECK(has(filter, "") && has(filter, "1") && !has(filter, "kestrel"));
        OK(coua_insert_batch(filter, &keys[form], answers));
        CHECK(ones(answers, MANY) == MANY);
        OK(coua_count_batch(filter, &keys[form], copies));
        for (size_t i = 0; i < MANY; i++) {
            CHECK(copies[i] == 2);
        }
        OK(coua_remove_batch(filter, &keys[form], NULL));
        OK(coua_remove_batch(filter, &keys[form], answers));
        CHECK(ones(answers, MANY) == MANY && length_of(filter) == 0);
    }
    const coua_keys integers = {COUA_KEYS_U64, MANY, of.hashes, NULL};
    OK(coua_insert_batch(filter, &integers, NULL));
    bool found;
    OK(coua_contains_u64(filter, of.hashes[7], &found));
    CHECK(found && length_of(filter) == MANY);
    const coua_keys none = {COUA_KEYS_POINTERS, 0, NULL, NULL};
    OK(coua_contains_batch(filter, &none, NULL));
    free(answers);
    free(copies);
    free_forms(of);
}

static void fixed_size(coua_filter *(*make)(const coua_options *)) {
    coua_options options = options_of();
    options.capacity = 1000;
    options.rate = 0.001;
    coua_filter *filter = make(&options);
    uint64_t keys[2000], number;
    uint8_t answers[2000];
    for (size_t i = 0; i < 2000; i++) {
        keys[i] = i;
    }
    const coua_keys batch = {COUA_KEYS_U64, 2000, keys, NULL};
    FAILS(COUA_FULL, coua_insert_batch(filter, &batch, answers));
    SAYS("full");
    size_t inserted = 0;
    for (size_t i = 0; i < 2000; i++) {
        bool found;
        CHECK(answers[i] == 1 || answers[i] == COUA_REFUSED);
        OK(coua_contains_u64(filter, i, &found));
        CHECK(found || answers[i] == COUA_REFUSED); // no key is lost
        inserted += answers[i] == 1;
    }
    CHECK(inserted == 1000 && length_of(filter) == 1000);
    FAILS(COUA_FULL, coua_insert(filter, "one more", 8));
    CHECK(length_of(filter) == 1000);
    OK(coua_capacity(filter, &number));
    CHECK(number == 1000);
    OK(coua_memory(filter, &number));
    CHECK(number > 1000 && number < 100000);
    double rate;
    OK(coua_rate(filter, &rate));
    CHECK(rate > 0.0 && rate <= 0.001);
    coua_free(filter);
}

static coua_filter *shared_of(const coua_options *options) {
    coua_filter *filter;
    OK(coua_shared_create(options, &filter));
    return filter;
}

static void described(const coua_filter *filter, const char *kind) {
    size_t length;
    char text[2000];
    FAILS(COUA_TOO_SMALL, coua_describe(filter, NULL, 0, &length));
    CHECK(length > 50 && length < sizeof text);
    FAILS(COUA_TOO_SMALL, coua_describe(filter, text, length, &length));
    OK(coua_describe(filter, text, length + 1, &length));
    CHECK(strlen(text) == length && text[0] == '{' && strstr(text, kind));
}

static void unions(void) {
    coua_filter *one = filter_of(NULL), *two = filter_of(NULL), *copy;
    uint64_t number;
    OK(coua_insert(one, "a", 1));
    OK(coua_insert(two, "a", 1));
    OK(coua_insert(two, "b", 1));
    OK(coua_clone(one, &copy));
    OK(coua_merge(one, two));
    OK(coua_count(one, "a", 1, &number));
    CHECK(number == 2 && length_of(one) == 3 && length_of(copy) == 1);
    OK(coua_merge_unique(copy, two));
    CHECK(length_of(copy) == 2 && has(copy, "b"));
    OK(coua_compact(copy));
    coua_options options = options_of();
    options.seed = 1;
    coua_filter *other = filter_of(&options);
    FAILS(COUA_MISMATCH, coua_merge(one, other));
    CHECK(length_of(one) == 3);
    FAILS(COUA_INVALID, coua_merge(one, one));
    coua_free(one);
    coua_free(two);
    coua_free(copy);
    coua_free(other);
}

static void windows(void) {
    coua_options options = options_of();
    options.window_clock = COUA_CLOCK_GIVEN;
    options.window_length = 60000;
    options.window_generations = 6;
    coua_filter *filter = filter_of(&options);
    OK(coua_window_advance(filter, 100000));
    OK(coua_insert(filter, "old", 3));
    OK(coua_window_advance(filter, 130000));
    CHECK(has(filter, "old"));
    OK(coua_window_advance(filter, 180001));
    CHECK(!has(filter, "old"));
    const uint64_t keys[3] = {1, 1, 1}, times[3] = {200000, 230000, 290000};
    uint8_t is_new[3];
    const coua_keys batch = {COUA_KEYS_U64, 3, keys, NULL};
    OK(coua_window_insert_unique_batch(filter, &batch, times, is_new));
    CHECK(is_new[0] == 1 && is_new[1] == 0 && is_new[2] == 1);
    FAILS(COUA_INVALID, coua_window_insert_unique_batch(filter, &batch, NULL, is_new));
    described(filter, "\"kind\":\"window\"");
    described(filter, "\"window_by\":\"first\"");
    bool found = true;
    OK(coua_clear(filter));
    OK(coua_contains_u64(filter, 1, &found));
    CHECK(!found);
    described(filter, "\"present\":290000");
    coua_free(filter);

    // A repeat prolongs the life of its key: the third comes 90 seconds after the first, and 60 after the second.
    options.window_by = COUA_BY_LAST_SEEN;
    filter = filter_of(&options);
    OK(coua_window_insert_unique_batch(filter, &batch, times, is_new));
    CHECK(is_new[0] == 1 && is_new[1] == 0 && is_new[2] == 0);
    described(filter, "\"window_by\":\"last\"");
    coua_free(filter);

    options.window_by = COUA_BY_FIRST_SEEN;
    options.window_clock = COUA_CLOCK_COUNT;
    options.window_length = 1000;
    filter = filter_of(&options);
    FAILS(COUA_UNSUPPORTED, coua_window_advance(filter, 1));
    for (uint64_t i = 0; i < 5000; i++) {
        bool is_absent;
        OK(coua_insert_unique_u64(filter, i, &is_absent));
        CHECK(is_absent);
    }
    CHECK(length_of(filter) >= 1000 && length_of(filter) < 1300);
    coua_free(filter);

    options.window_clock = COUA_CLOCK_ARRIVAL;
    options.window_length = 3600000;
    filter = filter_of(&options);
    OK(coua_insert(filter, "now", 3));
    CHECK(has(filter, "now"));
    coua_free(filter);
    FAILS(COUA_UNSUPPORTED, coua_shared_create(&options, &filter));
    CHECK(filter == NULL);
}

int main(void) {
    CHECK(strcmp(coua_version(), COUA_VERSION) == 0);
    CHECK(strcmp(coua_status_name(COUA_FULL), "COUA_FULL") == 0);
    CHECK(strcmp(coua_status_name(COUA_PANIC), "COUA_PANIC") == 0);
    CHECK(strcmp(coua_status_name(-3), "unknown status") == 0);
    coua_options secret = options_of();
    secret.key = (const uint8_t *)"0123456789abcdef";
    coua_filter *filters[] = {filter_of(NULL), shared_of(NULL)};
    for (size_t i = 0; i < 2; i++) {
        single_calls(filters[i]);
        batches(filters[i]);
        described(filters[i], i == 0 ? "\"kind\":\"cuckoo\"" : "\"kind\":\"shared\"");
        coua_free(filters[i]);
    }
    coua_filter *keyed = filter_of(&secret);
    batches(keyed);
    described(keyed, "siphash13");
    coua_free(keyed);
    fixed_size(filter_of);
    fixed_size(shared_of);
    unions();
    windows();
    return 0;
}
