// Filters as files and as bytes. The argument is an empty folder.
#include "check.h"

static char path[4096];

static const char *in_folder(const char *folder, const char *name) {
    CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    return path;
}

static void saved(const char *name) {
    coua_options options = options_of();
    options.key = (const uint8_t *)"0123456789abcdef";
    const uint8_t *keys[] = {NULL, options.key};
    for (size_t i = 0; i < 2; i++) {
        coua_filter *filter = filter_of(i == 0 ? NULL : &options), *read, *shared;
        OK(coua_insert(filter, "kestrel", 7));
        OK(coua_save(filter, name));
        OK(coua_load(name, keys[i], &read));
        CHECK(has(read, "kestrel") && length_of(read) == 1);
        OK(coua_shared_from(read, &shared));
        CHECK(has(shared, "kestrel"));
        OK(coua_insert(shared, "osprey", 6));
        OK(coua_save(shared, name));
        coua_free(read);
        OK(coua_store_read(name, keys[i], &read));
        CHECK(has(read, "osprey") && has(read, "kestrel"));
        FAILS(COUA_UNSUPPORTED, coua_insert(read, "a", 1));
        SAYS("coua_store_open");
        OK(coua_store_close(read));
        coua_free(read);
        coua_free(shared);
        coua_free(filter);
    }
    coua_filter *filter = NULL;
    FAILS(COUA_NOT_A_FILTER, coua_load(name, NULL, &filter));
    SAYS("key");
    FAILS(COUA_NOT_A_FILTER, coua_load(name, (const uint8_t *)"another key 1234", &filter));
    CHECK(filter == NULL);
}

static void committed(const char *name) {
    coua_filter *filter, *other, *copy;
    coua_options options = options_of();
    options.capacity = 1000;
    OK(coua_store_open(name, &options, 0, &filter));
    OK(coua_insert(filter, "kept", 4));
    OK(coua_store_commit(filter));
    OK(coua_insert(filter, "lost", 4));
    FAILS(COUA_BUSY, coua_store_open(name, NULL, 0, &other));
    OK(coua_store_read(name, NULL, &other));
    CHECK(has(other, "kept") && !has(other, "lost"));
    OK(coua_clone(filter, &copy));
    CHECK(has(copy, "lost"));
    FAILS(COUA_BUSY, coua_save(copy, name));
    coua_free(copy);
    coua_free(other);
    coua_free(filter); // without a commit

    options = options_of();
    options.seed = 3;
    FAILS(COUA_MISMATCH, coua_store_open(name, &options, 1, &filter));
    SAYS("seed 0, not 3");
    OK(coua_store_open(name, NULL, 1, &filter));
    CHECK(has(filter, "kept") && !has(filter, "lost"));
    bool removed;
    OK(coua_remove(filter, "kept", 4, &removed));
    CHECK(removed);
    OK(coua_insert(filter, "new", 3));
    OK(coua_compact(filter));
    OK(coua_store_close(filter));
    FAILS(COUA_INVALID, coua_insert(filter, "a", 1));
    SAYS("closed");
    FAILS(COUA_INVALID, coua_store_commit(filter));
    OK(coua_store_close(filter));
    coua_free(filter);
    OK(coua_load(name, NULL, &filter));
    CHECK(has(filter, "new") && !has(filter, "kept") && length_of(filter) == 1);
    coua_free(filter);
}

static void window(const char *name) {
    coua_options options = options_of();
    options.window_clock = COUA_CLOCK_COUNT;
    options.window_length = 100;
    coua_filter *filter;
    OK(coua_store_open(name, &options, 0, &filter));
    for (uint64_t i = 0; i < 1000; i++) {
        OK(coua_insert_unique_u64(filter, i, NULL));
    }
    OK(coua_store_close(filter));
    coua_free(filter);
    options.window_length = 200;
    FAILS(COUA_MISMATCH, coua_store_open(name, &options, 0, &filter));
    SAYS("window");
    options.window_length = 100;
    options.window_by = COUA_BY_LAST_SEEN;
    FAILS(COUA_MISMATCH, coua_store_open(name, &options, 0, &filter));
    SAYS("window");
    OK(coua_store_open(name, NULL, 0, &filter));
    CHECK(length_of(filter) < 200);
    coua_free(filter);
}

// The bytes of a file whose last commits are in its log.
static void logged(const char *name) {
    coua_filter *filter, *read;
    OK(coua_store_open(name, NULL, 0, &filter));
    for (uint64_t i = 0; i < 10; i++) {
        OK(coua_insert_u64(filter, i));
        OK(coua_store_commit(filter));
    }
    static char bytes[4 << 20];
    FILE *file = fopen(name, "rb");
    CHECK(file);
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    OK(coua_from_bytes(bytes, length, NULL, &read));
    CHECK(length_of(read) == 10);
    coua_free(read);
    coua_free(filter);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    const char *folder = arguments[1];
    saved(in_folder(folder, "saved.coua"));
    committed(in_folder(folder, "committed.coua"));
    window(in_folder(folder, "window.coua"));
    logged(in_folder(folder, "logged.coua"));
    coua_filter *filter;
    FAILS(COUA_IO, coua_load(in_folder(folder, "missing.coua"), NULL, &filter));
    SAYS("missing.coua");
    FAILS(COUA_NOT_A_FILTER, coua_load(folder, NULL, &filter));
    FAILS(COUA_IO, coua_store_open(in_folder(folder, "no/folder.coua"), NULL, 0, &filter));
    return 0;
}
