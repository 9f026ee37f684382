// A close that fails can be tried again, and no call waits for this process itself. The argument is an empty folder.
#define _XOPEN_SOURCE 700
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static void limit(rlim_t bytes) {
    struct rlimit size;
    CHECK(getrlimit(RLIMIT_FSIZE, &size) == 0);
    size.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &size) == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    char path[4096];
    CHECK(snprintf(path, sizeof path, "%s/seen.coua", arguments[1]) < (int)sizeof path);
    coua_filter *filter, *other;

    OK(coua_store_open(path, NULL, 1, &filter));
    FAILS(COUA_BUSY, coua_store_open(path, NULL, 1, &other));
    SAYS("this process");
    OK(coua_store_commit(filter));

    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    limit(1000);
    for (uint64_t i = 0; i < 1000; i++) {
        OK(coua_insert_u64(filter, i));
    }
    FAILS(COUA_IO, coua_store_close(filter));
    CHECK(coua_last_os_error() == EFBIG);
    FAILS(COUA_IO, coua_store_close(filter));
    OK(coua_insert_u64(filter, 1000));
    limit(RLIM_INFINITY);
    OK(coua_store_close(filter));
    coua_free(filter);
    OK(coua_store_open(path, NULL, 1, &filter));
    CHECK(length_of(filter) == 1001);
    coua_free(filter);

    CHECK(snprintf(path, sizeof path, "%s/missing.coua", arguments[1]) < (int)sizeof path);
    FAILS(COUA_IO, coua_load(path, NULL, &filter));
    CHECK(coua_last_os_error() == ENOENT);
    FAILS(COUA_NOT_A_FILTER, coua_load(arguments[1], NULL, &filter));
    CHECK(coua_last_os_error() == 0);
    return 0;
}
