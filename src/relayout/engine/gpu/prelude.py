"""What every kernel is built on: the same few functions for a device, and for a host that runs threads in turn."""

TYPES = """
typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
"""

SHIFTS = """// Sixteen bytes from byte s of two vectors on; s is below 16.
DEVICE uint4 shifted16(const uint4 a, const uint4 b, int s) {
    u32 w0 = a.x, w1 = a.y, w2 = a.z, w3 = a.w, w4 = b.x, w5 = b.y;
    if (s & 8) { w0 = w2; w1 = w3; w2 = w4; w3 = w5; w4 = b.z; w5 = b.w; }
    if (s & 4) { w0 = w1; w1 = w2; w2 = w3; w3 = w4; w4 = w5; }
    const u32 bits = u32(s & 3) * 8;
    uint4 x;
    x.x = __funnelshift_r(w0, w1, bits);
    x.y = __funnelshift_r(w1, w2, bits);
    x.z = __funnelshift_r(w2, w3, bits);
    x.w = __funnelshift_r(w3, w4, bits);
    return x;
}
// Sixteen bytes of a run of an image, which begins at a vector and has room bytes; those outside are anything.
DEVICE uint4 take_shifted16(const u8 *run, int first, int room) {
    const int s = first & 15, at = first - s;
    uint4 a = uint4(), b = uint4();
    if (at >= 0 && at < room) a = take16(run + at);
    if (s && at + 16 < room) b = take16(run + at + 16);
    return shifted16(a, b, s);
}
"""

DEVICE = (
    TYPES
    + """
#define DEVICE static __device__ __forceinline__
#define DATA static __device__ const
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

DEVICE uint4 read16(const u8 *p) { return *reinterpret_cast<const uint4 *>(p); }
DEVICE uint2 read8(const u8 *p) { return *reinterpret_cast<const uint2 *>(p); }
DEVICE u32 read4(const u8 *p) { return *reinterpret_cast<const u32 *>(p); }
DEVICE u32 read2(const u8 *p) { return *reinterpret_cast<const u16 *>(p); }
DEVICE u32 read1(const u8 *p) { return *p; }
DEVICE void write16(u8 *p, u32 a, u32 b, u32 c, u32 d) { *reinterpret_cast<uint4 *>(p) = make_uint4(a, b, c, d); }
DEVICE void write8(u8 *p, u32 a, u32 b) { *reinterpret_cast<uint2 *>(p) = make_uint2(a, b); }
DEVICE void write4(u8 *p, u32 a) { *reinterpret_cast<u32 *>(p) = a; }
DEVICE void write2(u8 *p, u32 a) { *reinterpret_cast<u16 *>(p) = static_cast<u16>(a); }
DEVICE void write1(u8 *p, u32 a) { *p = static_cast<u8>(a); }
// Some bits of a byte, while other threads change others.
DEVICE void merge_bits(u8 *p, u32 mask, u32 a) {
    u32 *const word = reinterpret_cast<u32 *>(reinterpret_cast<u64>(p) & ~3ull);
    const u32 shift = u32(reinterpret_cast<u64>(p) & 3) * 8;
    atomicAnd(word, ~(mask << shift));
    atomicOr(word, a << shift);
}

#define take16 read16
#define take8 read8
#define take4 read4
#define take2 read2
#define take1 read1
#define put16 write16
#define put8 write8
#define put4 write4
#define put2 write2
#define put1 write1

// A vector goes to shared memory by a register, or past all registers where threads have unequal work. The cache takes
// the rest of a line along, or of two. What is kept leaves the cache last, until it is let go.
#if __CUDA_ARCH__ >= 800
#define READ16(size) \\
    uint4 x; \\
    asm("ld.global.nc.L2::" size ".v4.u32 {%0, %1, %2, %3}, [%4];" \\
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p));
#define READ16_KEPT(size) \\
    uint4 x; \\
    u64 last; \\
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last)); \\
    asm("ld.global.nc.L2::cache_hint" size ".v4.u32 {%0, %1, %2, %3}, [%4], %5;" \\
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p), "l"(last));
#define FETCH16(size) \\
    const u32 at = static_cast<u32>(__cvta_generic_to_shared(image)); \\
    asm volatile("cp.async.cg.shared.global.L2::" size " [%0], [%1], 16;" ::"r"(at), "l"(p) : "memory");
DEVICE void fetched() { asm volatile("cp.async.wait_all;" ::: "memory"); }
DEVICE void let_go(const u8 *p) {
    if (reinterpret_cast<u64>(p) % 128 == 0)
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(p) : "memory");
}
#else
#define READ16(size) const uint4 x = read16(p);
#define READ16_KEPT(size) READ16(size)
#define FETCH16(size) load16(image, p);
DEVICE void fetched() {}
DEVICE void let_go(const u8 *) {}
#endif
#define PUT16 *reinterpret_cast<uint4 *>(image) = x;
DEVICE uint4 read16_kept(const u8 *p) { READ16_KEPT("") return x; }
DEVICE void load16(u8 *image, const u8 *p) { READ16("128B") PUT16 }
DEVICE void load16_and_next(u8 *image, const u8 *p) { READ16("256B") PUT16 }
DEVICE void load16_kept(u8 *image, const u8 *p) { READ16_KEPT(".L2::128B") PUT16 }
DEVICE void load16_and_next_kept(u8 *image, const u8 *p) { READ16_KEPT(".L2::256B") PUT16 }
DEVICE void fetch16(u8 *image, const u8 *p) { FETCH16("128B") }
DEVICE void fetch16_and_next(u8 *image, const u8 *p) { FETCH16("256B") }
"""
    + SHIFTS
)

HOST = (
    """
#include <cstdio>
#include <cstring>
"""
    + TYPES
    + """
#define DEVICE static inline
#define DATA static const
#define UNROLL
#define ROLLED

struct uint2 { u32 x, y; };
struct uint4 { u32 x, y, z, w; };

// The bounds of source, target and image; an access outside, or not aligned, is thrown.
static const u8 *bound[6];
static char fault[80];

static inline void check(const void *p, int size, int first, int last) {
    const u8 *at = static_cast<const u8 *>(p);
    const bool even = reinterpret_cast<u64>(p) % size == 0;
    for (int k = first; k <= last; ++k)
        if (even && at >= bound[2 * k] && at + size <= bound[2 * k + 1]) return;
    const char *const what = even ? "%d bytes at %lld are outside memory %d" : "%d bytes at %lld of %d are not aligned";
    std::snprintf(fault, sizeof fault, what, size, i64(at - bound[2 * first]), first);
    throw static_cast<const char *>(fault);
}

template <typename T> T get(const u8 *p) { T x; std::memcpy(&x, p, sizeof x); return x; }
template <typename T> void set(u8 *p, T x) { std::memcpy(p, &x, sizeof x); }

static inline uint4 read16(const u8 *p) { check(p, 16, 0, 0); return get<uint4>(p); }
static inline uint2 read8(const u8 *p) { check(p, 8, 0, 0); return get<uint2>(p); }
static inline u32 read4(const u8 *p) { check(p, 4, 0, 0); return get<u32>(p); }
static inline u32 read2(const u8 *p) { check(p, 2, 0, 0); return get<u16>(p); }
static inline u32 read1(const u8 *p) { check(p, 1, 0, 0); return *p; }
static inline void write16(u8 *p, u32 a, u32 b, u32 c, u32 d) { check(p, 16, 1, 1); set(p, uint4{a, b, c, d}); }
static inline void write8(u8 *p, u32 a, u32 b) { check(p, 8, 1, 1); set(p, uint2{a, b}); }
static inline void write4(u8 *p, u32 a) { check(p, 4, 1, 1); set(p, a); }
static inline void write2(u8 *p, u32 a) { check(p, 2, 1, 1); set(p, u16(a)); }
static inline void write1(u8 *p, u32 a) { check(p, 1, 1, 1); *p = u8(a); }
static inline void merge_bits(u8 *p, u32 mask, u32 a) { check(p, 1, 1, 1); *p = u8((*p & ~mask) | a); }
static inline uint4 take16(const u8 *p) { check(p, 16, 2, 2); return get<uint4>(p); }
static inline uint2 take8(const u8 *p) { check(p, 8, 2, 2); return get<uint2>(p); }
static inline u32 take4(const u8 *p) { check(p, 4, 2, 2); return get<u32>(p); }
static inline u32 take2(const u8 *p) { check(p, 2, 2, 2); return get<u16>(p); }
static inline u32 take1(const u8 *p) { check(p, 1, 2, 2); return *p; }
static inline void put16(u8 *p, u32 a, u32 b, u32 c, u32 d) { check(p, 16, 2, 2); set(p, uint4{a, b, c, d}); }
static inline void put8(u8 *p, u32 a, u32 b) { check(p, 8, 2, 2); set(p, uint2{a, b}); }
static inline void put4(u8 *p, u32 a) { check(p, 4, 2, 2); set(p, a); }
static inline void put2(u8 *p, u32 a) { check(p, 2, 2, 2); set(p, u16(a)); }
static inline void put1(u8 *p, u32 a) { check(p, 1, 2, 2); *p = u8(a); }
static inline void fetch16(u8 *image, const u8 *p) { check(image, 16, 2, 2); set(image, read16(p)); }
static inline void load16(u8 *image, const u8 *p) { fetch16(image, p); }
static inline void load16_and_next(u8 *image, const u8 *p) { fetch16(image, p); }
static inline uint4 read16_kept(const u8 *p) { return read16(p); }
static inline void load16_kept(u8 *image, const u8 *p) { fetch16(image, p); }
static inline void load16_and_next_kept(u8 *image, const u8 *p) { fetch16(image, p); }
static inline void let_go(const u8 *p) { check(p, 16, 0, 0); }
static inline void fetch16_and_next(u8 *image, const u8 *p) { fetch16(image, p); }
static inline void fetched() {}

static inline u32 __byte_perm(u32 a, u32 b, u32 selector) {
    const u64 both = u64(b) << 32 | a;
    u32 found = 0;
    for (int k = 0; k < 4; ++k) found |= u32(both >> 8 * (selector >> 4 * k & 7) & 0xff) << 8 * k;
    return found;
}
static inline u32 __funnelshift_r(u32 low, u32 high, u32 bits) {
    return u32((u64(high) << 32 | low) >> (bits & 31));
}
static inline float __fmul_rn(float a, float b) { volatile float c = a * b; return c; }
static inline float __fadd_rn(float a, float b) { volatile float c = a + b; return c; }
static inline u32 __float_as_uint(float x) { return get<u32>(reinterpret_cast<const u8 *>(&x)); }
static inline float __uint_as_float(u32 x) { return get<float>(reinterpret_cast<const u8 *>(&x)); }
static inline i64 __double_as_longlong(double x) { return get<i64>(reinterpret_cast<const u8 *>(&x)); }
static inline double __longlong_as_double(i64 x) { return get<double>(reinterpret_cast<const u8 *>(&x)); }
static inline int __float2int_rn(float x) { return int(__builtin_lrint(x)); }
"""
    + SHIFTS
)
