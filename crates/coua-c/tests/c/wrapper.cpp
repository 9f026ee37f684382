// coua.hpp in C++20. wrapper FOLDER
#include <cstdio>
#include <string>

#include "coua.hpp"

#define CHECK(condition)                                                                           \
    if (!(condition)) return std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), 1

int main(int, char **arguments) {
    coua::filter seen;
    CHECK(seen.insert_unique("kestrel") && !seen.insert_unique("kestrel"));
    seen.insert("kestrel");
    seen.insert(7);
    CHECK(seen.insert_unique(8) && seen.contains(8) && seen.remove(8) && !seen.remove(8));
    CHECK(seen.contains("kestrel") && !seen.contains("osprey") && seen.contains(7));
    CHECK(seen.count("kestrel") == 2 && seen.count(7) == 1);
    CHECK(seen.remove("kestrel") && seen.size() == 2);

    const std::vector<uint64_t> numbers = {1, 2, 7};
    const std::vector<std::string_view> texts = {"kestrel", "", "wren"};
    seen.insert_batch({numbers});
    CHECK((seen.count_batch({numbers}) == std::vector<uint64_t>{1, 1, 2}));
    CHECK((seen.insert_unique_batch({texts}) == std::vector<uint8_t>{0, 1, 1}));
    CHECK((seen.contains_batch({texts}) == std::vector<uint8_t>{1, 1, 1}));
    CHECK((seen.remove_batch({texts}) == std::vector<uint8_t>{1, 1, 1}));

    const std::string path = std::string(arguments[1]) + "/wrapper.coua";
    seen.save(path.c_str());
    CHECK(coua::filter::load(path.c_str()).size() == seen.size());
    {
        auto file = coua::filter::open(path.c_str());
        file.insert("kept");
        file.commit();
        file.insert("given up");
    }
    CHECK(coua::filter::load(path.c_str()).size() == seen.size() + 1);

    coua::filter moved = std::move(seen);
    CHECK(moved.contains(7));
    coua_options options;
    coua::check(coua_options_init(&options, sizeof options));
    options.rate = 2;
    try {
        coua::filter refused(options);
        CHECK(!"created");
    } catch (const coua::error &error) {
        CHECK(error.status == COUA_INVALID && std::string(error.what()).find("between 0 and 1") != std::string::npos);
    }
    return 0;
}
