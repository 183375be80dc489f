#pragma once
// Frees large memory in a way that other threads do not feel.
#include <cstddef>

namespace sortition {

// Gives the whole pages within the block back to the system, a few at a time.
// What stood there is lost: for a block that is about to be freed, whatever its
// type, if its destructor does not look at it. To free hundreds of megabytes at
// once takes a tenth of a second, in which every thread that needs new memory
// waits.
void ReleasePages(const void* data, size_t bytes);

}  // namespace sortition
