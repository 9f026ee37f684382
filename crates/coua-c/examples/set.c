// A set: each line of the input the first time it is seen. A line of any length is one key.
//
//     printf 'a\nb\na\n' | ./set
#define _POSIX_C_SOURCE 200809L // getline()
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <coua.h>

int main(void) {
    coua_filter *seen;
    if (coua_create(NULL, &seen) != COUA_OK) { // it grows; NULL: no options
        fprintf(stderr, "set: %s\n", coua_last_error());
        return 1;
    }
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) >= 0;) {
        const size_t key = length > 0 && line[length - 1] == '\n' ? (size_t)length - 1 : (size_t)length;
        bool is_new;
        if (coua_insert_unique(seen, line, key, &is_new) != COUA_OK) {
            fprintf(stderr, "set: %s\n", coua_last_error());
            return 1;
        }
        if (is_new) {
            fwrite(line, 1, (size_t)length, stdout);
        }
    }
    free(line);
    coua_free(seen);
    return 0;
}
