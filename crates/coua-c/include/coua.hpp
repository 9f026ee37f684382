// coua.hpp: coua.h for C++20. Filters free themselves, batches are spans, and failures are exceptions.
#ifndef COUA_HPP
#define COUA_HPP

#include <coua.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace coua {

// Why a call failed: what() says what was found, what was expected, what to do.
struct error : std::runtime_error {
    explicit error(coua_status status) : std::runtime_error(coua_last_error()), status(status) {}
    coua_status status;
};

inline void check(coua_status status) {
    if (status != COUA_OK) throw error(status);
}

// Keys of a batch.
struct keys : coua_keys {
    keys(std::span<const uint64_t> keys) : coua_keys{COUA_KEYS_U64, keys.size(), keys.data(), nullptr} {}
    keys(std::span<const std::string_view> keys) : coua_keys{COUA_KEYS_POINTERS, keys.size(), nullptr, nullptr} {
        for (const auto key : keys) pointers.push_back(key.data()), lengths.push_back(key.size());
        data = pointers.data(), sizes = lengths.data();
    }
    keys(const keys &) = delete;

private:
    std::vector<const void *> pointers;
    std::vector<size_t> lengths;
};

// A filter of any kind. The verbs are those of coua.h, whose other calls take get(). Destroying a filter in a file gives
// up what was not committed.
class filter {
public:
    filter() : filter(made([](auto out) { return coua_create(nullptr, out); })) {}
    explicit filter(const coua_options &options) : filter(made([&](auto out) { return coua_create(&options, out); })) {}
    explicit filter(coua_filter *created) : handle(created) {}

    static filter load(const char *path) { return made([=](auto out) { return coua_load(path, nullptr, out); }); }
    static filter open(const char *path, const coua_options *options = nullptr) {
        return made([=](auto out) { return coua_store_open(path, options, 0, out); });
    }

    void insert(std::string_view key) { check(coua_insert(get(), key.data(), key.size())); }
    void insert(uint64_t key) { check(coua_insert_u64(get(), key)); }
    bool insert_unique(std::string_view key) { return answer<bool>(coua_insert_unique, key.data(), key.size()); }
    bool insert_unique(uint64_t key) { return answer<bool>(coua_insert_unique_u64, key); }
    bool contains(std::string_view key) const { return answer<bool>(coua_contains, key.data(), key.size()); }
    bool contains(uint64_t key) const { return answer<bool>(coua_contains_u64, key); }
    bool remove(std::string_view key) { return answer<bool>(coua_remove, key.data(), key.size()); }
    bool remove(uint64_t key) { return answer<bool>(coua_remove_u64, key); }
    uint64_t count(std::string_view key) const { return answer<uint64_t>(coua_count, key.data(), key.size()); }
    uint64_t count(uint64_t key) const { return answer<uint64_t>(coua_count_u64, key); }

    // If keys are refused, these two throw, and the other keys are inserted.
    void insert_batch(const keys &keys) { check(coua_insert_batch(get(), &keys, nullptr)); }
    std::vector<uint8_t> insert_unique_batch(const keys &keys) { return answers<uint8_t>(coua_insert_unique_batch, keys); }
    std::vector<uint8_t> contains_batch(const keys &keys) const { return answers<uint8_t>(coua_contains_batch, keys); }
    std::vector<uint8_t> remove_batch(const keys &keys) { return answers<uint8_t>(coua_remove_batch, keys); }
    std::vector<uint64_t> count_batch(const keys &keys) const { return answers<uint64_t>(coua_count_batch, keys); }

    uint64_t size() const { return answer<uint64_t>(coua_len); }
    void save(const char *path) const { check(coua_save(get(), path)); }
    void commit() { check(coua_store_commit(get())); }
    coua_filter *get() const { return handle.get(); }

private:
    struct freed {
        void operator()(coua_filter *filter) const { coua_free(filter); }
    };
    std::unique_ptr<coua_filter, freed> handle;

    template <class Make> static filter made(Make make) {
        coua_filter *created = nullptr;
        check(make(&created));
        return filter(created);
    }
    template <class T, class Call, class... Key> T answer(Call call, Key... key) const {
        T value{};
        check(call(get(), key..., &value));
        return value;
    }
    template <class T, class Call> std::vector<T> answers(Call call, const keys &keys) const {
        std::vector<T> values(keys.count);
        check(call(get(), &keys, values.data()));
        return values;
    }
};

} // namespace coua

#endif
