#include "io/memory_release.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace sortition {

void ReleasePages(const void* data, size_t bytes) {
  constexpr size_t kSlice = size_t{4} << 20;
  if (bytes < kSlice) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + bytes) / page * page;
  for (uintptr_t place = first; place < last; place += kSlice) {
    // A failure changes nothing: the block is freed as it is.
    madvise(reinterpret_cast<void*>(place),
            std::min<uintptr_t>(kSlice, last - place), MADV_DONTNEED);
  }
}

}  // namespace sortition
