#include "convert/conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace relayout {
namespace {

// Values on their way by float32: 2 KiB, which stay in the first-level cache beside what is read and written
// (benchmarks/repack.py --fused).
constexpr Int block_elements = 512;

struct NamedDtype {
    const char *name;
    Dtype dtype;
    Int bytes;
};

constexpr NamedDtype dtypes[] = {
    {"bool", Dtype::boolean, 1},      {"int8", Dtype::int8, 1},       {"int16", Dtype::int16, 2},
    {"int32", Dtype::int32, 4},       {"int64", Dtype::int64, 8},     {"uint8", Dtype::uint8, 1},
    {"uint16", Dtype::uint16, 2},     {"uint32", Dtype::uint32, 4},   {"uint64", Dtype::uint64, 8},
    {"float16", Dtype::float16, 2},   {"float32", Dtype::float32, 4}, {"float64", Dtype::float64, 8},
    {"bfloat16", Dtype::bfloat16, 2},
};

const NamedDtype *find_dtype(const std::string &name) {
    for (const NamedDtype &one : dtypes)
        if (name == one.name) return &one;
    return nullptr;
}

// Offsets of types of up to 16 bits are subtracted exactly, which float32 does up to this one.
bool exact_in_float32(const Scales &decode, Int bytes) {
    const auto small = [](float offset) { return std::abs(offset) <= float(1 << 23); };
    return bytes > 2 || std::all_of(decode.offset.begin(), decode.offset.end(), small);
}

template <int bytes> void look_up(const Byte *source, Byte *target, Int count, const Byte *table) {
    for (Int i = 0; i < count; ++i) std::memcpy(target + i * bytes, table + source[i] * bytes, bytes);
}

void look_up(const Byte *source, Byte *target, Int count, const Conversion &conversion) {
    const Byte *table = conversion.table.data();
    switch (conversion.target_bytes) {
        case 1: return look_up<1>(source, target, count, table);
        case 2: return look_up<2>(source, target, count, table);
        case 4: return look_up<4>(source, target, count, table);
        default: return look_up<8>(source, target, count, table);
    }
}

// Where a kernel finds the scales of its elements; null where there are none.
struct ScaleEntries {
    const float *factor, *offset;

    explicit ScaleEntries(const Scales &scales)
        : factor(scales.given() ? scales.factor.data() : nullptr),
          offset(scales.given() ? scales.offset.data() : nullptr) {}

    void advance(Int count) {
        if (!factor) return;
        factor += count;
        offset += count;
    }
};

// `each`: entry i of the scales holds for element i, else the first for all. Returns whether a NaN became an integer.
bool convert(const Conversion &by, const Byte *source, Byte *target, Int count, ScaleEntries decode,
             ScaleEntries encode, bool each) {
    const ConvertKernel load = by.load[each], store = by.store[each];
    if (!store) return load(source, target, count, decode.factor, decode.offset);
    if (!load) return store(source, target, count, encode.factor, encode.offset);
    bool nan = false;
    alignas(64) Byte values[block_elements * sizeof(float)];
    for (Int done = 0; done < count; done += block_elements) {
        const Int n = std::min(block_elements, count - done);
        load(source + done * by.source_bytes, values, n, decode.factor, decode.offset);
        nan |= store(values, target + done * by.target_bytes, n, encode.factor, encode.offset);
        if (!each) continue;
        decode.advance(n);
        encode.advance(n);
    }
    return nan;
}

// An entry for every element, where the channels take turns.
Scales repeat_channels(const Scales &scales, Int count) {
    Scales entries;
    if (!scales.given()) return entries;
    for (std::size_t i = 0; i < std::size_t(count); ++i) {
        entries.factor.push_back(scales.factor[i % scales.factor.size()]);
        entries.offset.push_back(scales.offset[i % scales.offset.size()]);
    }
    return entries;
}

}  // namespace

bool Conversion::run(const Byte *source, Byte *target, Int count) const {
    if (!table.empty()) {
        look_up(source, target, count, *this);
        return false;
    }
    return convert(*this, source, target, count, ScaleEntries(decode), ScaleEntries(encode), false) && refuses_nan;
}

bool Conversion::run_channels(const Byte *source, Byte *target, Int count) const {
    const Scales decoding = repeat_channels(decode, count), encoding = repeat_channels(encode, count);
    return convert(*this, source, target, count, ScaleEntries(decoding), ScaleEntries(encoding), true) && refuses_nan;
}

std::optional<Conversion> find_conversion(const std::string &source_name, const std::string &target_name, Scales decode,
                                          Scales encode, Isa isa) {
    const NamedDtype *source = find_dtype(source_name), *target = find_dtype(target_name);
    if (!source || !target) return std::nullopt;
    Conversion found{source->bytes, target->bytes, std::move(decode), std::move(encode)};
    const bool decodes = found.decode.given(), encodes = found.encode.given();
    if (decodes && !exact_in_float32(found.decode, source->bytes)) return std::nullopt;

    const auto find = RELAYOUT_FOR_ISA(find_convert_kernel, isa);
    if (!decodes && !encodes) found.load[0] = found.load[1] = find(source->dtype, target->dtype, Scaling::none);
    if (found.load[0]) return found;
    const bool loads = decodes || source->dtype != Dtype::float32, stores = encodes || target->dtype != Dtype::float32;
    for (const bool each : {false, true}) {
        const Scaling scaling = each ? Scaling::each : Scaling::same;
        if (loads) found.load[each] = find(source->dtype, Dtype::float32, decodes ? scaling : Scaling::none);
        if (stores) found.store[each] = find(Dtype::float32, target->dtype, encodes ? scaling : Scaling::none);
    }
    const bool complete = (loads || stores) && loads == !!found.load[0] && stores == !!found.store[0];
    return complete ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace relayout
