#pragma once

#include <optional>
#include <vector>

#include "kernels/convert_kernels.h"
#include "bindings/module.h"

namespace relayout {

// A factor and an offset for all elements, or one of each per channel; none where values mean themselves.
struct Scales {
    std::vector<float> factor, offset;

    bool given() const { return !factor.empty(); }
    bool per_channel() const { return factor.size() > 1; }
};

// What a conversion computes with; null where it has no such scales.
struct Parameters {
    const float *decode_factor = nullptr, *decode_offset = nullptr;
    const float *encode_factor = nullptr, *encode_offset = nullptr;
};

// How elements of one interface become those of another, decided once.
struct Conversion {
    Int source_bytes, target_bytes;  // of an element
    Scales decode = {}, encode = {};
    std::vector<Byte> table = {};  // where it is not empty, the targets of all 256 sources
    // To and from float32, for one scale for all elements and for one each. Null where the source, or the target, is
    // float32 itself; a conversion of one step that leaves float32 out is a load.
    Step load[2] = {}, store[2] = {};

    bool per_channel() const { return decode.per_channel() || encode.per_channel(); }

    // The entries of one channel on either side; channel 0 where there is one scale for all elements.
    Parameters parameters(Int decode_channel = 0, Int encode_channel = 0) const;
};

// The conversion that relayout.repack.conversion describes, or none where there are no kernels for it or some value
// could be refused. What is no description raises TypeError or ValueError.
std::optional<Conversion> find_conversion(nb::handle description, Isa isa);

// `count` elements, one behind the other, at any address; source and target are apart, and nothing beside them is read
// or written. The first entry of every parameter holds for all elements.
void convert(const Byte *source, Byte *target, Int count, const Conversion &conversion, const Parameters &same);

// The same where entry i of every parameter holds for element i; not for tables.
void convert_each(const Byte *source, Byte *target, Int count, const Conversion &conversion, const Parameters &each);

}  // namespace relayout
