#include <cmath>
#include <cstring>
#include <limits>

#include "common/isa.h"
#include "convert/conversion.h"
#include "tests/check.h"

namespace relayout::tests {
namespace {

template <typename To, typename From> To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}

// A binary float by its fields, computed in double, which holds all of them exactly.
double decode_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1;
    const int exponent = int(bits >> mantissa_bits) & most;
    const double mantissa = double(bits & ((1u << mantissa_bits) - 1));
    const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
    if (exponent == most) return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    const double one = std::ldexp(1.0, mantissa_bits);
    return sign * std::ldexp(exponent ? mantissa + one : mantissa, (exponent ? exponent : 1) - bias - mantissa_bits);
}

// The nearest such float, ties to even; of no NaN.
std::uint32_t encode_float(double x, int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const std::uint32_t sign = std::uint32_t(std::signbit(x)) << (exponent_bits + mantissa_bits);
    const std::uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
    x = std::fabs(x);
    if (x == 0) return sign;
    if (std::isinf(x)) return sign | infinity;
    int exponent = 0;
    std::frexp(x, &exponent);
    const int unit = std::max(exponent - 1, 1 - bias) - mantissa_bits;
    // Steps of the unit below the next power of 2, which the addition carries into the exponent.
    const double steps = std::nearbyint(std::ldexp(x, -unit));
    const double found = std::ldexp(steps, unit);
    if (found >= std::ldexp(1.0, bias + 1)) return sign | infinity;
    const std::uint32_t place = std::uint32_t(unit + mantissa_bits + bias - 1);
    return sign | ((place << mantissa_bits) + std::uint32_t(steps));
}

struct Number {
    const char *name;
    Int bytes;
    bool is_float;
};

constexpr Number numbers[] = {{"bool", 1, false},   {"int8", 1, false},   {"int16", 2, false},   {"int32", 4, false},
                              {"int64", 8, false},  {"uint8", 1, false},  {"uint16", 2, false},  {"uint32", 4, false},
                              {"uint64", 8, false}, {"float16", 2, true}, {"bfloat16", 2, true}, {"float32", 4, true},
                              {"float64", 8, true}};

std::uint64_t load(const Byte *p, Int bytes) {
    std::uint64_t x = 0;
    for (Int b = 0; b < bytes; ++b) x |= std::uint64_t(p[b]) << 8 * b;
    return x;
}

// An integer, in the two's complement of 64 bits, where a number is one.
std::uint64_t as_integer(const Number &type, std::uint64_t bits) {
    if (type.name[0] == 'b') return bits != 0;
    if (type.name[0] == 'u' || type.bytes == 8) return bits;
    const int unused = int(64 - 8 * type.bytes);
    return std::uint64_t(std::int64_t(bits << unused) >> unused);
}

double as_double(const Number &type, std::uint64_t bits) {
    const std::string name = type.name;
    if (name == "float16") return decode_float(std::uint32_t(bits), 5, 10);
    if (name == "bfloat16") return decode_float(std::uint32_t(bits), 8, 7);
    if (name == "float32") return bits_as<float>(std::uint32_t(bits));
    if (name == "float64") return bits_as<double>(bits);
    const std::uint64_t x = as_integer(type, bits);
    return name[0] == 'u' ? double(x) : double(std::int64_t(x));
}

float as_float(const Number &type, std::uint64_t bits) {
    if (type.is_float) return float(as_double(type, bits));
    const std::uint64_t x = as_integer(type, bits);
    return type.name[0] == 'u' ? float(x) : float(std::int64_t(x));
}

// What the number becomes, if it is no NaN.
std::uint64_t converted(const Number &from, const Number &to, std::uint64_t bits) {
    const std::string name = to.name;
    if (!to.is_float) return as_integer(from, bits);
    if (name == "float64") return bits_as<std::uint64_t>(as_double(from, bits));
    if (name == "float32") return bits_as<std::uint32_t>(as_float(from, bits));
    // Integers that are no half exactly go by way of float32.
    const double x = from.is_float ? as_double(from, bits) : double(as_float(from, bits));
    return name == "float16" ? encode_float(x, 5, 10) : encode_float(double(float(x)), 8, 7);
}

bool is_nan(const Number &type, std::uint64_t bits) { return type.is_float && std::isnan(as_double(type, bits)); }

// The bits behind the exponent of a float.
int mantissa_bits(const Number &type) {
    const std::string name = type.name;
    return name == "float16" ? 10 : name == "bfloat16" ? 7 : name == "float32" ? 23 : 52;
}

// Which NaN a NaN becomes, on every machine: the sign and the first bits of the mantissa are kept, the very first of
// which says that it is quiet. Between float16 and wider types that one is kept too, and what has no bits left has the
// last one; other pairs are what processors convert, which makes it quiet, and bfloat16 has one NaN of each sign.
std::uint64_t converted_nan(const Number &from, const Number &to, std::uint64_t bits) {
    const std::string a = from.name, b = to.name;
    const int narrow = mantissa_bits(from), wide = mantissa_bits(to), top = int(8 * to.bytes) - 1;
    const std::uint64_t infinity = ((std::uint64_t(1) << (top - wide)) - 1) << wide, quiet = std::uint64_t(1)
                                                                                             << (wide - 1);
    const std::uint64_t sign = bits >> (8 * from.bytes - 1) << top, rest = bits & ((std::uint64_t(1) << narrow) - 1);
    const std::uint64_t kept = wide > narrow ? rest << (wide - narrow) : rest >> (narrow - wide);
    if (b == "bfloat16" || (a == "bfloat16" && b == "float16")) return sign | infinity | quiet;
    if (a == "bfloat16" && b == "float32") return sign | infinity | kept;
    if (a == "float16" || b == "float16") return sign | infinity | (kept != 0 ? kept : 1);
    return sign | infinity | quiet | kept;
}

void test_pair(const Number &from, const Number &to, Isa isa) {
    const auto conversion = find_conversion(from.name, to.name, {}, {}, isa);
    if (!conversion) return;
    const Int count = from.bytes == 2 ? 65536 : pick(1, 2000);
    const GuardedBytes source(count * from.bytes), target(count * to.bytes);
    for (Int i = 0; from.bytes == 2 && i < count; ++i) {
        source.data()[2 * i] = Byte(i);
        source.data()[2 * i + 1] = Byte(i >> 8);
    }
    // Numbers near those that halves have, which random bits hardly ever are.
    for (Int i = 0; from.bytes >= 4 && from.is_float && i < count; i += 2) {
        const double x = decode_float(std::uint32_t(pick(0, 65535)), 5, 10) * (1 + double(pick(-2, 2)) / 4096);
        if (from.bytes == 8) {
            std::memcpy(source.data() + 8 * i, &x, 8);
        } else {
            const float y = float(x);
            std::memcpy(source.data() + 4 * i, &y, 4);
        }
    }
    // NaNs with few bits, of which random ones are hardly ever.
    for (Int i = 1; from.bytes >= 4 && from.is_float && i < count; i += 8) {
        const int mantissa = mantissa_bits(from);
        const std::uint64_t sign = std::uint64_t(pick(0, 1)) << (8 * from.bytes - 1);
        const std::uint64_t infinity = ((std::uint64_t(1) << (8 * from.bytes - 1 - mantissa)) - 1) << mantissa;
        const std::uint64_t nan = sign | infinity | std::uint64_t(1) << pick(0, mantissa - 1);
        std::memcpy(source.data() + i * from.bytes, &nan, std::size_t(from.bytes));
    }
    conversion->run(source.data(), target.data(), count);
    for (Int i = 0; i < count; ++i) {
        const std::uint64_t x = load(source.data() + i * from.bytes, from.bytes);
        const std::uint64_t y = load(target.data() + i * to.bytes, to.bytes),
                            mask = ~std::uint64_t(0) >> (64 - 8 * to.bytes);
        const bool same = (is_nan(from, x) ? converted_nan(from, to, x) : converted(from, to, x) & mask) == y;
        check(same, std::string(isa_names[int(isa)]) + " " + from.name + " to " + to.name + " of " + std::to_string(x) +
                        ": " + std::to_string(y));
    }
}

Scales random_scales(Int channels) {
    Scales scales;
    for (Int k = 0; k < channels; ++k) {
        scales.factor.push_back(float(pick(1, 1000)) / 256);
        scales.offset.push_back(float(pick(-100, 100)));
    }
    return scales;
}

// Each operation is rounded to float32, and none is fused with the next.
float product(float a, float b) {
    const volatile float c = a * b;
    return c;
}

template <typename Integer> void test_scaled(const char *name, Isa isa) {
    const Int count = pick(1, 1500), channels = pick(0, 1) ? 1 : pick(2, 5);
    const std::string what = std::string(isa_names[int(isa)]) + " scaled " + name;
    const Scales scales = random_scales(channels);
    const auto run = [&](const Conversion &conversion, const GuardedBytes &source, const GuardedBytes &target) {
        if (conversion.per_channel())
            conversion.run_channels(source.data(), target.data(), count);
        else
            conversion.run(source.data(), target.data(), count);
    };
    const GuardedBytes stored(count * Int(sizeof(Integer))), values(count * 4), floats(count * 4),
        encoded(count * Int(sizeof(Integer)));
    const auto decode = find_conversion(name, "float32", scales, {}, isa);
    const auto encode = find_conversion("float32", name, {}, scales, isa);
    check(decode && encode, what + ": there is no kernel");
    run(*decode, stored, values);
    // In and beside the range; now and then random bits, NaN among them.
    for (Int i = 0; i < count; ++i) {
        const float near = float(pick(-70000, 70000)) / 4;
        if (pick(0, 9)) std::memcpy(floats.data() + 4 * i, &near, 4);
    }
    run(*encode, floats, encoded);
    const float low = float(std::numeric_limits<Integer>::min());
    const float high = sizeof(Integer) == 4 ? 2147483520.f : float(std::numeric_limits<Integer>::max());
    for (Int i = 0; i < count; ++i) {
        const std::size_t channel = std::size_t(i) % scales.factor.size();
        const float factor = scales.factor[channel], offset = scales.offset[channel];
        Integer x, y;
        float value, z;
        std::memcpy(&x, stored.data() + i * Int(sizeof x), sizeof x);
        std::memcpy(&value, values.data() + 4 * i, 4);
        check(product(float(x) - offset, factor) == value, what + " to float32 of " + std::to_string(x));
        std::memcpy(&z, floats.data() + 4 * i, 4);
        std::memcpy(&y, encoded.data() + i * Int(sizeof y), sizeof y);
        const float scaled = product(z, factor) + offset;
        const float clipped = !(scaled < high) ? high : scaled > low ? scaled : low;
        check(Integer(std::nearbyint(clipped)) == y, what + " of " + std::to_string(z) + ": " + std::to_string(y));
    }
}

}  // namespace

void test_conversions() {
    for (int level = 0; level <= int(isa()); ++level) {
        const Isa isa = Isa(level);
        for (const Number &from : numbers)
            for (const Number &to : numbers)
                if (&from != &to) test_pair(from, to, isa);
        for (int round = 0; round < 20; ++round) {
            test_scaled<std::int8_t>("int8", isa);
            test_scaled<std::int16_t>("int16", isa);
            test_scaled<std::int32_t>("int32", isa);
            test_scaled<std::uint8_t>("uint8", isa);
            test_scaled<std::uint16_t>("uint16", isa);
        }
    }
}

}  // namespace relayout::tests
