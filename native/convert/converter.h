#pragma once

#include <memory>

#include "common/bytes.h"
#include "bindings/module.h"

namespace relayout {

// Turns contiguous elements of one interface into contiguous elements of another; it may be used by many threads.
class Converter {
public:
    virtual ~Converter() = default;
    virtual void run(const Byte *source, Byte *target, Int count) const = 0;
    virtual Int target_bytes() const = 0;
};

// By a description of relayout.repack.conversion; null where there are no kernels for it, or scales differ by channel.
std::unique_ptr<Converter> make_converter(nb::handle description);

}  // namespace relayout
