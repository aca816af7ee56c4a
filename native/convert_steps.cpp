#include "isa.h"

namespace relayout::RELAYOUT_ISA_NAMESPACE {}
