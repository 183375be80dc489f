#include "bench/papers/poem/label_experiment.h"

#include <algorithm>
#include <limits>
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

// The score of a label that is never drawn: its probability is exactly 0.
constexpr double kNever = -1000;

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

absl::StatusOr<Eigen::VectorXd> FitWithC(const LabelledContexts& data,
                                         std::span<const uint32_t> rows,
                                         double c) {
  return FitLabels(data, rows, 1 / (2 * c * static_cast<double>(rows.size())),
                   config::v1::LbfgsOptions());
}

// Gives each label that none of `rows` has the score `score`, by the constant
// feature.
void SetUnseen(const LabelledContexts& data, std::span<const uint32_t> rows,
               double score, Eigen::VectorXd* parameters) {
  const uint32_t q = data.contexts.num_labels;
  const uint32_t p = data.contexts.num_features;
  for (uint32_t l = 0; l < q; ++l) {
    if (std::any_of(rows.begin(), rows.end(), [&](uint32_t row) {
          return data.labels[size_t{row} * q + l] == 1;
        })) {
      continue;
    }
    for (uint32_t j = 0; j < p; ++j) {
      (*parameters)[Eigen::Index{j} * q + l] = j + 1 == p ? score : 0;
    }
  }
}

// Returns the rows `which` of `data`.
LabelledContexts RowsOf(const LabelledContexts& data,
                        std::span<const uint32_t> which) {
  LabelledContexts part;
  const LabelContexts& all = data.contexts;
  part.contexts.num_features = all.num_features;
  part.contexts.num_labels = all.num_labels;
  for (const uint32_t row : which) {
    for (uint64_t k = all.row_offsets[row]; k < all.row_offsets[row + 1]; ++k) {
      part.contexts.columns.push_back(all.columns[k]);
      part.contexts.values.push_back(all.values[k]);
    }
    part.contexts.row_offsets.push_back(part.contexts.values.size());
    const auto labels =
        data.labels.begin() + static_cast<ptrdiff_t>(row) * all.num_labels;
    part.labels.insert(part.labels.end(), labels, labels + all.num_labels);
  }
  return part;
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
  ASSIGN_OR_RETURN(Eigen::VectorXd h0, FitWithC(train, rows, options.c));
  h0 *= options.inverse_temperature;
  Eigen::VectorXd counted = h0;
  if (options.skips_unseen_labels) {
    SetUnseen(train, rows, kNever, &h0);
    SetUnseen(train, rows, 0, &counted);
  }
  const LabelTuples tuples = DrawTuples(
      train, h0,
      {.replays = options.replays, .seed = static_cast<uint64_t>(run)});
  const std::vector<uint32_t> order = Shuffled(tuples.size(), "split", run);
  const auto size =
      static_cast<size_t>(kValidationShare * static_cast<double>(order.size()));
  const uint32_t q = train.contexts.num_labels;
  auto log = std::unique_ptr<LabelLog>(new LabelLog(data));
  log->logging_ = MeanHammingLosses(data.test, counted);
  log->logging_parameters_ = h0;
  log->validation_tuples_ = PartOf(tuples, std::span(order).first(size), q);
  log->train_tuples_ = PartOf(tuples, std::span(order).subspan(size), q);
  ASSIGN_OR_RETURN(log->train_, MakePolicy(train.contexts, log->train_tuples_));
  ASSIGN_OR_RETURN(log->validation_,
                   MakePolicy(train.contexts, log->validation_tuples_));
  return log;
}

absl::StatusOr<HammingLosses> Skyline(const LabelData& data, int run) {
  const std::vector<uint32_t> rows =
      Shuffled(data.train.contexts.size(), "skyline", run);
  const auto size =
      static_cast<size_t>(kValidationShare * static_cast<double>(rows.size()));
  const LabelledContexts validation =
      RowsOf(data.train, std::span(rows).first(size));
  double best = std::numeric_limits<double>::infinity();
  HammingLosses losses;
  for (const double c : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
    ASSIGN_OR_RETURN(const Eigen::VectorXd parameters,
                     FitWithC(data.train, std::span(rows).subspan(size), c));
    const double map = MeanHammingLosses(validation, parameters).map;
    if (map >= best) continue;
    best = map;
    losses = MeanHammingLosses(data.test, parameters);
  }
  return losses;
}

}  // namespace sortition
