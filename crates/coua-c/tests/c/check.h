// What the tests in C share: a check that says where it failed.
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coua.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__,        \
                    #condition, coua_last_error());                                   \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define OK(call) CHECK((call) == COUA_OK)
#define FAILS(status, call) CHECK((call) == (status) && coua_last_error()[0] != 0)

// Whether the last error has these words.
#define SAYS(words) CHECK(strstr(coua_last_error(), words) != NULL)

static inline coua_options options_of(void) {
    coua_options options;
    OK(coua_options_init(&options, sizeof options));
    return options;
}

static inline coua_filter *filter_of(const coua_options *options) {
    coua_filter *filter;
    OK(coua_create(options, &filter));
    return filter;
}

static inline uint64_t length_of(const coua_filter *filter) {
    uint64_t items;
    OK(coua_len(filter, &items));
    return items;
}

static inline bool has(const coua_filter *filter, const char *key) {
    bool found;
    OK(coua_contains(filter, key, strlen(key), &found));
    return found;
}

#endif
