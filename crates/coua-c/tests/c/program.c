// The other side of the program coua: `keys FOLDER` writes all keys to FOLDER/all and every second one to FOLDER/some,
// `describe FILTER` prints what a filter says of itself, `read FILTER` finds just the second half of the keys in it, and
// `write FILTER` makes such a filter.
#include "check.h"

enum { COUNT = 100000, LONGEST = 200 };

// Between two records; no key has these bytes.
static const char END[] = "\xff\x00|end of key|\n";

static uint64_t mixed(uint64_t number) {
    number *= UINT64_C(0x9e3779b97f4a7c15);
    return number ^ (number >> 29);
}

// A key of every kind: the empty one, texts, integers, and any bytes.
static size_t key_of(uint64_t number, unsigned char *key) {
    size_t length = number % 5 == 4 ? LONGEST : number % 23;
    switch (number == 0 ? 9 : number % 5) {
    case 9: return 0;
    case 1: return (size_t)sprintf((char *)key, "key %" PRIu64, number);
    case 2: length = 8; break;
    default: length += 8; break;
    }
    for (size_t i = 0; i < length && i < LONGEST; i++) {
        key[i] = (unsigned char)(mixed(number + i / 8 * COUNT) >> (i % 8 * 8));
    }
    return length < LONGEST ? length : LONGEST;
}

static FILE *opened(const char *folder, const char *name) {
    char path[4096];
    CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    FILE *file = fopen(path, "wb");
    CHECK(file);
    return file;
}

static void write_keys(const char *folder) {
    FILE *all = opened(folder, "all"), *some = opened(folder, "some");
    unsigned char key[LONGEST];
    for (uint64_t i = 0; i < COUNT; i++) {
        const size_t length = key_of(i, key);
        for (int twice = 0; twice < (i % 2 == 0 ? 2 : 1); twice++) {
            FILE *file = twice ? some : all;
            CHECK(fwrite(key, 1, length, file) == length);
            CHECK(fwrite(END, 1, sizeof END - 1, file) == sizeof END - 1);
        }
    }
    CHECK(fclose(all) == 0 && fclose(some) == 0);
}

static void check(const coua_filter *filter) {
    unsigned char key[LONGEST];
    for (uint64_t i = 0; i < COUNT; i++) {
        bool found, as_integer;
        const size_t length = key_of(i, key);
        OK(coua_contains(filter, key, length, &found));
        CHECK(found == (i % 2 == 0));
        if (length == 8 && i % 5 == 2) {
            OK(coua_contains_u64(filter, mixed(i), &as_integer));
            CHECK(as_integer == found);
        }
    }
    CHECK(length_of(filter) == COUNT / 2);
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    const char *path = arguments[2];
    unsigned char key[LONGEST];
    coua_filter *filter;
    if (strcmp(arguments[1], "keys") == 0) {
        write_keys(path);
        return 0;
    }
    if (strcmp(arguments[1], "describe") == 0) {
        char text[2000];
        size_t length;
        for (int i = 0; i < 2; i++) {
            OK(i == 0 ? coua_load(path, NULL, &filter) : coua_store_open(path, NULL, 0, &filter));
            OK(coua_describe(filter, text, sizeof text, &length));
            puts(text);
            coua_free(filter);
        }
        return 0;
    }
    if (strcmp(arguments[1], "read") == 0) {
        OK(coua_load(path, NULL, &filter));
        check(filter);
        coua_free(filter);
        OK(coua_store_read(path, NULL, &filter));
    } else {
        OK(coua_store_open(path, NULL, 0, &filter));
        for (uint64_t i = 0; i < COUNT; i += 2) {
            if (i % 5 == 2) {
                OK(coua_insert_u64(filter, mixed(i)));
            } else {
                OK(coua_insert(filter, key, key_of(i, key)));
            }
        }
    }
    check(filter);
    OK(coua_store_close(filter));
    coua_free(filter);
    return 0;
}
