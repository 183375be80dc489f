// The corpus of a fuzz target, through the same function as the fuzzer's.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sortition {
namespace {

TEST(CorpusTest, EveryFileHoldsTheInvariants) {
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(SORTITION_CORPUS));
  EXPECT_GE(names.size(), 4u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const std::string bytes,
                         ReadFile(absl::StrCat(SORTITION_CORPUS, "/", name)));
    const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
    EXPECT_EQ(LLVMFuzzerTestOneInput(data, bytes.size()), 0);
    // Also cut in the middle: an input need not be whole.
    EXPECT_EQ(LLVMFuzzerTestOneInput(data, bytes.size() / 2), 0);
  }
}

}  // namespace
}  // namespace sortition
