#pragma once
// A format that tuples are written in, and what the formats share.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/columns/undeclared_columns.h"
#include "io/segments/decision_view.h"
#include "sortition/config/v1/log_files.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

class Exporter {
 public:
  virtual ~Exporter() = default;
  // Called with each tuple before the first Add(), until it returns false: for
  // formats whose first line depends on all tuples.
  virtual bool Survey(const log::v1::BanditTuple& /*tuple*/) { return false; }
  // Takes one tuple. Returns why it was left out; empty if it was written.
  virtual absl::string_view Add(const log::v1::BanditTuple& tuple) = 0;
  // Called once, after the last tuple.
  virtual absl::Status Finish() { return absl::OkStatus(); }
};

// These append lines to `out`, which others may empty between two tuples.
std::unique_ptr<Exporter> MakeJsonlExporter(std::string* out);
std::unique_ptr<Exporter> MakeDsjsonExporter(
    const config::v1::LogExportOptions& options, std::string* out);
std::unique_ptr<Exporter> MakeCsvExporter(
    const config::v1::LogExportOptions& options, std::string* out);
std::unique_ptr<Exporter> MakeSvmlightExporter(
    const config::v1::LogExportOptions& options, std::string* out);
// Writes options.output() itself.
absl::StatusOr<std::unique_ptr<Exporter>> MakeNpzExporter(
    const config::v1::LogExportOptions& options);

// A tuple whose candidates and action are well-formed.
struct TupleView {
  const log::v1::BanditTuple& tuple;
  const log::v1::Decision& decision;
  DecisionView query;
  const UndeclaredColumns* columns;  // Null where there are features.
  // By document_index: the rank in the action, from 1; 0: it was not chosen.
  // Members of a subset all have 1.
  std::vector<uint32_t> chosen;

  double propensity() const;
  bool is_abstained() const;
  // Logarithm of the probability of rank `rank`, from 0, given those above it;
  // nothing if that was not logged.
  std::optional<double> ConditionalLogPropensity(uint32_t rank) const;
  // What came of a rank alone; null if nothing.
  const log::v1::RankReward* RewardOfRank(uint32_t rank) const;
};

// Fills in TupleView::chosen. Returns why the action cannot be written so;
// empty if it can.
absl::string_view FindChosen(const log::v1::Decision& decision,
                             const DecisionView& query,
                             std::vector<uint32_t>* chosen);

// Why a tuple with another number of features than the first has no line.
inline constexpr absl::string_view kOtherFeatures =
    "another number of features than the first tuple";

// Why a tuple with named columns is left out of a format without them.
inline constexpr absl::string_view kNamedColumns =
    "named columns, which csv, dsjson and jsonl have";

// Returns `use(view)`, or why the tuple has no view. Named columns are bound to
// `columns`; null: the format does not have them.
template <typename Use>
absl::string_view WithView(const log::v1::BanditTuple& tuple,
                           UndeclaredColumns* columns, const Use& use) {
  const log::v1::Decision& decision = tuple.decision();
  if (!ActionKindOf(decision)) return "sets of labels";
  const auto query = ViewDecision(decision);
  if (!query.ok()) return "malformed features";
  if (query->columns == nullptr) {
    columns = nullptr;
  } else if (columns == nullptr) {
    return kNamedColumns;
  } else if (!columns->Bind(*query->columns).ok()) {
    return "malformed columns";
  }
  TupleView view{tuple, decision, *query, columns, {}};
  const absl::string_view problem = FindChosen(decision, *query, &view.chosen);
  return problem.empty() ? use(view) : problem;
}

// Requires dense features.
inline std::span<const float> DenseRow(const Candidates& candidates,
                                       uint32_t document_index) {
  const size_t d = candidates.num_features();
  return {candidates.values().data() + document_index * d, d};
}

// Calls `use(column, value)` for the features of a candidate that the row
// holds: all of a dense row, those named of a sparse one.
template <typename Use>
void ForEachFeature(const Candidates& candidates, uint32_t document_index,
                    const Use& use) {
  if (!candidates.sparse()) {
    const std::span<const float> row = DenseRow(candidates, document_index);
    for (uint32_t j = 0; j < row.size(); ++j) use(j, row[j]);
    return;
  }
  const uint32_t end = candidates.row_offsets()[document_index + 1];
  for (uint32_t k = candidates.row_offsets()[document_index]; k < end; ++k) {
    use(candidates.columns()[k], candidates.values()[k]);
  }
}

}  // namespace sortition
