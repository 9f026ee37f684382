// The header in C++17.
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "coua.h"

namespace {

struct Free {
    void operator()(coua_filter *filter) const { coua_free(filter); }
};
using Filter = std::unique_ptr<coua_filter, Free>;

Filter make() {
    coua_filter *filter = nullptr;
    return coua_create(nullptr, &filter) == COUA_OK ? Filter(filter) : nullptr;
}

} // namespace

int main() {
    const Filter seen = make();
    std::vector<uint8_t> is_new;
    for (const std::string_view key : {"a", "b", "a"}) {
        bool yes = false;
        if (coua_insert_unique(seen.get(), key.data(), key.size(), &yes) != COUA_OK) return 1;
        is_new.push_back(yes);
    }
    const std::vector<uint64_t> numbers = {1, 2, 3};
    const coua_keys keys = {COUA_KEYS_U64, numbers.size(), numbers.data(), nullptr};
    if (coua_insert_batch(seen.get(), &keys, nullptr) != COUA_OK) return 1;
    uint64_t items = 0;
    if (coua_len(seen.get(), &items) != COUA_OK) return 1;
    if (is_new != std::vector<uint8_t>{1, 1, 0} || items != 5) {
        std::fprintf(stderr, "%s\n", coua_last_error());
        return 1;
    }
    return 0;
}
