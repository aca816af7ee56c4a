#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/loop_nest.h"
#include "convert/conversion.h"
#include "kernels/gather_kernels.h"
#include "kernels/kernels.h"
#include "tiled/trials.h"
#include "tiled/tuning.h"
#include "tiled/variation.h"

// The tiled engine: boxes of plain loops over elements of 1, 2, 4, 8 or 16 bytes, copied tile by tile with vector
// kernels. All numbers are bytes.
namespace relayout::tiled {

// A loop over tiles of `tile` steps out of `extent`; the last tile is moved back to end with the extent. Neighbours may
// have steps in common.
struct TileLoop {
    Int count, tile, extent;
    Pair step;
    Int shared = 0;

    Int at(Int index) const {
        const Int start = index * (tile - shared);
        return start < extent - tile ? start : extent - tile;
    }
};

enum class KernelKind {
    runs,
    padded_runs,
    transpose,
    widened_transpose,
    interleave,
    deinterleave,
    scatter,
    gather,
    permute,
    fill
};

// One call of a kernel. Offsets are relative to the tile; rows and columns are places in the tables of the pass.
// What is written goes either into the target or into a staging buffer, where it lies otherwise.
struct KernelCall {
    KernelKind kind;
    int width;       // logarithm of the bytes of an element
    bool scattered;  // columns are no neighbours in the target, and rows may be read twice
    Int source, target, staged;
    Repeat strip, staged_strip;
    Repeat repeat, staged_repeat;
    Int count, length, height;
    Int valid;  // bytes of a run, or of a block, that are read; ways of a deinterleave that are used
    std::size_t rows, columns, staged_columns;
    // How far apart the columns of a transpose lie, if equally far; else 0. The same of its rows. Where columns share
    // sets of the first-level cache, they are written `down`, one after the other. Where already those of a block do,
    // its rows are collected side by side first, and its columns spread out last.
    Int column_step, staged_column_step, row_step;
    bool down, collected, spread;
    bool in_blocks;  // a transpose by blocks that stay in registers,
    bool wide;       // of the widest vectors
};

// A contiguous part of the target that a tile fills.
struct Segment {
    Int target, staged, length;
};

// Segments of one length that lie equally far apart on both sides: the first, and the strip from the staging buffer.
struct SegmentStrip {
    Segment first;
    Repeat strip;
};

// The tables of the gathers of a pass.
struct Gather {
    std::vector<GatherGroup> groups;
    std::vector<GatherVector> vectors;
    std::vector<GatherPlaces> places;
    std::vector<ByteMask> picked;
    std::vector<Int> sources, lines;
    // Where rows of the source become columns of a scratch memory first: elements of which width, by its logarithm, and
    // how far apart rows lie, if equally far.
    std::vector<Int> rows, columns;
    int width = 0;
    Int row_step = 0;

    GatherTables tables() const {
        return {groups.data(),  Int(groups.size()),  vectors.data(), places.data(),    picked.data(),
                sources.data(), Int(vectors.size()), lines.data(),   Int(lines.size())};
    }
};

// One pass over both memories: a tile, and the loops that repeat it, the slowest first.
struct Pass {
    Pair offset{0, 0};
    std::vector<TileLoop> loops;
    std::vector<KernelCall> calls;
    std::vector<Segment> segments;
    std::vector<SegmentStrip> strips;  // the same, where they are staged in the cache
    std::vector<Int> tables;
    std::shared_ptr<const Gather> gather;      // where calls gather
    std::shared_ptr<const BlockPlaces> block;  // where they permute
    double speed = unknown_speed;              // about so many bytes in a nanosecond, where that is little
    Int tiles = 1;
    Int tile_bytes = 0;                 // of the target
    Int staged_bytes = 0;               // of the staging buffer; 0 if the tile cannot be staged
    bool padded = false;                // the staging buffer holds padding between the elements
    bool shifted = false;               // columns are long enough to be written in whole lines wherever they start
    bool long_runs = false;             // no line is shared but at the ends of long runs
    std::shared_ptr<const Pass> outer;  // how a tile gets from a scratch memory to the target, if it takes two steps
    std::shared_ptr<const Pass> inner;  // how it comes there, or into the staging buffer, if tiles are slabs,
    std::vector<Int> lines;             // and where one is read, a cache line apart;
    std::vector<Int> rows;              // or the rows that are collected side by side first,
    Int row_bytes = 0, row_pitch = 0;   // of so many bytes each, and so far apart then;
    std::optional<std::size_t> along;   // the loop that segments go on by, if they do
    bool whole_lines = false;  // every segment is made of whole cache lines, if the target's offset 0 is at one
};

struct ByteRange {
    Int low, high;  // from low to before high
};

// How boxes of equal dimensions are copied from one memory to another.
class TiledProgram {
public:
    // `width` bytes for each element; `fill` holds 16 bytes of the repeated padding, or is null. With a conversion,
    // which has one scale for all elements, all counts bytes of the source's elements, in the target too, and there is
    // no padding. Throws std::invalid_argument for what there is no program for.
    TiledProgram(int width, Pair start, std::vector<Dim> dims, const Byte *fill, std::optional<Conversion> conversion,
                 const Tuning &tuning = {});

    // Copies everything; the memories are as large as the ranges say, and apart. False if the conversion refuses a
    // value.
    bool run(const Byte *source, Byte *target, int threads) const;

    Int chunks() const { return (bytes_ + chunk_bytes - 1) / chunk_bytes; }

    ByteRange source_range() const { return source_; }
    ByteRange target_range() const;
    Int bytes() const { return bytes_; }

    // The passes for a target whose offset 0 is at a cache line, or anywhere, of a variation: the first is what the
    // rules say.
    const std::vector<Pass> &passes(bool aligned, int variation = 0) const;

    // How many variations there are, and which one was kept for a target that starts so; the first, as long as none is.
    int variations() const;
    int kept_variation(bool aligned) const { return trials_[aligned].kept(); }

    // Whether a pass that is large enough writes by non-temporal stores.
    bool is_nontemporal(const Pass &pass) const;

private:
    friend class TiledCopy;

    std::vector<Pass> compile(bool aligned, Variation how) const;
    bool repeats(bool aligned, int variation) const;
    bool is_large() const { return bytes_ >= tuning_.nontemporal_from; }

    // Copies the chunks from `begin` to before `end`, each about chunk_bytes.
    bool run(const std::vector<Pass> &passes, const Byte *source, Byte *target, int threads, Int begin, Int end) const;

    int width_;
    Tuning tuning_;
    Pair start_;
    std::vector<Dim> dims_;
    std::optional<Conversion> conversion_;
    alignas(64) Byte fill_[64];
    ByteRange source_, target_;
    Int bytes_;
    mutable std::once_flag compiled_[2][max_variations];
    mutable std::vector<Pass> passes_[2][max_variations];
    mutable Trials trials_[2];
};

// A copy of a program, all by one variation: chunks of two are not the same.
class TiledCopy {
public:
    // By the variation whose turn it is.
    TiledCopy(const TiledProgram &program, const Byte *source, Byte *target, int threads);

    TiledCopy(const TiledProgram &program, const Byte *source, Byte *target, int threads, int variation);

    // Copies the chunks from `begin` to before `end`. False if the conversion refuses a value.
    bool run(Int begin, Int end) const;

    // All chunks are copied.
    void finish() const;

private:
    const TiledProgram &program;
    const Byte *source;
    Byte *target;
    int threads;
    bool aligned, timed;
    int variation;
    std::chrono::steady_clock::time_point start;
};

}  // namespace relayout::tiled
