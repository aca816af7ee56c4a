#pragma once

// One thread's way through the tiles of a step: where each is, what is asked for ahead, and the kernels that copy it.

#include <algorithm>
#include <cstring>

#include "tiled/program.h"
#include "kernels/kernels.h"

namespace relayout {

constexpr Int prefetch_bytes = 16 << 10;     // how far ahead the source is asked for
constexpr Int slices_wanted = 16;
constexpr std::size_t max_loops = 64;
constexpr Int staging_bytes = 1 << 17;

// Where in both memories the tile with some number is.
class Cursor {
public:
    Int source, target;

    Cursor(const Step &step, Int number) : source(step.source), target(step.target), outer(step.outer) {
        for (std::size_t d = outer.size(); d-- > 0;) {
            index[d] = number % outer[d].count;
            number /= outer[d].count;
            const Int at = outer[d].at(index[d]);
            source += at * outer[d].source;
            target += at * outer[d].target;
        }
    }

    void advance() {
        for (std::size_t d = outer.size(); d-- > 0;) {
            const Outer &loop = outer[d];
            const Int before = loop.at(index[d]);
            const bool carry = ++index[d] == loop.count;
            if (carry) index[d] = 0;
            const Int moved = loop.at(index[d]) - before;
            source += moved * loop.source;
            target += moved * loop.target;
            if (!carry) return;
        }
    }

private:
    const std::vector<Outer> &outer;
    Int index[max_loops];
};

// The lines of a tile's target, asked for a few at a time.
class Touch {
public:
    Touch(const Step &step, const Kernels &k) : step(step), k(k), segment(step.segments.size()) {}

    void start(Byte *target) {
        to = target;
        segment = 0;
        done = 0;
    }

    void some(Int bytes) {
        while (bytes > 0 && segment < step.segments.size()) {
            const Segment &s = step.segments[segment];
            const Int length = std::min(s.length - done, bytes);
            k.touch(to + s.target + done, length);
            bytes -= length;
            done += length;
            if (done < s.length) continue;
            done = 0;
            ++segment;
        }
    }

private:
    const Step &step;
    const Kernels &k;
    std::size_t segment;
    Int done = 0;
    Byte *to = nullptr;
};

// One thread's way through the tiles of a step.
class Walk {
public:
    Walk(const Step &step, const Byte *source, Byte *target, bool large, bool aligned, const Byte *fill,
         const Converter *converter, Int width)
        : step(step), k(kernels()), source(source), target(target), large(large), fill(fill), coming(step, k),
          converter(converter), width(width) {
        staged = step.padded || converter;
        stream = large && !staged && (step.long_runs || (aligned && step.streams));
        shifted = large && !stream && !staged && step.shifted;
        touched = large && !stream && !staged && !shifted;
    }

    void run(Int first, Int last) {
        alignas(64) static thread_local Byte buffer[staging_bytes];
        staging = buffer;
        if (step.padded) k.fill(staging, step.staged_bytes, fill);
        Cursor here(step, first);
        if (!large) {
            for (Int i = first; i < last; ++i, here.advance()) tile(source + here.source, here.target);
            return;
        }
        const Int distance = std::max<Int>(prefetch_bytes / std::max<Int>(step.tile_bytes, 1), 1);
        Cursor next(step, std::min(first + distance, step.iterations - 1));
        for (Int i = first; i < last; ++i, here.advance()) {
            const bool more = i + distance < step.iterations;
            ahead = more ? next.source - here.source : 0;
            if (touched && more) coming.start(target + next.target);
            tile(source + here.source, here.target);
            if (more) next.advance();
        }
        if (stream || staged || shifted) k.fence();
    }

private:
    const Step &step;
    const Kernels &k;
    const Byte *source;
    Byte *target;
    bool large;
    const Byte *fill;
    Touch coming;
    const Converter *converter;
    Int width;
    bool stream, staged, shifted, touched;
    Int ahead = 0;
    Byte *staging = nullptr;

    void tile(const Byte *s, Int at) {
        for (const Op &op : step.ops) {
            if (staged)
                apply(op, s + op.source, staging + op.staged, op.staged_repeat, op.rows, op.height);
            else if (touched)
                in_slices(op, s + op.source, target + at + op.target);
            else
                apply(op, s + op.source, target + at + op.target, op.repeat, op.rows, op.height);
        }
        if (!staged) return;
        for (const Segment &segment : step.segments) {
            const Byte *from = staging + segment.staged;
            const Int to = at + segment.target;
            if (converter)
                converter->run(from, target + to / width * converter->target_bytes(), segment.length / width);
            else if (large)
                k.flush(from, target + to, segment.length);
            else
                std::memcpy(target + to, from, std::size_t(segment.length));
        }
    }

    // Between the slices of an op, a part of the lines that a later tile writes is asked for.
    void in_slices(const Op &op, const Byte *s, Byte *t) {
        const bool tall = op.kind == Kind::transpose;
        const Int rows = tall ? std::max<Int>(line >> op.width, 1) : std::max<Int>(op.height, 1);
        const Int height = std::max<Int>(op.height, 1);
        const Int times = tall ? 1 : std::max<Int>(op.repeat.count * Int(step.ops.size()) / slices_wanted, 1);
        const Int slices = Int(step.ops.size()) * ((op.repeat.count + times - 1) / times) * std::max<Int>(height / rows, 1);
        const Int share = step.tile_bytes / slices + 1;
        for (Int r = 0; r < op.repeat.count; r += times) {
            const Repeat part{std::min(times, op.repeat.count - r), op.repeat.source, op.repeat.target};
            for (Int h = 0; h < height;) {
                const Int here = height - h >= 2 * rows ? rows : height - h;
                apply(op, s + r * op.repeat.source, t + r * op.repeat.target + (tall ? h << op.width : 0), part,
                      op.rows + std::size_t(tall ? h : 0), here);
                coming.some(share);
                h += here;
            }
        }
    }

    void apply(const Op &op, const Byte *s, Byte *t, const Repeat &repeat, std::size_t row, Int height) const {
        const Int *rows = step.tables.data() + row;
        const Int *columns = step.tables.data() + (staged ? op.staged_columns : op.columns);
        const Repeat &strip = staged ? op.staged_strip : op.strip;
        switch (op.kind) {
            case Kind::runs: return k.runs(s, t, strip, op.length, repeat, stream, ahead);
            case Kind::padded_runs:
                return k.padded_runs(s, t, strip, op.valid, op.length, fill, repeat, stream, ahead);
            case Kind::transpose:
                return (shifted ? k.shifted : k.transpose)[op.width](s, rows, height, t, columns, op.count, repeat, stream, op.scattered, ahead);
            case Kind::weave: return k.weave[op.width](s, t, rows, int(height), op.count, repeat, stream, ahead);
            case Kind::unweave: 
                return k.unweave[op.width](s, t, columns, int(height), int(op.valid), op.count, repeat, stream, ahead);
            case Kind::scatter: return k.scatter[op.width](s, t, strip, repeat);
            case Kind::fill:
                for (Int i = 0; i < strip.count; ++i, t += strip.target) k.fill(t, op.length, fill);
        }
    }
};

}  // namespace relayout
