#pragma once
// Checks imported trees on the labelled queries of a run.
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/labelled/labelled_data.h"

namespace sortition {

// Compares the scores of the trees of the frame with those of
// options.check_scores, one for each line of options.data. They are equal if
// they differ by at most 1e-6 · max(1, |score|), or 5e-6 if the file has no
// score of more than 6 digits, as XGBoost's command line prints. Returns a
// sentence for the report. InvalidArgument for the first row that differs, with
// both scores and the most likely cause; if there are no trees; and as
// ReadScores().
absl::StatusOr<std::string> CheckTreeScores(
    const config::v1::TrainOptions& options, const LabelledData& data);

// Returns a warning if options.trees were imported and order the validation
// queries no better than chance: the mean share of pairs of different relevance
// in the correct order, ties counting half, is not above 1/2 with a confidence
// of 95 % (one-sided, normal). Empty otherwise.
std::string WarnIfNoBetterThanChance(const config::v1::TrainOptions& options,
                                     const LabelledData& data);

}  // namespace sortition
