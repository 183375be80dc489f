#pragma once
// Vectors of words in word2vec's text format: a line "<words> <size>", then a
// word and `size` numbers a line, with spaces between.
#include <string>

#include "absl/status/statusor.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Reads at most `most_words` words (0: all), which are folded; of words that
// are equal then, the first counts. InvalidArgument naming file, line and
// column where a line is not of the form, a number is not finite, or the size
// is not within [1, 4096].
absl::StatusOr<model::v1::WordVectors> ReadWordVectors(const std::string& path,
                                                       uint64_t most_words);

}  // namespace sortition
