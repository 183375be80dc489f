// The corpus of each fuzz target, through the function that the fuzzer calls.
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class CorpusTest : public testing::TestWithParam<std::string> {};

TEST_P(CorpusTest, EveryFileHoldsTheInvariants) {
  const FuzzTarget target = FuzzTargets().at(GetParam());
  const std::string corpus = absl::StrCat(SORTITION_CORPUS, "/", GetParam());
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(corpus));
  EXPECT_GE(names.size(), 4u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const std::string bytes,
                         ReadFile(absl::StrCat(corpus, "/", name)));
    const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
    target(data, bytes.size());
    // Also cut in the middle: an input need not be whole.
    target(data, bytes.size() / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest,
                         testing::Values("csv", "dsjson", "frames", "join",
                                         "jsonl", "letor", "model", "obd",
                                         "request", "segments", "tree_models"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace sortition
