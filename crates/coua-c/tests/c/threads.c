// Threads that use filters at the same time.
#include "check.h"

#include <pthread.h>

#ifndef MANY
#define MANY 20000
#endif
enum { THREADS = 4, KEYS = MANY };

typedef struct {
    coua_filter *filter, *other;
    size_t firsts;
} job;

// All threads insert the same keys, by single calls and by batches.
static void *insert(void *argument) {
    job *work = argument;
    static const size_t batch = 500;
    for (uint64_t i = 0; i < KEYS / 2; i++) {
        bool is_new;
        OK(coua_insert_unique_u64(work->filter, i, &is_new));
        work->firsts += is_new;
    }
    uint64_t keys[500];
    uint8_t is_new[500];
    for (uint64_t i = KEYS / 2; i < KEYS; i += batch) {
        for (size_t j = 0; j < batch; j++) {
            keys[j] = i + j;
        }
        const coua_keys all = {COUA_KEYS_U64, batch, keys, NULL};
        OK(coua_insert_unique_batch(work->filter, &all, is_new));
        for (size_t j = 0; j < batch; j++) {
            work->firsts += is_new[j];
        }
        bool found;
        OK(coua_contains_u64(work->filter, i, &found));
        CHECK(found);
    }
    return NULL;
}

// Two threads merge two filters with each other.
static void *merge(void *argument) {
    job *work = argument;
    for (int i = 0; i < 200; i++) {
        OK(coua_merge_unique(work->filter, work->other));
    }
    return NULL;
}

static void *fail(void *argument) {
    (void)argument;
    CHECK(coua_last_error()[0] == 0); // each thread has its own
    FAILS(COUA_INVALID, coua_create(NULL, NULL));
    return NULL;
}

static void together(void *(*work)(void *), job *jobs, size_t count) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

int main(void) {
    coua_filter *filters[2] = {filter_of(NULL)};
    OK(coua_shared_create(NULL, &filters[1]));
    for (size_t i = 0; i < 2; i++) {
        job jobs[THREADS] = {{0}};
        for (size_t j = 0; j < THREADS; j++) {
            jobs[j].filter = filters[i];
        }
        together(insert, jobs, THREADS);
        CHECK(jobs[0].firsts + jobs[1].firsts + jobs[2].firsts + jobs[3].firsts == KEYS);
        CHECK(length_of(filters[i]) == KEYS);
    }
    coua_filter *other = filter_of(NULL);
    OK(coua_insert(other, "other", 5));
    job jobs[2] = {{filters[0], other, 0}, {other, filters[0], 0}};
    together(merge, jobs, 2);
    CHECK(length_of(other) == KEYS + 1 && length_of(filters[0]) == KEYS + 1);
    together(fail, jobs, 2);
    coua_free(filters[0]);
    coua_free(filters[1]);
    coua_free(other);
    return 0;
}
