#include "bindings/convert.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>

namespace {

using relayout::Byte;
using relayout::Conversion;
using relayout::Int;
using relayout::Isa;
using relayout::Scales;

using ScalesAndOffsets = std::optional<std::pair<std::vector<double>, std::vector<Int>>>;
using Description =
    std::tuple<std::string, std::string, ScalesAndOffsets, ScalesAndOffsets, std::optional<nb::bytes>, bool>;

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

Conversion table_conversion(const nb::bytes &table) {
    const Int bytes = Int(table.size()) / 256;
    if (Int(table.size()) % 256 || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
        throw nb::value_error("a table has 256 entries of 1, 2, 4 or 8 bytes");
    const Byte *data = static_cast<const Byte *>(table.data());
    Conversion conversion{1, bytes};
    conversion.table.assign(data, data + table.size());
    return conversion;
}

std::vector<std::string> isas() { return {relayout::isa_names, relayout::isa_names + int(relayout::isa()) + 1}; }

Isa named_isa(const std::optional<std::string> &name) {
    if (!name) return relayout::isa();
    for (int k = 0; k <= int(relayout::isa()); ++k)
        if (*name == relayout::isa_names[k]) return Isa(k);
    throw nb::value_error("this CPU has no such instruction set, or RELAYOUT_ISA rules it out");
}

using Source = nb::ndarray<const Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

bool convert(nb::handle description, Source source, Target target, const std::optional<std::string> &isa_name) {
    const auto conversion = parse_conversion(description, named_isa(isa_name));
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
        return conversion->per_channel() ? conversion->run_channels(from, to, count) : conversion->run(from, to, count);
    };
    if (Int(source.size() + target.size()) < release_gil_from) return work();
    nb::gil_scoped_release release;
    return work();
}

}  // namespace

std::optional<Conversion> parse_conversion(nb::handle description, Isa isa) {
    Description parsed;
    if (!nb::try_cast(description, parsed, false))
        throw nb::type_error(
            "a conversion is (source, target, scales to decode, scales to encode, table, whether NaN is refused)");
    const auto &[source, target, decode, encode, table, refuses_nan] = parsed;
    if (table) return table_conversion(*table);
    auto found =
        relayout::find_conversion(source, target, parse_scales(decode, false), parse_scales(encode, true), isa);
    if (found) found->refuses_nan = refuses_nan;
    return found;
}

void bind_convert(nb::module_ &m) {
    m.def("isas", &isas, "The instruction sets that kernels may use here, from the least to the best.");
    m.def(
        "converts", [](nb::handle description) { return !!parse_conversion(description, relayout::isa()); },
        nb::arg("description"), "Whether there are kernels for what relayout.engine.conversion describes.");
    m.def("convert", &convert, nb::arg("description"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
          nb::arg("isa") = nb::none(),
          "Convert the elements that lie one behind the other in source; channels take turns. True if one is refused.");
}
