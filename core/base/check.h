#pragma once
// Assertions about our own invariants, never about data from outside.
#include <cstdio>
#include <cstdlib>

namespace sortition::internal {

[[noreturn]] inline void CheckFailed(const char* file, int line,
                                     const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace sortition::internal

// Also in release builds.
#define CHECK(condition)      \
  ((condition)                \
       ? static_cast<void>(0) \
       : ::sortition::internal::CheckFailed(__FILE__, __LINE__, #condition))

// For inner loops: compiled out with NDEBUG.
#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(0)
#else
#define DCHECK(condition) CHECK(condition)
#endif
