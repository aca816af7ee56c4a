#include "convert/converter.h"

#include <utility>

#include "convert/conversion.h"
#include "common/isa.h"

namespace relayout {

namespace {

class Scaled : public Converter {
public:
    explicit Scaled(Conversion found) : conversion(std::move(found)), parameters(conversion.parameters()) {}

    void run(const Byte *source, Byte *target, Int count) const override {
        convert(source, target, count, conversion, parameters);
    }
    Int target_bytes() const override { return conversion.target_bytes; }

private:
    const Conversion conversion;
    const Parameters parameters;
};

}  // namespace

std::unique_ptr<Converter> make_converter(nb::handle description) {
    std::optional<Conversion> found = find_conversion(description, isa());
    if (!found || found->per_channel()) return nullptr;
    return std::make_unique<Scaled>(std::move(*found));
}

}  // namespace relayout
