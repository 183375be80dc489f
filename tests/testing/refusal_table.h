#pragma once
// Tables of refused options: a change of sound options, as text, and the error.
//   ExpectRefusals(sound, &ValidateOptions, {
//       {"lambda: -1", "lambda is -1, must be at least 0"},
//       {"k: 2 k: 3", "k has 2 values"}});
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"

namespace sortition {

struct Refusal {
  std::string change;   // Fields in text format; repeated ones are appended.
  std::string message;  // A part of the error.
};

// Returns `options` with the fields that `change` sets, in text format.
template <typename Options>
Options With(Options options, const std::string& change) {
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(change, &options))
      << change;
  return options;
}

// `check` returns the status of options; it must take the sound ones.
template <typename Options, typename Check>
void ExpectRefusals(const Options& sound, const Check& check,
                    const std::vector<Refusal>& refusals) {
  EXPECT_OK(check(sound));
  for (const auto& [change, message] : refusals) {
    SCOPED_TRACE(change);
    EXPECT_THAT(check(With(sound, change)), IsInvalidArgument(message));
  }
}

}  // namespace sortition
