// A set: each line of the input the first time it is seen.
//
//     printf 'a\nb\na\n' | ./set
#include <stdio.h>
#include <string.h>

#include <coua.h>

int main(void) {
    coua_filter *seen;
    if (coua_create(NULL, &seen) != COUA_OK) { // it grows; NULL: no options
        fprintf(stderr, "set: %s\n", coua_last_error());
        return 1;
    }
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        bool is_new;
        if (coua_insert_unique(seen, line, strcspn(line, "\n"), &is_new) != COUA_OK) {
            fprintf(stderr, "set: %s\n", coua_last_error());
            return 1;
        }
        if (is_new) {
            fputs(line, stdout);
        }
    }
    coua_free(seen);
    return 0;
}
