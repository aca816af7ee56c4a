#include "bindings/tiled.h"

#include <structmember.h>

namespace {

// The base of plans, NativeCallable. A call runs the program, if there is one for its arguments, and else `_run` of the
// plan. It is no class of nanobind, since for small copies most of the time is the call.
struct CallableObject {
    PyObject_HEAD
    PyObject *program;
};

PyTypeObject *program_type = nullptr;

// numpy.ndarray, or null as long as nobody has imported numpy.
PyObject *array_type() {
    static PyObject *found = nullptr;
    if (found) return found;
    PyObject *numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    if (numpy) found = PyObject_GetAttrString(numpy, "ndarray");
    PyErr_Clear();
    return found;
}

// Whether an object is its memory and no more. Arrays of classes that add to it, such as a mask, are left to Python.
bool is_plain(PyObject *x) {
    return reinterpret_cast<PyObject *>(Py_TYPE(x)) == array_type() || PyMemoryView_Check(x) || PyByteArray_Check(x) ||
           PyBytes_Check(x);
}

// Python makes and names the error, if there is one; only an interrupt is raised here.
bool run_program(PyObject *program, PyObject *x, PyObject *out) noexcept {
    try {
        return is_plain(x) && is_plain(out) && nb::inst_ptr<TiledProgramObject>(program)->call_default(x, out);
    } catch (nb::python_error &error) {
        error.restore();
        return false;
    } catch (const std::exception &) {
        return false;
    }
}

PyObject *callable_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *program = reinterpret_cast<CallableObject *>(self)->program;
    if (program && Py_TYPE(program) == program_type) {
        PyObject *x = nullptr, *out = nullptr;
        const Py_ssize_t given = PyTuple_Size(args), named = kwargs ? PyDict_Size(kwargs) : 0;
        if (given == 2 && named == 0) {
            out = PyTuple_GetItem(args, 1);
        } else if (given == 1 && named == 1) {
            static PyObject *word = PyUnicode_InternFromString("out");
            out = PyDict_GetItemWithError(kwargs, word);
            if (!out && PyErr_Occurred()) return nullptr;
        }
        if (out && out != Py_None) {
            x = PyTuple_GetItem(args, 0);
            if (run_program(program, x, out)) {
                Py_INCREF(out);
                return out;
            }
            if (PyErr_Occurred()) return nullptr;
        }
    }
    PyObject *run = PyObject_GetAttrString(self, "_run");
    if (!run) return nullptr;
    PyObject *result = PyObject_Call(run, args, kwargs);
    Py_DECREF(run);
    return result;
}

void callable_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<CallableObject *>(self)->program);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject *callable_type() {
    static PyMemberDef members[] = {{"_program_with_fill", T_OBJECT, offsetof(CallableObject, program), 0, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(callable_call)},
                                  {Py_tp_dealloc, reinterpret_cast<void *>(callable_dealloc)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec = {"relayout._native.NativeCallable", sizeof(CallableObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject *type = PyType_FromSpec(&spec);
    if (!type) throw nb::python_error();
    return type;
}

}  // namespace

void bind_callable(nb::module_ &m) {
    program_type = reinterpret_cast<PyTypeObject *>(m.attr("TiledProgram").ptr());
    m.attr("NativeCallable") = nb::steal(callable_type());
}
