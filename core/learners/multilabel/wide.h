#pragma once
// Runs loops with the widest vectors that this processor has.

namespace sortition::internal {

#if defined(__x86_64__)
template <typename Body>
__attribute__((target("avx2"))) void RunAvx2(const Body& body) {
  body();
}
#endif

// Calls `body`, a lambda marked SORTITION_WIDE so that it is compiled for each
// kind of processor. All kinds perform the same operations in the same order
// and never fuse them, so the bits are the same.
#define SORTITION_WIDE __attribute__((always_inline))
template <typename Body>
void RunWide(const Body& body) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return RunAvx2(body);
#endif
  body();
}

}  // namespace sortition::internal
