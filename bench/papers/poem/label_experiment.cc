#include "bench/papers/poem/label_experiment.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/support/label_part.h"
#include "bench/support/shuffle.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "io/datasets/multilabel.h"

namespace sortition {
namespace {

constexpr double kValidationShare = 0.25;

std::vector<uint32_t> Shuffled(size_t n, const std::string& what, int run) {
  std::vector<uint32_t> order = IndexesUpTo<uint32_t>(n);
  RandomSequence random(
      StableHash(HashDomain::kTraining, {what, absl::StrCat(run)}));
  Shuffle<uint32_t>(order, &random);
  return order;
}

absl::StatusOr<std::unique_ptr<LabelsPolicy>> MakePolicy(
    const LabelContexts& contexts, const LabelTuples& tuples) {
  ASSIGN_OR_RETURN(LabelsPolicy policy, LabelsPolicy::Create(contexts, tuples));
  return std::make_unique<LabelsPolicy>(std::move(policy));
}

}  // namespace

absl::StatusOr<LabelData> ReadLabelData(const std::string& train,
                                        const std::string& test) {
  ASSIGN_OR_RETURN(const MultilabelData train_data, ReadMultilabel(train));
  ASSIGN_OR_RETURN(const MultilabelData test_data, ReadMultilabel(test));
  const ContextShape shape{
      .num_features = std::max(train_data.num_features, test_data.num_features),
      .num_labels = std::max(train_data.num_labels, test_data.num_labels),
      .keep_zeros = true};
  return LabelData{ToLabelledContexts(train_data, shape),
                   ToLabelledContexts(test_data, shape)};
}

absl::StatusOr<std::unique_ptr<LabelLog>> LabelLog::Draw(
    const LabelData& data, const LogOptions& options, int run) {
  const LabelledContexts& train = data.train;
  std::vector<uint32_t> rows =
      Shuffled(train.contexts.size(), "logging policy", run);
  rows.resize(std::max<size_t>(
      1, static_cast<size_t>(options.fraction *
                             static_cast<double>(rows.size()))));
  ASSIGN_OR_RETURN(Eigen::VectorXd h0, FitLabels(train, rows, options.l2,
                                                 config::v1::LbfgsOptions()));
  h0 *= options.inverse_temperature;
  const LabelTuples tuples = DrawTuples(
      train, h0,
      {.replays = options.replays, .seed = static_cast<uint64_t>(run)});
  const std::vector<uint32_t> order = Shuffled(tuples.size(), "split", run);
  const auto size =
      static_cast<size_t>(kValidationShare * static_cast<double>(order.size()));
  const uint32_t q = train.contexts.num_labels;
  auto log = std::unique_ptr<LabelLog>(new LabelLog(data));
  log->logging_ = MeanHammingLosses(data.test, h0);
  log->logging_parameters_ = h0;
  log->validation_tuples_ = PartOf(tuples, std::span(order).first(size), q);
  log->train_tuples_ = PartOf(tuples, std::span(order).subspan(size), q);
  ASSIGN_OR_RETURN(log->train_, MakePolicy(train.contexts, log->train_tuples_));
  ASSIGN_OR_RETURN(log->validation_,
                   MakePolicy(train.contexts, log->validation_tuples_));
  return log;
}

}  // namespace sortition
