#include "trainer/cluster/cluster.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/aggregation/aggregate_policy.h"
#include "core/aggregation/cluster_choice.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/order_divergence.h"
#include "io/files.h"
#include "process/progress.h"
#include "trainer/cluster/cluster_data.h"
#include "trainer/cluster/cluster_groups.h"
#include "trainer/cluster/cluster_picture.h"
#include "trainer/cluster/cluster_report.h"
#include "trainer/cluster/pair_file.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;

// What the options of a run refer to.
struct Task {
  ClusterOf of = ClusterOf::kSources;
  ScoreScale scale = ScoreScale::kMinMax;
  AggregateDivergence divergence = AggregateDivergence::kDcg;
  std::optional<CandidatePairs> pairs;  // In place of a divergence.
};

absl::StatusOr<ClusterOf> ParseOf(const std::string& name) {
  if (name == "sources") return ClusterOf::kSources;
  if (name == "lists") return ClusterOf::kLists;
  if (name == "queries") return ClusterOf::kQueries;
  return absl::InvalidArgumentError(
      absl::StrCat("of is '", name, "', must be sources, lists or queries"));
}

absl::StatusOr<ScoreScale> ParseScale(const std::string& name) {
  if (name == "min_max") return ScoreScale::kMinMax;
  if (name == "rank") return ScoreScale::kRank;
  if (name == "none") return ScoreScale::kNone;
  return absl::InvalidArgumentError(
      absl::StrCat("scale is '", name, "', must be min_max, rank or none"));
}

// Reads the pairs, which no divergence may stand beside.
absl::StatusOr<CandidatePairs> ReadPairs(
    const config::v1::ClusterOptions& options) {
  if (options.has_divergence() || options.cutoff() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.has_divergence() ? "divergence" : "cutoff",
        " is set, must be unset with pairs, which count in its place"));
  }
  return CandidatePairs::Read(options.pairs());
}

absl::StatusOr<Task> ParseTask(const config::v1::ClusterOptions& options) {
  Task task;
  ASSIGN_OR_RETURN(task.of, ParseOf(options.of()));
  ASSIGN_OR_RETURN(task.scale, ParseScale(options.scale()));
  task.divergence = DivergenceOf(options.divergence());
  // Checks the cutoff before hours of reading.
  RETURN_IF_ERROR(
      MakeDivergence(task.divergence, options.cutoff(), 2).status());
  if (!options.pairs().empty()) {
    ASSIGN_OR_RETURN(task.pairs, ReadPairs(options));
  }
  for (const uint32_t k : options.clusters()) {
    if (k < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("clusters has ", k, ", must be at least 1"));
    }
  }
  return task;
}

absl::string_view NameOf(ClusterOf of) {
  return of == ClusterOf::kSources ? "sources"
         : of == ClusterOf::kLists ? "lists"
                                   : "queries";
}

absl::Status CheckEnough(const config::v1::ClusterOptions& options,
                         const Task& task, const ClusterData& data) {
  const auto vectors = data.vectors.rows();
  if (vectors < 2) {
    return absl::FailedPreconditionError(absl::StrCat(
        "too few ", NameOf(task.of), ": ", vectors, ", must be at least 2 (",
        data.counts.DescribeExclusions(), ")"));
  }
  for (const uint32_t k : options.clusters()) {
    if (k > vectors) {
      return absl::InvalidArgumentError(
          absl::StrCat("clusters has ", k, ", must be in [1, ", vectors,
                       "], the number of ", NameOf(task.of)));
    }
  }
  if (task.divergence == AggregateDivergence::kTop &&
      task.of != ClusterOf::kSources &&
      options.cutoff() >= data.vectors.cols()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cutoff is ", options.cutoff(), ", must be below ",
                     data.vectors.cols(), ", the number of candidates"));
  }
  return absl::OkStatus();
}

// Counts the decisions that weigh nothing since TOP's cutoff has all of their
// candidates, or since none of the pairs is among them.
uint64_t CountWeightless(const config::v1::ClusterOptions& options,
                         const Task& task, const ClusterData& data) {
  if (task.pairs.has_value()) {
    return task.of != ClusterOf::kSources
               ? 0
               : std::count_if(data.pairs.begin(), data.pairs.end(),
                               [](const auto& pairs) { return pairs.empty(); });
  }
  if (task.divergence != AggregateDivergence::kTop) return 0;
  return std::count_if(data.decisions.begin(), data.decisions.end(),
                       [&](const ClusterData::DecisionInfo& decision) {
                         return decision.num_items <= options.cutoff();
                       });
}

// Returns the cut function of the pairs, with blocks as MakeFunction().
absl::StatusOr<BlockFunction> MakeCut(const config::v1::ClusterOptions& options,
                                      const Task& task,
                                      const ClusterData& data) {
  std::vector<std::shared_ptr<const SubmodularFunction>> blocks;
  bool any = false;
  for (size_t b = 0; b < data.pairs.size(); ++b) {
    const auto items = task.of == ClusterOf::kSources
                           ? data.decisions[b].num_items
                           : static_cast<size_t>(data.vectors.cols());
    ASSIGN_OR_RETURN(auto cut, CutFunction::Create(items, data.pairs[b]));
    blocks.push_back(std::move(cut));
    any = any || !data.pairs[b].empty();
  }
  if (any) return BlockFunction(std::move(blocks));
  return absl::FailedPreconditionError(absl::StrCat(
      "pairs: none of the ", task.pairs->size(), " pairs of ", options.pairs(),
      " is among the candidates of a decision, must be one or "
      "more: does the log have their ids?"));
}

// Returns a function with a block for each decision if sources are grouped,
// otherwise with one block.
absl::StatusOr<BlockFunction> MakeFunction(
    const config::v1::ClusterOptions& options, const Task& task,
    const ClusterData& data) {
  if (task.pairs.has_value()) return MakeCut(options, task, data);
  std::map<uint32_t, std::shared_ptr<const CardinalityFunction>> by_size;
  const auto of_size = [&](uint32_t size) {
    auto& function = by_size[size];
    if (function == nullptr) {
      // This cannot fail: the cutoff was checked above.
      function = *MakeDivergence(task.divergence, options.cutoff(), size);
    }
    return function;
  };
  std::vector<std::shared_ptr<const SubmodularFunction>> blocks;
  if (task.of == ClusterOf::kSources) {
    for (const auto& decision : data.decisions) {
      blocks.push_back(of_size(decision.num_items));
    }
  } else {
    blocks.push_back(of_size(static_cast<uint32_t>(data.vectors.cols())));
  }
  return BlockFunction(std::move(blocks));
}

// Returns a table with a line for each vector; control characters in ids are
// escaped.
std::string FormatAssignments(const ClusterData& data, ClusterOf of,
                              const Grouping& grouping) {
  std::string table =
      "decision_id\tsource\tgroup\tdivergence\tnext_group\tnext_divergence\n";
  const Eigen::MatrixXd& divergences = grouping.divergences;
  for (Eigen::Index i = 0; i < divergences.rows(); ++i) {
    const uint32_t own = grouping.clustering.cluster[i];
    if (of == ClusterOf::kSources) {
      absl::StrAppend(&table, "\t", i);
    } else {
      const ClusterData::Origin& origin = data.origins[i];
      absl::StrAppend(&table, EscapeId(data.decisions[origin.decision].id),
                      "\t");
      if (of == ClusterOf::kLists) absl::StrAppend(&table, origin.source);
    }
    absl::StrAppendFormat(&table, "\t%d\t%.9g\t", own, divergences(i, own));
    const uint32_t next = grouping.next[i];
    if (next == own) {
      absl::StrAppend(&table, "\t\n");
      continue;
    }
    absl::StrAppendFormat(&table, "%d\t%.9g\n", next, divergences(i, next));
  }
  return table;
}

void FillCounts(const config::v1::ClusterOptions& options,
                const ClusterData& data, ClusterReport* report) {
  report->set_of(options.of());
  report->set_model(options.model());
  report->set_read_tuples(data.counts.read_tuples);
  report->set_kept_fraction(data.counts.kept_fraction);
  report->set_corrupt_records(data.counts.damage.corrupt_records);
  for (const auto& [reason, count] : data.counts.excluded) {
    (*report->mutable_excluded())[reason] = count;
  }
  report->set_decisions(data.decisions.size());
}

}  // namespace

absl::Status ValidateClusterOptions(const config::v1::ClusterOptions& options) {
  return ParseTask(options).status();
}

absl::StatusOr<ClusterReport> ClusterTuples(
    const config::v1::ClusterOptions& options) {
  ASSIGN_OR_RETURN(Task task, ParseTask(options));
  ASSIGN_OR_RETURN(
      const ClusterData data,
      ReadClusterData(options, task.of, task.scale,
                      task.pairs.has_value() ? &*task.pairs : nullptr));
  RETURN_IF_ERROR(CheckEnough(options, task, data));
  ASSIGN_OR_RETURN(const BlockFunction f, MakeFunction(options, task, data));
  ASSIGN_OR_RETURN(const GroupingChoice choice,
                   ChooseClusters(data.vectors, f, options, ShowProgress));
  ClusterReport report;
  FillCounts(options, data, &report);
  if (task.pairs.has_value()) {
    report.set_pairs(task.pairs->size());
    report.set_pairs_found(task.pairs->num_found());
  }
  report.set_weightless_decisions(CountWeightless(options, task, data));
  for (const ClusterReport::Trial& trial : choice.trials) {
    *report.add_trials() = trial;
  }
  DescribeGroups(data, task.of, f, choice.grouping, &report);
  if (!options.picture().empty()) {
    RETURN_IF_ERROR(
        WriteFile(options.picture(),
                  DrawClusters({data, task.of, choice.grouping, report})));
  }
  if (!options.assignments().empty()) {
    RETURN_IF_ERROR(
        WriteFile(options.assignments(),
                  FormatAssignments(data, task.of, choice.grouping)));
  }
  return report;
}

}  // namespace sortition
