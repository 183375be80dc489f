#pragma once
#include <sys/types.h>

namespace sortition {

// Returns the umask of this process. Unlike umask(2), it does not change the
// umask for a moment, so that other threads may create files meanwhile. 022
// where the kernel does not show it.
mode_t ProcessUmask();

}  // namespace sortition
