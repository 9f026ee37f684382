// Filters that are not freed: a sanitizer must say so.
#include "check.h"

int main(void) {
    for (int i = 0; i < 10; i++) {
        CHECK(!has(filter_of(NULL), "kestrel"));
    }
    return 0;
}
