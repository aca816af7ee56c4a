#include <algorithm>
#include <cstring>

#include "common/isa.h"
#include "kernels/gather_kernels.h"
#include "kernels/kernels.h"
#include "tests/check.h"

namespace relayout::tests {
namespace {

// Runs `act` on the target and compares it with what `judge` makes of the same bytes.
template <typename Act, typename Judge>
void compare(const std::string &what, const GuardedBytes &target, Act act, Judge judge) {
    Bytes expected = target.copy();
    judge(expected.data());
    act(target.data());
    check(target == expected, what);
}

std::string describe(Isa isa, const char *kernel, std::initializer_list<Int> numbers) {
    std::string text = std::string(isa_names[int(isa)]) + " " + kernel;
    for (const Int number : numbers) text += " " + std::to_string(number);
    return text;
}

void test_runs(Isa isa, const Kernels &k) {
    const Int length = pick(0, 2) ? pick(1, 140) : pick(141, 1200);
    const bool nontemporal = length % 16 == 0 && pick(0, 1);
    const Int unit = nontemporal ? (length % 64 == 0 ? 64 : length == 32 ? 32 : 16) : 1;
    const Int apart = (length + pick(0, 1) * pick(0, 40) + unit - 1) / unit * unit;
    const Repeat strip{pick(1, 5), length + pick(0, 30), apart};
    const Repeat repeat{pick(1, 3), strip.count * strip.source + pick(0, 9), strip.count * apart + unit * pick(0, 2)};
    const Int ahead = pick(0, 1) * 4096;
    const GuardedBytes source((repeat.count - 1) * repeat.source + (strip.count - 1) * strip.source + length);
    const GuardedBytes target((repeat.count - 1) * repeat.target + (strip.count - 1) * apart + length, nontemporal);
    compare(
        describe(isa, "runs", {length, strip.count, repeat.count, nontemporal}), target,
        [&](Byte *t) { k.runs(source.data(), t, strip, length, repeat, nontemporal, ahead), k.store_fence(); },
        [&](Byte *t) {
            for (Int r = 0; r < repeat.count; ++r)
                for (Int i = 0; i < strip.count; ++i)
                    for (Int b = 0; b < length; ++b)
                        t[r * repeat.target + i * apart + b] = source.data()[r * repeat.source + i * strip.source + b];
        });
}

void test_padded_runs(Isa isa, const Kernels &k) {
    if (!k.padded_runs) return;
    const Int length = one_of({16, 32, 64}), valid = pick(1, length - 1);
    const Repeat strip{pick(1, 5), valid + pick(0, 30), length}, repeat{pick(1, 3), 400, 5 * length};
    const bool nontemporal = pick(0, 1);
    const GuardedBytes source((repeat.count - 1) * repeat.source + (strip.count - 1) * strip.source + valid);
    const GuardedBytes target((repeat.count - 1) * repeat.target + strip.count * length, true), pattern(64);
    compare(
        describe(isa, "padded runs", {length, valid, nontemporal}), target,
        [&](Byte *t) {
            k.padded_runs(source.data(), t, strip, valid, length, pattern.data(), repeat, nontemporal, 0);
            k.store_fence();
        },
        [&](Byte *t) {
            for (Int r = 0; r < repeat.count; ++r)
                for (Int i = 0; i < strip.count; ++i)
                    for (Int b = 0; b < length; ++b)
                        t[r * repeat.target + i * strip.target + b] =
                            b < valid ? source.data()[r * repeat.source + i * strip.source + b] : pattern.data()[b];
        });
}

// What transposes do: element j of row i goes to place i of column j.
void transpose(const GuardedBytes &source, const std::vector<Int> &rows, Byte *target, const std::vector<Int> &columns,
               Int size, const Repeat &repeat) {
    for (Int r = 0; r < repeat.count; ++r)
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < columns.size(); ++j)
                for (Int b = 0; b < size; ++b)
                    target[r * repeat.target + columns[j] + Int(i) * size + b] =
                        source.data()[r * repeat.source + rows[i] + Int(j) * size + b];
}

void test_transpose(Isa isa, const Kernels &k, bool shifted) {
    const int log = int(pick(shifted ? 2 : 0, 4));
    if (shifted && !k.shifted_transpose[log]) return;
    const Int size = Int(1) << log;
    const bool nontemporal = !shifted && pick(0, 1);
    const Int lines = pick(1, 4) * 64 / size;
    const Int height = nontemporal ? lines : pick(0, 1) ? pick(1, 40) : pick(1, shifted ? 300 : 1100);
    const Int width = pick(1, shifted && height <= 40 ? 600 : 100), beside = pick(0, 1);
    const Int row = width * size + pick(0, 20);
    const Int column = (height + (nontemporal || beside ? 0 : pick(0, 3))) * size;
    const Repeat repeat{shifted ? 1 : pick(1, 2), height * row, width * column};
    std::vector<Int> rows(static_cast<std::size_t>(height)), columns(static_cast<std::size_t>(width));
    for (Int i = 0; i < height; ++i) rows[std::size_t(i)] = i * row;
    for (Int j = 0; j < width; ++j) columns[std::size_t(j)] = j * column;
    std::shuffle(rows.begin(), rows.end(), random_engine());
    if (!beside) std::shuffle(columns.begin(), columns.end(), random_engine());
    const GuardedBytes source((repeat.count * height - 1) * row + width * size);
    const GuardedBytes target(repeat.count * width * column, nontemporal);
    const bool scattered = pick(0, 1);
    compare(
        describe(isa, shifted ? "shifted transpose" : "transpose", {size, height, width, nontemporal, scattered}),
        target,
        [&](Byte *t) {
            const Int ahead = pick(0, 1) * 4096;
            if (shifted)
                k.shifted_transpose[log](source.data(), rows.data(), height, t, columns.data(), width, repeat, true,
                                         true, ahead);
            else
                k.transpose[log](source.data(), rows.data(), height, t, columns.data(), width, repeat, nontemporal,
                                 scattered, ahead);
            k.store_fence();
        },
        [&](Byte *t) { transpose(source, rows, t, columns, size, repeat); });
}

// Rows and columns equally far apart, or listed.
void test_block_transpose(Isa isa, const Kernels &k) {
    const int log = int(pick(0, 4));
    const Int size = Int(1) << log;
    const bool narrow = k.turns_narrow && log < 3 && pick(0, 3) == 0;
    const Int height = (narrow ? 64 : 16) / size + pick(0, 90),
              width = narrow ? pick(1, 16 / size) : 16 / size + pick(0, 70);
    const Int row = width * size + pick(0, 20), column = (height + pick(0, 1) * pick(1, 3)) * size;
    const Repeat repeat{pick(1, 2), height * row, width * column};
    const bool rows_listed = pick(0, 1), columns_listed = pick(0, 1), down = pick(0, 1), wide = pick(0, 1),
               back = !rows_listed && pick(0, 3) == 0;
    std::vector<Int> rows(static_cast<std::size_t>(height)), columns(static_cast<std::size_t>(width));
    for (Int i = 0; i < height; ++i) rows[std::size_t(i)] = (back ? height - 1 - i : i) * row;
    for (Int j = 0; j < width; ++j) columns[std::size_t(j)] = j * column;
    if (rows_listed) std::shuffle(rows.begin(), rows.end(), random_engine());
    if (columns_listed) std::shuffle(columns.begin(), columns.end(), random_engine());
    const GuardedBytes source((repeat.count * height - 1) * row + width * size);
    const GuardedBytes target(repeat.count * width * column, false);
    const Int row_step = rows_listed ? 0 : back ? -row : row;
    compare(
        describe(isa, "block transpose", {size, height, width, rows_listed, columns_listed, down}), target,
        [&](Byte *t) {
            k.block_transpose[log](source.data(), rows.data(), row_step, height, t, columns.data(),
                                   columns_listed ? 0 : column, width, repeat, down, wide);
        },
        [&](Byte *t) { transpose(source, rows, t, columns, size, repeat); });
}

// Elements of 3 and 5 to 7 bytes.
void test_widened_transpose(Isa isa) {
    const auto turn = gather_kernels_for(isa).widened_transpose;
    if (!turn) return;
    const Int size = one_of({3, 5, 6, 7}), height = pick(1, 60), width = pick(1, 60);
    const Int row = width * size + pick(0, 20), column = height * size + pick(0, 1) * pick(1, 9);
    const Repeat repeat{pick(1, 2), height * row, width * column};
    std::vector<Int> rows(static_cast<std::size_t>(height)), columns(static_cast<std::size_t>(width));
    for (Int i = 0; i < height; ++i) rows[std::size_t(i)] = i * row;
    for (Int j = 0; j < width; ++j) columns[std::size_t(j)] = j * column;
    std::shuffle(rows.begin(), rows.end(), random_engine());
    std::shuffle(columns.begin(), columns.end(), random_engine());
    const GuardedBytes source((repeat.count * height - 1) * row + width * size);
    const GuardedBytes target((repeat.count * width - 1) * column + height * size, false);
    compare(
        describe(isa, "widened transpose", {size, height, width}), target,
        [&](Byte *t) {
            turn(source.data(), rows.data(), height, t, columns.data(), width, int(size), repeat, pick(0, 1) * 4096);
        },
        [&](Byte *t) { transpose(source, rows, t, columns, size, repeat); });
}

// Both directions; `used` of the ways are there when elements are parted.
void test_interleave(Isa isa, const Kernels &k) {
    const int log = int(pick(0, 3)), ways = int(pick(2, log == 0 && k.parts_wide[0] ? 15 : 8)),
              used = pick(0, 1) ? ways : int(pick(1, ways));
    const Int size = Int(1) << log;
    const bool nontemporal = pick(0, 1);
    const Int count = nontemporal ? pick(1, 6) * 64 / size : pick(1, 200);
    const Int row = nontemporal ? (count * size + 63) / 64 * 64 : count * size + pick(0, 1) * pick(0, 20);
    const Repeat together{pick(1, 3), ways * row, ways * count * size},
        apart{together.count, together.target, ways * row};
    std::vector<Int> rows(static_cast<std::size_t>(ways));
    for (Int i = 0; i < ways; ++i) rows[std::size_t(i)] = i * row;
    if (pick(0, 1)) std::shuffle(rows.begin(), rows.end(), random_engine());
    const Int last = *std::max_element(rows.begin(), rows.end());
    const GuardedBytes planes((together.count - 1) * together.source + last + count * size);
    const GuardedBytes woven(together.count * together.target, nontemporal && pick(0, 1));
    compare(
        describe(isa, "interleave", {size, ways, count, nontemporal}), woven,
        [&](Byte *t) {
            k.interleave[log](planes.data(), t, rows.data(), ways, count, together, nontemporal, 0);
            k.store_fence();
        },
        [&](Byte *t) {
            for (Int r = 0; r < together.count; ++r)
                for (Int j = 0; j < count; ++j)
                    for (Int w = 0; w < ways; ++w)
                        for (Int b = 0; b < size; ++b)
                            t[r * together.target + (j * ways + w) * size + b] =
                                planes.data()[r * together.source + rows[std::size_t(w)] + j * size + b];
        });
    // What is not used behind the last element is no memory.
    const GuardedBytes source((together.count * count - 1) * ways * size + used * size);
    const GuardedBytes parted(together.count * ways * row, nontemporal);
    const bool shifted = k.shifted_deinterleave[log] && row % size == 0 && pick(0, 1);
    compare(
        describe(isa, shifted ? "shifted deinterleave" : "deinterleave", {size, ways, used, count, nontemporal}),
        parted,
        [&](Byte *t) {
            if (shifted)
                k.shifted_deinterleave[log](source.data(), t, rows.data(), ways, used, count, apart, true, true, 0);
            else
                k.deinterleave[log](source.data(), t, rows.data(), ways, used, count, apart, nontemporal, 0);
            k.store_fence();
        },
        [&](Byte *t) {
            for (Int r = 0; r < apart.count; ++r)
                for (Int j = 0; j < count; ++j)
                    for (Int w = 0; w < used; ++w)
                        for (Int b = 0; b < size; ++b)
                            t[r * apart.target + rows[std::size_t(w)] + j * size + b] =
                                source.data()[r * apart.source + (j * ways + w) * size + b];
        });
}

void test_scatter(Isa isa, const Kernels &k) {
    const int log = int(pick(0, 4));
    const Int size = Int(1) << log;
    const Repeat strip{pick(1, 50), size * pick(1, 3), size * pick(1, 3)};
    const Repeat repeat{pick(1, 3), strip.count * strip.source, strip.count * strip.target};
    const GuardedBytes source(repeat.count * repeat.source), target(repeat.count * repeat.target);
    compare(
        describe(isa, "scatter", {size, strip.count}), target,
        [&](Byte *t) { k.scatter[log](source.data(), t, strip, repeat); },
        [&](Byte *t) {
            for (Int r = 0; r < repeat.count; ++r)
                for (Int i = 0; i < strip.count; ++i)
                    for (Int b = 0; b < size; ++b)
                        t[r * repeat.target + i * strip.target + b] =
                            source.data()[r * repeat.source + i * strip.source + b];
        });
}

void test_flat(Isa isa, const Kernels &k) {
    const Int length = pick(1, 300);
    const GuardedBytes source(length), target(length), other(length), pattern(64);
    for (Int k = 16; k < 64; ++k) pattern.data()[k] = pattern.data()[k - 16];
    compare(
        describe(isa, "flat copy", {length}), target,
        [&](Byte *t) { k.copy_nontemporal(source.data(), t, length), k.store_fence(); },
        [&](Byte *t) {
            for (Int b = 0; b < length; ++b) t[b] = source.data()[b];
        });
    compare(
        describe(isa, "fill", {length}), other, [&](Byte *t) { k.fill(t, length, pattern.data()); },
        [&](Byte *t) {
            for (Int b = 0; b < length; ++b) t[b] = pattern.data()[b % 16];
        });
    k.prefetch_for_write(target.data(), length);
}

void test_collect(Isa isa, const Kernels &k) {
    const Int count = pick(1, 20), bytes = pick(1, 300), pitch = bytes + pick(0, 64);
    std::vector<Int> rows, coming;
    for (Int r = 0; r < count; ++r) rows.push_back(pick(0, 2000)), coming.push_back(pick(0, 1 << 20));
    const GuardedBytes source(*std::max_element(rows.begin(), rows.end()) + bytes);
    const GuardedBytes target((count - 1) * pitch + bytes);
    compare(
        describe(isa, "collect", {count, bytes, pitch}), target,
        [&](Byte *t) { k.collect(source.data(), rows.data(), source.data(), coming.data(), count, t, pitch, bytes); },
        [&](Byte *t) {
            for (Int r = 0; r < count; ++r)
                for (Int b = 0; b < bytes; ++b) t[r * pitch + b] = source.data()[rows[std::size_t(r)] + b];
        });
}

}  // namespace

void test_kernels() {
    for (int level = 0; level <= int(isa()); ++level) {
        const Isa isa = Isa(level);
        const Kernels &k = kernels_for(isa);
        for (int round = 0; round < 400; ++round) {
            test_runs(isa, k);
            test_padded_runs(isa, k);
            test_transpose(isa, k, false);
            test_transpose(isa, k, true);
            test_block_transpose(isa, k);
            test_widened_transpose(isa);
            test_interleave(isa, k);
            test_scatter(isa, k);
            test_flat(isa, k);
            test_collect(isa, k);
        }
    }
}

}  // namespace relayout::tests
