#pragma once
// Defines a fuzz target: FUZZ_TARGET(csv) { ... } is a function of `data` and
// `size`. Built for libFuzzer (SORTITION_FUZZ_PROGRAM), it is the entry point
// of the program. Otherwise it is listed in FuzzTargets(), and corpus_test.cc
// runs it on its corpus.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace sortition {

using FuzzTarget = void (*)(const uint8_t* data, size_t size);

// The targets of this program by name.
inline std::map<std::string, FuzzTarget>& FuzzTargets() {
  static auto* const targets = new std::map<std::string, FuzzTarget>;
  return *targets;
}

}  // namespace sortition

#ifdef SORTITION_FUZZ_PROGRAM
#define FUZZ_TARGET(name)                                                   \
  static void Fuzz_##name(const uint8_t* data, size_t size);                \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    Fuzz_##name(data, size);                                                \
    return 0;                                                               \
  }                                                                         \
  static void Fuzz_##name(const uint8_t* data, size_t size)
#else
#define FUZZ_TARGET(name)                                             \
  static void Fuzz_##name(const uint8_t* data, size_t size);          \
  static const bool is_listed_##name [[maybe_unused]] =               \
      ::sortition::FuzzTargets().emplace(#name, &Fuzz_##name).second; \
  static void Fuzz_##name(const uint8_t* data, size_t size)
#endif
