// Without memory for a call there is an error, and the filter is as it was.
#include "check.h"

#include <errno.h>
#include <sys/resource.h>

// Bytes of memory that this process may have.
static void limit(rlim_t bytes) {
    struct rlimit memory;
    CHECK(getrlimit(RLIMIT_AS, &memory) == 0);
    memory.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_AS, &memory) == 0);
}

static void copies(void) {
    coua_options options = options_of();
    options.capacity = 300000000;
    options.rate = 0.01;
    coua_filter *filter = filter_of(&options), *copy;
    OK(coua_insert_unique(filter, "a", 1, NULL));
    size_t length;
    limit((rlim_t)600 << 20);
    FAILS(COUA_TOO_SMALL, coua_to_bytes(filter, NULL, 0, &length));
    CHECK(length > ((size_t)300 << 20));
    FAILS(COUA_OUT_OF_MEMORY, coua_clone(filter, &copy));
    CHECK(copy == NULL && has(filter, "a"));
    coua_free(filter);
}

enum { KEYS = 65000 };

static void batches(void) {
    coua_options options = options_of();
    options.capacity = KEYS;
    options.rate = 0.01;
    coua_filter *filter = filter_of(&options);
    static uint64_t numbers[KEYS];
    static uint8_t answers[KEYS];
    const coua_keys keys = {COUA_KEYS_U64, KEYS, numbers, NULL};
    limit((rlim_t)1 << 20); // less than there is already: no memory is left but what was freed
    void *taken[100];
    size_t count = 0;
    for (size_t size = (size_t)64 << 20; size > (size_t)64 << 10; size /= 2) {
        for (void *some; count < 100 && (some = malloc(size)) != NULL;) taken[count++] = some;
    }
    FAILS(COUA_OUT_OF_MEMORY, coua_insert_unique_batch(filter, &keys, answers));
    FAILS(COUA_OUT_OF_MEMORY, coua_insert_batch(filter, &keys, NULL));
    FAILS(COUA_OUT_OF_MEMORY, coua_contains_batch(filter, &keys, answers));
    CHECK(length_of(filter) == 0);
    limit(RLIM_INFINITY);
    while (count > 0) free(taken[--count]);
    OK(coua_insert_unique_batch(filter, &keys, answers));
    coua_free(filter);
}

int main(void) {
    copies();
    limit(RLIM_INFINITY);
    batches();
    return 0;
}
