#include <nanobind/ndarray.h>

#include <algorithm>
#include <new>

#include "bindings/buffer.h"
#include "bindings/module.h"
#include "common/thread_pool.h"
#include "kernels/kernels.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

using relayout::Byte;
using relayout::Int;

using Flat = nb::ndarray<Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstFlat = nb::ndarray<const Byte, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A flat copy, which benchmarks/repack.py compares large copies with.
void copy_nontemporal(Flat out, ConstFlat x, int threads) {
    if (out.size() != x.size()) throw nb::value_error("the sizes differ");
    nb::gil_scoped_release release;
    const relayout::Kernels &k = relayout::kernels();
    constexpr Int chunk = 1 << 20, piece = 4096;
    const Int size = Int(x.size());
    relayout::parallel(threads, (size + chunk - 1) / chunk, [&](Int begin, Int end) {
        const Int last = std::min(end * chunk, size);
        for (Int at = begin * chunk; at < last; at += piece)
            k.copy_nontemporal(x.data() + at, out.data() + at, std::min(piece, last - at));
        k.store_fence();
    });
}

// Zeroed memory at a multiple of 2 MiB, on huge pages where the system has some.
nb::object allocate(std::size_t size) {
#if defined(__linux__)
    constexpr std::size_t huge = std::size_t(2) << 20;
    const std::size_t room = (size + huge - 1) / huge * huge + huge;
    void *start =
        room < size ? MAP_FAILED : mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(start) + huge - 1) / huge * huge;
    madvise(reinterpret_cast<void *>(first), room - huge, MADV_HUGEPAGE);
    struct Mapping {
        void *start;
        std::size_t room;
    };
    nb::capsule owner(new Mapping{start, room}, [](void *p) noexcept {
        Mapping *mapping = static_cast<Mapping *>(p);
        munmap(mapping->start, mapping->room);
        delete mapping;
    });
    const std::size_t shape[1] = {size};
    return nb::cast(nb::ndarray<nb::numpy, Byte, nb::ndim<1>>(reinterpret_cast<Byte *>(first), 1, shape, owner));
#else
    (void)size;
    return nb::none();
#endif
}

// Where the bytes of an object that lie together begin.
std::uintptr_t address(nb::handle x) {
    const BufferView view(x.ptr(), false, PyBUF_SIMPLE);
    if (!view.held()) throw nb::python_error();
    return reinterpret_cast<std::uintptr_t>(view.data());
}

}  // namespace

void bind_memory(nb::module_ &m) {
    m.def("copy_nontemporal", &copy_nontemporal, nb::arg("out").noconvert(), nb::arg("x").noconvert(),
          nb::arg("threads"), "Copy flat bytes by non-temporal stores.");
    m.def("allocate", &allocate, "Zeroed bytes on huge pages; None where the system has none.");
    m.def("address", &address, "Where the bytes of an object begin.");
    m.def("default_threads", &relayout::default_threads);
}
