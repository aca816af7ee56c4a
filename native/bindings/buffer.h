#pragma once

#include "bindings/module.h"
#include "common/bytes.h"

// The contiguous memory of a Python object, held as long as this. Where there is none, Python's error is left set.
class BufferView {
public:
    BufferView(PyObject *object, bool writable, int flags)
        : held_(PyObject_GetBuffer(object, &buffer_, flags | (writable ? PyBUF_WRITABLE : 0)) == 0) {}
    ~BufferView() {
        if (held_) PyBuffer_Release(&buffer_);
    }
    BufferView(const BufferView &) = delete;
    BufferView &operator=(const BufferView &) = delete;

    bool held() const { return held_; }
    relayout::Byte *data() const { return static_cast<relayout::Byte *>(buffer_.buf); }
    relayout::Int size() const { return buffer_.len; }  // bytes
    int ndim() const { return buffer_.ndim; }
    const char *format() const { return buffer_.format ? buffer_.format : "B"; }

private:
    Py_buffer buffer_;
    bool held_;
};
