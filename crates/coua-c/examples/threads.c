// Threads: four of them insert the same keys into one filter. Each key is new for exactly one.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <coua.h>

enum { THREADS = 4, BATCHES = 100, KEYS = 10000 };

static coua_filter *seen;

static void *work(void *firsts) {
    uint64_t numbers[KEYS];
    uint8_t is_new[KEYS];
    const coua_keys keys = {COUA_KEYS_U64, KEYS, numbers, NULL};
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        for (uint64_t i = 0; i < KEYS; i++) numbers[i] = batch * KEYS + i;
        if (coua_insert_unique_batch(seen, &keys, is_new) != COUA_OK) {
            fprintf(stderr, "threads: %s\n", coua_last_error()); // each thread has its own last error
            exit(1);
        }
        for (size_t i = 0; i < KEYS; i++) *(unsigned long *)firsts += is_new[i];
    }
    return NULL;
}

int main(void) {
    if (coua_shared_create(NULL, &seen) != COUA_OK) return 1;
    pthread_t threads[THREADS];
    unsigned long firsts[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, &firsts[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += firsts[i];
    }
    printf("%lu keys were new\n", sum);
    coua_free(seen);
    return 0;
}
