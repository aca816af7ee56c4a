#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "common/bytes.h"
#include "convert/converter.h"
#include "kernels/kernels.h"

namespace relayout {

// So many steps; each moves by a number of bytes in the source and in the target.
struct Loop {
    Int count, source, target;
};

// A full box of one dimension: from these offsets on, all combinations of the loops. Padding has no source.
struct Box {
    bool valid;
    Int source, target;
    std::vector<Loop> loops;
};

using Dim = std::vector<Box>;

// A loop over tiles of `tile` steps out of `extent`; the last tile is moved back to end with the extent.
struct Outer {
    Int count, tile, extent, source, target;

    Int at(Int index) const {
        const Int start = index * tile;
        return start < extent - tile ? start : extent - tile;
    }
};

enum class Kind { runs, padded_runs, transpose, weave, unweave, scatter, fill };

// What one kernel call does. Offsets are relative to the tile; rows and columns are places in the tables of the step.
// What is written goes either into the target or into a staging buffer, where it lies otherwise.
struct Op {
    Kind kind;
    int width;       // logarithm of the bytes of an element
    bool scattered;  // columns are no neighbours in the target, and rows may be read twice
    Int source, target, staged;
    Repeat strip, staged_strip;
    Repeat repeat, staged_repeat;
    Int count, length, height;
    Int valid;  // bytes of a run that are read; ways of an unweave that are used
    std::size_t rows, columns, staged_columns;
};

// A contiguous part of the target that a tile fills.
struct Segment {
    Int target, staged, length;
};

// One tile, and the loops that repeat it, the slowest first.
struct Step {
    Int source = 0, target = 0;
    std::vector<Outer> outer;
    std::vector<Op> ops;
    std::vector<Segment> segments;
    std::vector<Int> tables;
    Int iterations = 1;    // how many tiles
    Int tile_bytes = 0;    // of the target
    Int staged_bytes = 0;  // of the staging buffer; 0 if the tile cannot be staged
    bool padded = false;   // the staging buffer holds padding between the elements
    bool shifted = false;    // columns are long enough to be written in whole lines wherever they start
    bool long_runs = false;  // no line is shared but at the ends of long runs
    bool streams = false;  // every segment is made of whole lines, if the target's offset 0 is at a line
};

struct Reach {
    Int low, high;  // bytes: from low to before high
};

// How boxes of equal dimensions are copied from one memory to another.
class Program {
public:
    // `width` bytes for each element; `fill` holds 16 bytes of the repeated padding, or is null. From `stream_from` bytes
    // on, stores go around the cache. With a converter, all of the above counts bytes of the source's elements, in the
    // target too, and there is no padding.
    Program(int width, Int source, Int target, std::vector<Dim> dims, const Byte *fill, Int stream_from,
            std::unique_ptr<Converter> converter);

    // Copy everything; the memories are as large as the reaches say, and apart.
    void run(const Byte *source, Byte *target, int threads) const;

    Reach source_reach() const { return source_; }
    Reach target_reach() const;
    Int bytes() const { return bytes_; }
    const std::vector<Step> &steps(bool aligned) const;

private:
    std::vector<Step> compile(bool aligned) const;

    int width_;
    Int stream_from_;
    Int start_source_, start_target_;
    std::vector<Dim> dims_;
    std::unique_ptr<Converter> converter_;
    alignas(64) Byte fill_[64];
    Reach source_, target_;
    Int bytes_;
    mutable std::once_flag compiled_[2];
    mutable std::vector<Step> steps_[2];
};

}  // namespace relayout
