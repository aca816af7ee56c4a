#pragma once

#include <string>

#include "bindings/module.h"
#include "tiled/program.h"

// What Python calls TiledProgram: a program, and which buffers it takes.
class TiledProgramObject {
public:
    // What a call comes to; Python turns everything but `done` into an error or another way.
    enum Outcome { done, unsuitable, read_only, too_short, overlapping, refused };

    // Offsets and loops of the dims count elements of `width` bytes. `formats` are those of the buffer protocol, each
    // between spaces.
    TiledProgramObject(int width, relayout::Int source, relayout::Int target, nb::sequence dims, nb::object fill,
                       const std::string &formats, relayout::Int nontemporal_from, nb::object convert,
                       const std::string &target_formats, int threads);

    // With 0 threads, as many as relayout::default_threads tells.
    int call(nb::handle x, nb::handle out, int threads) const;

    // For memory that is known to hold the elements, whatever its shape; the target is `room` from byte `start` on.
    // False where it is not done, which `call` has the reason of.
    bool call_untyped(nb::handle x, nb::handle room, relayout::Int start) const;

    bool call_default(PyObject *x, PyObject *out) const { return call(x, out, threads_) == done; }

    nb::list passes(bool aligned) const;

private:
    int copy(const relayout::Byte *a, relayout::Int a_size, relayout::Byte *b, relayout::Int b_size, int threads) const;

    int threads_;
    std::string formats_, target_formats_;
    relayout::tiled::TiledProgram program_;
};
