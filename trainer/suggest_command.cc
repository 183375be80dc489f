// Implements the command that drafts features.
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/suggest/column_sources.h"
#include "trainer/trainer_commands.h"

namespace sortition {
namespace {

absl::StatusOr<ColumnSource> Describe(
    const config::v1::SuggestFeaturesOptions& options) {
  const bool has_data = options.data_size() > 0;
  if (has_data == !options.tuples().empty()) {
    return UsageError("one of --tuples and --data must be set");
  }
  if (has_data) {
    return DescribeFiles(FilesOf(options.data()), options.max_queries());
  }
  config::v1::TrainOptions read;
  read.set_tuples(options.tuples());
  read.set_model(options.model());
  read.set_mix_joins(options.mix_joins());
  read.set_scratch(options.scratch());
  // Columns do not depend on feedback.
  read.set_allow_incomplete(true);
  return DescribeTuples(read, options.max_queries());
}

}  // namespace

absl::Status RunSuggestFeatures(
    const config::v1::SuggestFeaturesOptions& options,
    const std::vector<std::string>&, CommandOutput* output) {
  ASSIGN_OR_RETURN(const ColumnSource source, Describe(options));
  ASSIGN_OR_RETURN(
      const FeatureSuggestion suggestion,
      SuggestFrom(source, {.can_abstain = options.has_can_abstain()
                                              ? options.can_abstain()
                                              : source.can_abstain}));
  const std::string text = SuggestionText(suggestion, source.name);
  if (options.output() != "-") return WriteFile(options.output(), text);
  output->out << text;
  return absl::OkStatus();
}

}  // namespace sortition
