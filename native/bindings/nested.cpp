#include "bindings/module.h"

#include <vector>

namespace {

bool is_tuple(PyObject *x) { return PyTuple_CheckExact(x); }

void append_leaves(PyObject *tuple, std::vector<PyObject *> &leaves) {
    const Py_ssize_t n = PyTuple_Size(tuple);
    for (Py_ssize_t k = 0; k < n; ++k) {
        PyObject *entry = PyTuple_GetItem(tuple, k);
        if (is_tuple(entry))
            append_leaves(entry, leaves);
        else
            leaves.push_back(entry);
    }
}

nb::object flatten(nb::handle t) {
    PyObject *x = t.ptr();
    std::vector<PyObject *> leaves;
    if (!is_tuple(x)) {
        leaves.push_back(x);
    } else {
        const Py_ssize_t n = PyTuple_Size(x);
        Py_ssize_t k = 0;
        while (k < n && !is_tuple(PyTuple_GetItem(x, k))) ++k;
        if (k == n) return nb::borrow(t);
        append_leaves(x, leaves);
    }
    PyObject *flat = PyTuple_New(Py_ssize_t(leaves.size()));
    if (!flat) throw nb::python_error();
    for (std::size_t k = 0; k < leaves.size(); ++k) {
        Py_INCREF(leaves[k]);
        PyTuple_SetItem(flat, Py_ssize_t(k), leaves[k]);
    }
    return nb::steal(flat);
}

nb::object product(nb::handle t) {
    PyObject *x = t.ptr();
    if (!is_tuple(x)) return nb::borrow(t);
    const Py_ssize_t n = PyTuple_Size(x);
    if (n == 0) return nb::int_(1);
    nb::object result = product(PyTuple_GetItem(x, 0));
    for (Py_ssize_t k = 1; k < n; ++k) {
        const nb::object factor = product(PyTuple_GetItem(x, k));
        PyObject *next = PyNumber_Multiply(result.ptr(), factor.ptr());
        if (!next) throw nb::python_error();
        result = nb::steal(next);
    }
    return result;
}

bool is_size(PyObject *x) {
    if (!PyLong_CheckExact(x)) return false;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
    return overflow > 0 || (overflow == 0 && value >= 0);
}

constexpr int max_depth = 64;

bool is_plain(PyObject *shape, PyObject *stride, int level) {
    if (!is_tuple(shape)) return is_size(shape) && PyLong_CheckExact(stride);
    if (!is_tuple(stride) || level == max_depth) return false;
    const Py_ssize_t n = PyTuple_Size(shape);
    if (PyTuple_Size(stride) != n) return false;
    for (Py_ssize_t k = 0; k < n; ++k)
        if (!is_plain(PyTuple_GetItem(shape, k), PyTuple_GetItem(stride, k), level + 1)) return false;
    return true;
}

bool is_plain_pair(nb::handle shape, nb::handle stride) { return is_plain(shape.ptr(), stride.ptr(), 0); }

}  // namespace

void bind_nested(nb::module_ &m) {
    m.def("flatten", &flatten, nb::arg().none(), "The leaves of a nested tuple from left to right.");
    m.def("product", &product, nb::arg().none(), "The product of all leaves; 1 for the empty tuple.");
    m.def("is_plain_pair", &is_plain_pair, nb::arg().none(), nb::arg().none(),
          "Whether both are integers, or congruent tuples of them, with sizes >= 0.");
}
