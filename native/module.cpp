#include "module.h"

NB_MODULE(_native, m) {
    bind_offsets(m);
    bind_nested(m);
    bind_general(m);
    bind_repack(m);
    bind_convert(m);
}
