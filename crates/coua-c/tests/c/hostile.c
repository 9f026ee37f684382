// Arguments that make no sense are errors, and change nothing.
#include "check.h"

#include <stddef.h>

// Programs that are compiled already know these numbers.
_Static_assert(sizeof(void *) != 8 || sizeof(coua_options) == 80, "coua_options has grown");
_Static_assert(sizeof(void *) != 8 || offsetof(coua_options, window_clock) == 56, "a field moved");
_Static_assert(sizeof(void *) != 8 || offsetof(coua_options, when_full) == 72, "a field moved");
_Static_assert(sizeof(void *) != 8 || sizeof(coua_keys) == 32, "coua_keys has changed");

static void *odd(void *pointer) { return (char *)pointer + 1; }

static void options(void) {
    coua_filter *filter;
    coua_options options = options_of();
    FAILS(COUA_INVALID, coua_options_init(NULL, sizeof options));
    FAILS(COUA_INVALID, coua_options_init(&options, 3));
    FAILS(COUA_INVALID, coua_options_init(&options, SIZE_MAX));
    FAILS(COUA_INVALID, coua_create(NULL, NULL));
    SAYS("created is null");
    options.size = 0;
    FAILS(COUA_INVALID, coua_create(&options, &filter));
    SAYS("coua_options_init");
    CHECK(filter == NULL);
    const struct {
        double rate;
        uint64_t capacity, max_items;
        uint32_t hash_bits, when_full, clock;
    } bad[] = {
        {2.0, 10, 0, 0, 0, 0},   {-1.0, 10, 0, 0, 0, 0}, {0.5, 0, 0, 0, 0, 0},
        {0.001, 10, 0, 9, 0, 0}, {0, 10, 5, 0, 0, 0},    {0, 0, 0, 65, 0, 0},
        {0, 0, 0, 0, 3, 0},      {0, 0, 0, 0, 0, 4},     {0, 0, 0, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options = options_of();
        options.rate = bad[i].rate;
        options.capacity = bad[i].capacity;
        options.max_items = bad[i].max_items;
        options.hash_bits = bad[i].hash_bits;
        options.when_full = bad[i].when_full;
        options.window_clock = bad[i].clock;
        FAILS(COUA_INVALID, coua_create(&options, &filter));
    }
    options = options_of();
    options.window_length = 5;
    FAILS(COUA_INVALID, coua_create(&options, &filter));
    options.window_length = 0;
    options.window_by = COUA_BY_LAST_SEEN;
    FAILS(COUA_INVALID, coua_create(&options, &filter));
    options.window_clock = COUA_CLOCK_ARRIVAL;
    options.window_length = 1000;
    options.window_by = 2;
    FAILS(COUA_INVALID, coua_create(&options, &filter));
    options = options_of();
    options.seed = 1;
    options.key = (const uint8_t *)"0123456789abcdef";
    FAILS(COUA_INVALID, coua_create(&options, &filter));
    options = options_of();
    options.capacity = UINT64_MAX / 2;
    CHECK(coua_create(&options, &filter) != COUA_OK && filter == NULL);

    // A caller of a later version, which knows one field more.
    struct {
        coua_options known;
        uint64_t later;
    } longer;
    OK(coua_options_init(&longer.known, sizeof longer));
    OK(coua_create(&longer.known, &filter));
    coua_free(filter);
    longer.later = 1;
    FAILS(COUA_INVALID, coua_create(&longer.known, &filter));
    SAYS("does not know");
}

// All times are checked before any key is inserted.
static void times(void) {
    enum { KEYS = 70000 };
    coua_options options = options_of();
    options.window_clock = COUA_CLOCK_GIVEN;
    options.window_length = 1000;
    coua_filter *filter = filter_of(&options);
    static uint64_t keys_and_times[2 * KEYS];
    for (uint64_t i = 0; i < KEYS; i++) keys_and_times[i] = i;
    const coua_keys keys = {COUA_KEYS_U64, KEYS, keys_and_times, NULL};
    const uint64_t *given = keys_and_times + KEYS;
    // Only the times of the last keys lie in what the answers are written to.
    uint8_t *answers = (uint8_t *)(keys_and_times + 2 * KEYS) - KEYS;
    FAILS(COUA_INVALID, coua_window_insert_unique_batch(filter, &keys, given, answers));
    SAYS("overlap");
    CHECK(length_of(filter) == 0);
    FAILS(COUA_INVALID, coua_window_insert_unique_batch(filter, &keys, NULL, NULL));
    OK(coua_window_insert_unique_batch(filter, &keys, given, NULL));
    coua_free(filter);
}

int main(void) {
    options();
    times();
    coua_filter *filter = filter_of(NULL);
    OK(coua_insert(filter, "here", 4));
    bool yes;
    uint64_t number, space[4] = {1, 2, 3, 4};
    size_t length;

    FAILS(COUA_INVALID, coua_insert(NULL, "a", 1));
    SAYS("filter is null");
    FAILS(COUA_INVALID, coua_insert((coua_filter *)odd(space), "a", 1));
    SAYS("misaligned");
    FAILS(COUA_INVALID, coua_contains(filter, NULL, 1, &yes));
    SAYS("key is null");
    FAILS(COUA_INVALID, coua_contains(filter, "a", SIZE_MAX, &yes));
    SAYS("too large");
    FAILS(COUA_INVALID, coua_contains(filter, "a", 1, NULL));
    SAYS("found is null");
    FAILS(COUA_INVALID, coua_count(filter, "a", 1, odd(space)));
    SAYS("copies is misaligned");
    FAILS(COUA_INVALID, coua_len(filter, NULL));
    FAILS(COUA_INVALID, coua_describe(filter, NULL, 10, &length));
    FAILS(COUA_INVALID, coua_to_bytes(filter, NULL, 10, &length));
    size_t both[100];
    FAILS(COUA_INVALID, coua_to_bytes(filter, both, sizeof both, &both[3]));
    SAYS("bytes and length overlap");
    FAILS(COUA_INVALID, coua_describe(filter, (char *)both, sizeof both, &both[99]));
    SAYS("overlap");
    FAILS(COUA_INVALID, coua_merge(filter, NULL));
    FAILS(COUA_INVALID, coua_save(filter, NULL));
    FAILS(COUA_INVALID, coua_clone(filter, NULL));
    coua_filter *none = filter;
    FAILS(COUA_INVALID, coua_from_bytes(NULL, 10, NULL, &none));
    CHECK(none == NULL); // a call that fails makes no handle

    uint8_t answers[4];
    const struct {
        coua_keys keys;
        const char *says;
    } bad[] = {
        {{9, 4, space, NULL}, "keys.kind is 9"},
        {{COUA_KEYS_U64, 4, NULL, NULL}, "keys.data is null"},
        {{COUA_KEYS_U64, 4, odd(space), NULL}, "misaligned"},
        {{COUA_KEYS_U64, SIZE_MAX / 4, space, NULL}, "too large"},
        {{COUA_KEYS_OFFSETS_32, SIZE_MAX, space, space}, "keys.count"},
        {{COUA_KEYS_POINTERS, 4, space, NULL}, "keys.sizes is null"},
        {{COUA_KEYS_POINTERS, 1, &(const void *){NULL}, &(size_t){3}}, "(key 0 of the batch)"},
        {{COUA_KEYS_POINTERS, 1, &(const void *){space}, &(size_t){SIZE_MAX}}, "too large"},
        {{COUA_KEYS_OFFSETS_32, 2, space, (int32_t[]){0, 5, 4}}, "keys.sizes[2] is 4"},
        {{COUA_KEYS_OFFSETS_64, 1, space, (int64_t[]){-1, 4}}, "keys.sizes[0] is -1"},
        {{COUA_KEYS_OFFSETS_64, 1, NULL, (int64_t[]){0, 4}}, "keys.data is null"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FAILS(COUA_INVALID, coua_insert_unique_batch(filter, &bad[i].keys, answers));
        SAYS(bad[i].says);
    }
    FAILS(COUA_INVALID, coua_contains_batch(filter, NULL, answers));
    const coua_keys good = {COUA_KEYS_U64, 4, space, NULL};
    FAILS(COUA_INVALID, coua_contains_batch(filter, &good, NULL));
    FAILS(COUA_INVALID, coua_contains_batch(filter, &good, (uint8_t *)space + 31));
    SAYS("overlap");
    FAILS(COUA_INVALID, coua_count_batch(filter, &good, space));
    SAYS("overlap");
    FAILS(COUA_INVALID, coua_contains_batch(filter, &good, (uint8_t *)&good));
    SAYS("overlap");
    const void *pointer = space;
    const coua_keys one = {COUA_KEYS_POINTERS, 1, &pointer, &(size_t){8}};
    FAILS(COUA_INVALID, coua_contains_batch(filter, &one, (uint8_t *)space));
    SAYS("overlap");

    // No keys need no memory.
    for (uint32_t kind = COUA_KEYS_POINTERS; kind <= COUA_KEYS_HASHES; kind++) {
        OK(coua_insert_unique_batch(filter, &(coua_keys){kind, 0, NULL, NULL}, NULL));
        OK(coua_contains_batch(filter, &(coua_keys){kind, 0, NULL, NULL}, NULL));
    }
    FAILS(COUA_INVALID, coua_contains_batch(filter, &(coua_keys){9, 0, NULL, NULL}, NULL));

    CHECK(length_of(filter) == 1 && has(filter, "here"));
    FAILS(COUA_UNSUPPORTED, coua_store_close(filter));
    FAILS(COUA_UNSUPPORTED, coua_store_commit(filter));
    coua_free(filter);
    coua_free(NULL);

    // Bytes that are no filter, and every damaged byte of one that is.
    filter = filter_of(NULL);
    OK(coua_insert(filter, "here", 4));
    FAILS(COUA_TOO_SMALL, coua_to_bytes(filter, NULL, 0, &length));
    unsigned char *bytes = malloc(length);
    CHECK(bytes);
    OK(coua_to_bytes(filter, bytes, length, &length));
    coua_filter *copy;
    for (size_t i = 0; i < length; i += 1 + length / 300) {
        bytes[i] ^= 0x10;
        CHECK(coua_from_bytes(bytes, length, NULL, &copy) == COUA_NOT_A_FILTER && copy == NULL);
        bytes[i] ^= 0x10;
        CHECK(coua_from_bytes(bytes, i, NULL, &copy) == COUA_NOT_A_FILTER);
    }
    OK(coua_from_bytes(bytes, length, NULL, &copy));
    CHECK(has(copy, "here"));
    OK(coua_len(copy, &number));
    free(bytes);
    coua_free(copy);
    coua_free(filter);
    return 0;
}
