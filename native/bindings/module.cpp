#include "bindings/module.h"

NB_MODULE(_native, m) {
    // Plans that are still kept when Python ends are no leak.
    nb::set_leak_warnings(false);
    bind_offsets(m);
    bind_nested(m);
    bind_general(m);
    bind_tiled(m);
    bind_callable(m);
    bind_memory(m);
    bind_convert(m);
    bind_file_runs(m);
}
