#pragma once

#include <memory>
#include <optional>

#include "tiled/tile_shape.h"

// A tile as its bytes, and the tables that gather them.
namespace relayout::tiled {

// Where each byte of a tile comes from, in the order of the staging buffer.
struct TileBytes {
    static constexpr Int no_source = INT64_MIN;  // of padding

    std::vector<Int> source;
    std::vector<Int> column;  // how far into a contiguous row of the source that is
    std::vector<Segment> segments;
    Int low = INT64_MAX, high = INT64_MIN;  // what lies between is memory of the source
    Int run;                                // the bytes of the source that lie together before any loop

    // Parts that fill `segment` bytes, before any loop.
    TileBytes(const std::vector<Box> &parts, Int segment, Int width);

    // The tile with all steps of the shape, whose chains begin with these bytes.
    TileBytes with_loops(const std::vector<Loop> &loops, const TileShape &shape) const;

    // Offsets that are a cache line apart wherever the source is read.
    std::vector<Int> lines() const;

private:
    void find_ends();
};

// The tables of a tile, and about how many nanoseconds a gather by them takes.
struct GatherOfTile {
    std::shared_ptr<Gather> gather;
    double cost;
};

// `even`: tiles are a multiple of a cache line apart in the source, so that windows may lie at lines.
GatherOfTile gather_directly(const TileBytes &tile, bool even);

// Rows become columns first, so that a vector has fewer windows; none where rows are not all as long, or too short.
std::optional<GatherOfTile> gather_turned(const TileBytes &tile, Int width);

}  // namespace relayout::tiled
