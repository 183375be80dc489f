#include "trainer/suggest/column_sources.h"

#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/features/schema/schema.h"
#include "io/columns/column_queries.h"
#include "io/columns/inferred_columns.h"
#include "io/columns/labelled_columns.h"
#include "process/log.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using model::v1::ColumnSchema;

// Returns the type that holds the values of both, TYPE_UNSPECIFIED if none
// does. All cells of CSV are strings.
ColumnSchema::Type CommonType(ColumnSchema::Type a, ColumnSchema::Type b,
                              bool is_csv) {
  if (a == b) return a;
  if (!is_csv) return ColumnSchema::TYPE_UNSPECIFIED;
  for (const auto text : {ColumnSchema::TEXT, ColumnSchema::CATEGORY}) {
    const bool has_text = a == text || b == text;
    const auto fits = [&](ColumnSchema::Type type) {
      return type == ColumnSchema::TEXT || type == ColumnSchema::CATEGORY ||
             type == ColumnSchema::NUMBER;
    };
    if (has_text && fits(a) && fits(b)) return text;
  }
  return ColumnSchema::TYPE_UNSPECIFIED;
}

// The columns of several files.
class FileColumns {
 public:
  void Add(const InferredColumns& file, bool is_csv) {
    for (const auto& [name, reason] : file.left_out) {
      left_out_.emplace(name, reason);
    }
    for (const ColumnSchema& column : file.schema.column()) {
      const auto [found, added] = columns_.emplace(column.name(), column);
      if (added) {
        order_.push_back(column.name());
        continue;
      }
      ColumnSchema& before = found->second;
      const auto type = CommonType(before.type(), column.type(), is_csv);
      if (type == ColumnSchema::TYPE_UNSPECIFIED ||
          before.size() != column.size() ||
          (!is_csv && before.scope() != column.scope())) {
        left_out_.emplace(
            column.name(),
            absl::StrCat("its type changes: ", TypeName(before.type()),
                         " in one file, ", TypeName(column.type()),
                         " in another"));
        continue;
      }
      before.set_type(type);
      if (column.scope() == ColumnSchema::CANDIDATE) {
        before.set_scope(ColumnSchema::CANDIDATE);
      }
    }
  }

  model::v1::Schema schema() const {
    model::v1::Schema schema;
    for (const std::string& name : order_) {
      if (!left_out_.contains(name)) {
        *schema.add_column() = columns_.at(name);
      }
    }
    return schema;
  }
  std::vector<std::pair<std::string, std::string>> left_out() const {
    return {left_out_.begin(), left_out_.end()};
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, ColumnSchema> columns_;
  std::map<std::string, std::string> left_out_;
};

absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenReader(
    const std::string& path, const Schema& schema) {
  const LabelledNames names{.may_lack_labels = true};
  if (absl::EndsWith(path, ".tsv")) return OpenQuestionTsv(path, schema, names);
  if (absl::EndsWith(path, ".csv")) return OpenColumnsCsv(path, schema, names);
  return OpenColumnsJson(path, schema, names);
}

absl::Status DescribeFile(const std::string& path, const Schema& schema,
                          uint64_t max_queries, ColumnProfiler* profiler) {
  ASSIGN_OR_RETURN(const auto reader, OpenReader(path, schema));
  LabelledColumns query;
  while (max_queries == 0 || profiler->num_queries() < max_queries) {
    ASSIGN_OR_RETURN(const bool more, reader->Next(&query));
    if (!more) break;
    const absl::Status status = profiler->Add(query.columns);
    // A query whose cells are all empty has no columns.
    if (!status.ok() &&
        query.columns.candidate_size() + query.columns.query_size() > 0) {
      return absl::Status(status.code(), absl::StrCat(path, ":", query.line,
                                                      ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

std::string CountText(uint64_t count, uint64_t max_queries,
                      absl::string_view what) {
  return absl::StrCat(
      max_queries > 0 && count == max_queries ? "the first " : "", count, " ",
      what);
}

}  // namespace

absl::StatusOr<ColumnSource> DescribeTuples(const TrainOptions& options,
                                            uint64_t max_queries) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  ColumnSource source;
  ColumnProfiler profiler;
  uint64_t num_malformed = 0;
  std::string first_malformed;
  bool is_enough = false;
  uint64_t num_selected = 0;
  TupleCounts counts;
  const absl::Status status = ScanTuples(
      log,
      [&](const log::v1::BanditTuple& tuple) -> absl::Status {
        const log::v1::Decision& decision = tuple.decision();
        ++counts.read_tuples;
        if (const auto reason = selection.ReasonToSkip(decision)) {
          counts.LeaveOut(*reason, tuple);
          return absl::OkStatus();
        }
        ++num_selected;
        if (!decision.has_columns()) return absl::OkStatus();
        const absl::Status added = profiler.Add(decision.columns());
        if (!added.ok()) {
          if (num_malformed++ == 0) {
            first_malformed = absl::StrCat("decision '", decision.decision_id(),
                                           "': ", added.message());
          }
          return absl::OkStatus();
        }
        source.can_abstain |= decision.can_abstain();
        is_enough = profiler.num_queries() == max_queries;
        return is_enough ? absl::CancelledError() : absl::OkStatus();
      },
      &counts);
  if (!is_enough) RETURN_IF_ERROR(status);
  if (num_malformed > 0) {
    LogWarning("columns of decisions are malformed",
               {{"decisions", num_malformed}, {"first", first_malformed}});
  }
  if (profiler.num_queries() == 0) {
    if (counts.read_tuples == 0) return NoTuplesYet(options.tuples());
    if (num_selected == 0) {
      const std::string others = OtherModelsText(counts);
      return absl::FailedPreconditionError(
          absl::StrCat("no tuple of model '", options.model(), "' in ",
                       options.tuples(), " (", counts.DescribeExclusions(), ")",
                       others.empty() ? "" : "; ", others));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "none of the ", num_selected, " decisions of model '", options.model(),
        "' in ", options.tuples(),
        " has named columns: callers send features as numbers, which need no "
        "spec"));
  }
  source.profiles = profiler.Finish();
  source.name =
      absl::StrCat(CountText(profiler.num_queries(), max_queries, "decisions"),
                   " in ", options.tuples());
  return source;
}

absl::StatusOr<ColumnSource> DescribeFiles(
    const std::vector<std::string>& paths, uint64_t max_queries) {
  FileColumns columns;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const InferredColumns file, InferColumns(path));
    columns.Add(file, absl::EndsWith(path, ".csv"));
  }
  ColumnSource source;
  source.left_out = columns.left_out();
  ColumnProfiler profiler;
  if (columns.schema().column_size() > 0) {
    ASSIGN_OR_RETURN(const Schema schema, Schema::Create(columns.schema()));
    for (const std::string& path : paths) {
      RETURN_IF_ERROR(DescribeFile(path, schema, max_queries, &profiler));
    }
  }
  source.profiles = profiler.Finish();
  source.name =
      absl::StrCat(CountText(profiler.num_queries(), max_queries, "queries"),
                   " in ", absl::StrJoin(paths, ", "));
  return source;
}

absl::StatusOr<FeatureSuggestion> SuggestFrom(const ColumnSource& source,
                                              const SuggestOptions& options) {
  ASSIGN_OR_RETURN(FeatureSuggestion suggestion,
                   SuggestFeatures(source.profiles, options));
  suggestion.left_out.insert(suggestion.left_out.end(), source.left_out.begin(),
                             source.left_out.end());
  return suggestion;
}

std::string NoFeaturesText(const std::string& what,
                           const std::string& columns) {
  return absl::StrCat(
      what,
      " named columns, but no feature spec was given (`--features`). "
      "Columns: ",
      columns, ". Run `sortition-trainer suggest-features` for a draft");
}

}  // namespace sortition
