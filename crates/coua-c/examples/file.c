// A filter in a file: it remembers its arguments from run to run.
//
//     ./file seen.coua kestrel osprey
#include <stdio.h>
#include <string.h>

#include <coua.h>

static int fail(void) {
    fprintf(stderr, "file: %s\n", coua_last_error());
    return 1;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: file FILTER KEY...\n");
        return 2;
    }
    // Opens the filter, or makes it. 1: another process that writes it is waited for; this one is never.
    coua_filter *seen;
    if (coua_store_open(arguments[1], NULL, 1, &seen) != COUA_OK) return fail();
    for (int i = 2; i < count; i++) {
        bool is_new;
        if (coua_insert_unique(seen, arguments[i], strlen(arguments[i]), &is_new) != COUA_OK) return fail();
        printf("%s: %s\n", arguments[i], is_new ? "new" : "seen before");
    }
    // All of it is on the disk when this returns; without it, nothing.
    if (coua_store_close(seen) != COUA_OK) return fail();
    coua_free(seen);
    return 0;
}
