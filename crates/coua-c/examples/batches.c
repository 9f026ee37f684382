// Batches: a million integers, several times faster than one by one.
#include <stdio.h>
#include <stdlib.h>

#include <coua.h>

enum { COUNT = 1000000 };

static void check(coua_status status) {
    if (status != COUA_OK) {
        fprintf(stderr, "batches: %s: %s\n", coua_status_name(status), coua_last_error());
        exit(1);
    }
}

int main(void) {
    coua_options options;
    check(coua_options_init(&options, sizeof options));
    options.capacity = COUNT; // a fixed size
    options.rate = 0.001;     // one wrong answer in 1000
    coua_filter *filter;
    check(coua_create(&options, &filter));

    uint64_t *numbers = malloc(COUNT * sizeof *numbers);
    uint8_t *answers = malloc(COUNT);
    if (numbers == NULL || answers == NULL) return 1;
    for (uint64_t i = 0; i < COUNT; i++) numbers[i] = i * i;
    const coua_keys keys = {COUA_KEYS_U64, COUNT, numbers, NULL};
    check(coua_insert_batch(filter, &keys, NULL));

    for (uint64_t i = 0; i < COUNT; i++) numbers[i] += 1; // hardly any of these is a square
    check(coua_contains_batch(filter, &keys, answers));
    unsigned wrong = 0;
    for (size_t i = 1; i < COUNT; i++) wrong += answers[i];

    uint64_t bytes;
    check(coua_memory(filter, &bytes));
    printf("%d keys, %.1f bits each, %u wrong answers\n", COUNT, 8.0 * (double)bytes / COUNT, wrong);
    coua_free(filter);
    free(numbers);
    free(answers);
    return 0;
}
