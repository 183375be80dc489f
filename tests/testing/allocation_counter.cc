#include "tests/testing/allocation_counter.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> num_allocations = 0;
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// A sanitizer checks operator new and delete, so they are not replaced.
extern "C" int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, size_t),
    void (*free_hook)(const volatile void*));

namespace {
[[maybe_unused]] const int installed =
    __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, size_t) {
          num_allocations.fetch_add(1, std::memory_order_relaxed);
        },
        [](const volatile void*) {});
}  // namespace

#else

// Not inlined: GCC would see only half of a pair and warn. The forms that are
// not here call these.
[[gnu::noinline]] void* operator new(size_t size,
                                     const std::nothrow_t&) noexcept {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

#endif

namespace sortition {

int64_t NumAllocations() { return num_allocations.load(); }

}  // namespace sortition
