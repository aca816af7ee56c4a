#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/isa.h"
#include "kernels/convert_kernels.h"

namespace relayout {

// A factor and an offset for all elements, or one of each per channel; none where values mean themselves.
struct Scales {
    std::vector<float> factor, offset;

    bool given() const { return !factor.empty(); }
    bool per_channel() const { return factor.size() > 1; }
};

// How elements of one interface become those of another, decided once; many threads may use it.
struct Conversion {
    Int source_bytes, target_bytes;  // of an element
    Scales decode = {}, encode = {};
    std::vector<Byte> table = {};  // where it is not empty, the targets of all 256 sources
    // To and from float32, for one scale for all elements and for one each. Null where the source, or the target, is
    // float32 itself; a conversion by one kernel that leaves float32 out is a load.
    ConvertKernel load[2] = {}, store[2] = {};
    bool refuses_nan = false;  // where it would become an integer

    bool per_channel() const { return decode.per_channel() || encode.per_channel(); }

    // Converts `count` elements, one behind the other, at any address; source and target are apart, and nothing beside
    // them is read or written. Scales are those of the first channel. Returns whether a value is refused.
    bool run(const Byte *source, Byte *target, Int count) const;

    // Converts elements whose channels take turns; not for tables.
    bool run_channels(const Byte *source, Byte *target, Int count) const;
};

// The conversion between two dtypes, or none where there are no kernels for it or some value could be refused.
std::optional<Conversion> find_conversion(const std::string &source, const std::string &target, Scales decode,
                                          Scales encode, Isa isa);

}  // namespace relayout
