#include "convert/conversion.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

namespace relayout {

namespace {

// Values on their way by float32 stay in the first-level cache.
constexpr Int block = 512;

struct Type {
    const char *name;
    Kind kind;
    Int bytes;
};

constexpr Type types[] = {
    {"bool", Kind::boolean, 1},       {"int8", Kind::int8, 1},       {"int16", Kind::int16, 2},
    {"int32", Kind::int32, 4},        {"int64", Kind::int64, 8},     {"uint8", Kind::uint8, 1},
    {"uint16", Kind::uint16, 2},      {"uint32", Kind::uint32, 4},   {"uint64", Kind::uint64, 8},
    {"float16", Kind::float16, 2},    {"float32", Kind::float32, 4}, {"float64", Kind::float64, 8},
    {"bfloat16", Kind::bfloat16, 2},
};

const Type *find_type(const std::string &name) {
    for (const Type &type : types)
        if (name == type.name) return &type;
    return nullptr;
}

using ScalesAndOffsets = std::optional<std::pair<std::vector<double>, std::vector<Int>>>;
using Description = std::tuple<std::string, std::string, ScalesAndOffsets, ScalesAndOffsets, std::optional<nb::bytes>>;

Scales parse_scales(const ScalesAndOffsets &given, bool inverse) {
    Scales scales;
    if (!given) return scales;
    const auto &[factors, offsets] = *given;
    if (factors.empty() || factors.size() != offsets.size())
        throw nb::value_error("there are as many scales as offsets, and at least one");
    for (const double factor : factors) scales.factor.push_back(inverse ? 1 / float(factor) : float(factor));
    for (const Int offset : offsets) scales.offset.push_back(float(offset));
    return scales;
}

// Offsets of types of up to 16 bits are subtracted exactly, which float32 does up to this one.
bool exact_in_float32(const Scales &decode, Int bytes) {
    const auto small = [](float offset) { return std::abs(offset) <= float(1 << 23); };
    return bytes > 2 || std::all_of(decode.offset.begin(), decode.offset.end(), small);
}

std::optional<Conversion> table_conversion(const nb::bytes &table) {
    const Int bytes = Int(table.size()) / 256;
    if (Int(table.size()) % 256 || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
        throw nb::value_error("a table has 256 entries of 1, 2, 4 or 8 bytes");
    const Byte *data = static_cast<const Byte *>(table.data());
    Conversion found{1, bytes};
    found.table.assign(data, data + table.size());
    return found;
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

// The parameters of the elements from `first` on.
Parameters behind(const Parameters &each, Int first) {
    const auto from = [first](const float *entries) { return entries ? entries + first : nullptr; };
    return {from(each.decode_factor), from(each.decode_offset), from(each.encode_factor), from(each.encode_offset)};
}

void run(const Byte *source, Byte *target, Int count, const Conversion &conversion, const Parameters &all, bool each) {
    const Step load = conversion.load[each], store = conversion.store[each];
    if (!store) return load(source, target, count, all.decode_factor, all.decode_offset);
    if (!load) return store(source, target, count, all.encode_factor, all.encode_offset);
    alignas(64) Byte values[block * sizeof(float)];
    for (Int done = 0; done < count; done += block) {
        const Int n = std::min(block, count - done);
        const Parameters its = each ? behind(all, done) : all;
        load(source + done * conversion.source_bytes, values, n, its.decode_factor, its.decode_offset);
        store(values, target + done * conversion.target_bytes, n, its.encode_factor, its.encode_offset);
    }
}

}  // namespace

Parameters Conversion::parameters(Int decode_channel, Int encode_channel) const {
    Parameters found;
    if (decode.given()) {
        found.decode_factor = &decode.factor[std::size_t(decode_channel)];
        found.decode_offset = &decode.offset[std::size_t(decode_channel)];
    }
    if (encode.given()) {
        found.encode_factor = &encode.factor[std::size_t(encode_channel)];
        found.encode_offset = &encode.offset[std::size_t(encode_channel)];
    }
    return found;
}

std::optional<Conversion> find_conversion(nb::handle description, Isa isa) {
    Description parsed;
    if (!nb::try_cast(description, parsed, false))
        throw nb::type_error("a conversion is (source, target, scales to decode, scales to encode, table)");
    const auto &[source_name, target_name, decode, encode, table] = parsed;
    if (table) return table_conversion(*table);

    const Type *source = find_type(source_name), *target = find_type(target_name);
    if (!source || !target) return std::nullopt;
    Conversion found{source->bytes, target->bytes, parse_scales(decode, false), parse_scales(encode, true)};
    const bool decodes = found.decode.given(), encodes = found.encode.given();
    if (decodes && !exact_in_float32(found.decode, source->bytes)) return std::nullopt;

    const auto find = RELAYOUT_KERNEL(find_step, isa);
    if (!decodes && !encodes) found.load[0] = found.load[1] = find(source->kind, target->kind, Scaling::none);
    if (found.load[0]) return found;
    const bool loads = decodes || source->kind != Kind::float32, stores = encodes || target->kind != Kind::float32;
    for (const bool each : {false, true}) {
        const Scaling scaling = each ? Scaling::each : Scaling::same;
        if (loads) found.load[each] = find(source->kind, Kind::float32, decodes ? scaling : Scaling::none);
        if (stores) found.store[each] = find(Kind::float32, target->kind, encodes ? scaling : Scaling::none);
    }
    const bool complete = (loads || stores) && loads == !!found.load[0] && stores == !!found.store[0];
    return complete ? std::optional(std::move(found)) : std::nullopt;
}

void convert(const Byte *source, Byte *target, Int count, const Conversion &conversion, const Parameters &same) {
    if (!conversion.table.empty()) return look_up(source, target, count, conversion);
    run(source, target, count, conversion, same, false);
}

void convert_each(const Byte *source, Byte *target, Int count, const Conversion &conversion, const Parameters &each) {
    run(source, target, count, conversion, each, true);
}

namespace {

constexpr const char *isa_names[] = {"baseline", "avx2", "avx512"};

std::vector<std::string> isas() { return {isa_names, isa_names + int(isa()) + 1}; }

Isa named_isa(const std::optional<std::string> &name) {
    if (!name) return isa();
    for (int k = 0; k <= int(isa()); ++k)
        if (*name == isa_names[k]) return Isa(k);
    throw nb::value_error("this CPU has no such instruction set, or RELAYOUT_ISA rules it out");
}

// An entry for every element, where the channels take turns.
std::vector<float> in_turn(const std::vector<float> &channels, Int count) {
    std::vector<float> entries;
    for (Int i = 0; i < count && !channels.empty(); ++i) entries.push_back(channels[std::size_t(i) % channels.size()]);
    return entries;
}

using Source = nb::ndarray<const Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void convert_bytes(nb::handle description, Source source, Target target, const std::optional<std::string> &isa_name) {
    const auto conversion = find_conversion(description, named_isa(isa_name));
    if (!conversion) throw nb::value_error("there is no such conversion");
    const Int count = Int(source.size()) / conversion->source_bytes;
    if (count * conversion->source_bytes != Int(source.size()) ||
        count * conversion->target_bytes != Int(target.size()))
        throw nb::value_error("source and target are memory for the same number of elements");
    const Byte *from = source.data();
    Byte *to = target.data();
    const std::less<const Byte *> before;
    if (before(from, to + target.size()) && before(to, from + source.size()))
        throw nb::value_error("source and target share memory");

    const auto work = [&] {
        if (!conversion->per_channel()) return convert(from, to, count, *conversion, conversion->parameters());
        const Scales &decode = conversion->decode, &encode = conversion->encode;
        const std::vector<float> entries[] = {in_turn(decode.factor, count), in_turn(decode.offset, count),
                                              in_turn(encode.factor, count), in_turn(encode.offset, count)};
        convert_each(from, to, count, *conversion,
                     {entries[0].data(), entries[1].data(), entries[2].data(), entries[3].data()});
    };
    if (source.size() + target.size() < 1 << 16) return work();
    nb::gil_scoped_release release;
    work();
}

}  // namespace

}  // namespace relayout

void bind_convert(nb::module_ &m) {
    m.def("isas", &relayout::isas, "The instruction sets that kernels may use here, from the least to the best.");
    m.def(
        "converts", [](nb::handle description) { return !!relayout::find_conversion(description, relayout::isa()); },
        nb::arg("description"), "Whether there are kernels for what relayout.repack.conversion describes.");
    m.def("convert", &relayout::convert_bytes, nb::arg("description"), nb::arg("source").noconvert(),
          nb::arg("target").noconvert(), nb::arg("isa") = nb::none(),
          "Convert the elements that lie one behind the other in source; channels take turns.");
}
