#include "trainer/scoring/score.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/linear_policy.h"
#include "io/datasets/label_file_options.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "process/command.h"
#include "process/progress.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/scoring/qrels_writer.h"
#include "trainer/scoring/query_stream.h"
#include "trainer/scoring/score_writer.h"

namespace sortition {
namespace {

using config::v1::ScoreOptions;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Shows how much of the files was read.
class ReadProgress {
 public:
  explicit ReadProgress(const std::vector<std::string>& files) {
    if (isatty(STDERR_FILENO) == 0) return;
    uint64_t bytes = 0;
    for (const std::string& file : files) {
      std::error_code error;
      const uint64_t size = std::filesystem::file_size(file, error);
      if (error) return;  // A pipe: its size is not known.
      bytes += size;
    }
    progress_ = std::make_unique<Progress>("scoring", "MiB",
                                           (bytes + kMebibyte - 1) / kMebibyte);
  }

  // `bytes` of all files were read so far.
  void Show(uint64_t bytes) {
    if (progress_ == nullptr || bytes / kMebibyte == shown_) return;
    progress_->Add(bytes / kMebibyte - shown_);
    shown_ = bytes / kMebibyte;
  }

 private:
  std::unique_ptr<Progress> progress_;
  uint64_t shown_ = 0;  // MiB
};

LabelledNames NamesOf(const ScoreOptions& options) {
  return {.query = options.query_column(),
          .label = options.label_column(),
          .id = options.id_column(),
          .may_lack_labels = !options.has_label_column(),
          .may_lack_ids = !options.has_id_column()};
}

// Scores queries one after the other.
class Scorer {
 public:
  static absl::StatusOr<Scorer> Create(const ScoreOptions& options,
                                       const model::v1::Model& model) {
    absl::StatusOr<LinearPolicy> policy = LinearPolicy::Create(model);
    if (!policy.ok()) {
      return absl::Status(
          policy.status().code(),
          absl::StrCat("model '", model.name(), "' version ", model.version(),
                       " cannot be served: ", policy.status().message()));
    }
    if (options.k() > 0 && !policy->takes_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--k is ", options.k(), ", must be 0: policy ",
                       PolicyKindName(model.policy()),
                       policy->action_kind() == ActionKind::kSubset
                           ? " chooses the size of its subsets"
                           : " chooses no subsets"));
    }
    return Scorer(*std::move(policy), options.k());
  }

  const LinearPolicy& policy() const { return policy_; }
  StreamedShape shape() const {
    const FeatureTransform* const transform = policy_.features().transform();
    return {policy_.num_features(),
            transform == nullptr ? nullptr : &transform->schema()};
  }

  absl::Status Score(const StreamedQuery& streamed, QueryScores* scores) {
    PolicyQuery query;
    query.top_k = k_;
    query.columns = streamed.named_columns.get();
    if (query.columns == nullptr) {
      ASSIGN_OR_RETURN(
          query.candidates,
          Candidates::Sparse(streamed.row_offsets, streamed.columns,
                             streamed.values, policy_.num_features()));
    }
    // What is drawn is not used: no score or probability depends on the key.
    policy_.Decide(query, Hash128(), &workspace_, &draw_);
    RETURN_IF_ERROR(workspace_.refusal);
    if (!std::isfinite(draw_.log_propensity)) {
      return absl::InvalidArgumentError(
          "scores are beyond what can be drawn exactly, and a server refuses "
          "such a query: features or weights are too large");
    }
    if (draw_.game.has_value()) {
      largest_gap_ = std::max(largest_gap_, draw_.game->gap);
    }
    scores->scores = LinearPolicy::Scores(query, workspace_);
    scores->probabilities = policy_.DecidedFirstProbabilities(
        query, &workspace_, &scores->abstain_probability);
    return absl::OkStatus();
  }

  double largest_gap() const { return largest_gap_; }

 private:
  Scorer(LinearPolicy policy, uint32_t k) : policy_(std::move(policy)), k_(k) {}

  LinearPolicy policy_;
  uint32_t k_;
  PolicyWorkspace workspace_;
  Draw draw_;
  double largest_gap_ = 0;
};

// Where scores and labels go.
class Output {
 public:
  static absl::StatusOr<Output> Create(const ScoreOptions& options,
                                       const model::v1::Model& model,
                                       std::ostream* out) {
    Output output(out);
    if (model.policy().softmax_selection().has_abstain_score()) {
      output.scores_.abstain_score =
          model.policy().softmax_selection().abstain_score();
    }
    ASSIGN_OR_RETURN(output.writer_,
                     MakeScoreWriter(options, ActionKindOf(model.policy())));
    if (!options.qrels().empty()) {
      ASSIGN_OR_RETURN(output.qrels_, QrelsWriter::Create(options.qrels()));
    }
    *out << output.writer_->Header();
    return output;
  }

  // The scores of the next query.
  QueryScores* scores() { return &scores_; }

  absl::Status Write(const StreamedQuery& query) {
    ASSIGN_OR_RETURN(const std::string text, writer_->Format(query, scores_));
    *out_ << text;
    if (!*out_) {
      return absl::DataLossError(
          "the output cannot be written: it is closed "
          "or full");
    }
    return qrels_ == nullptr ? absl::OkStatus() : qrels_->Add(query);
  }

  absl::Status Close() {
    return qrels_ == nullptr ? absl::OkStatus() : qrels_->Close();
  }

 private:
  explicit Output(std::ostream* out) : out_(out) {}

  std::ostream* out_;
  std::unique_ptr<ScoreWriter> writer_;
  std::unique_ptr<QrelsWriter> qrels_;  // Null: not asked for.
  QueryScores scores_;
};

absl::Status AtQuery(const absl::Status& status, const std::string& file,
                     const StreamedQuery& query) {
  if (status.ok() || absl::IsDataLoss(status)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(file, ":", query.line, ": query '", query.id,
                                   "': ", status.message()));
}

}  // namespace

absl::Status ValidateScoreOptions(const ScoreOptions& options) {
  RETURN_IF_ERROR(
      CheckChoice("output", options.output(), {"tsv", "json", "trec"}));
  if (options.has_run_tag() && options.output() != "trec") {
    return UsageError("--run_tag must be unset without --output=trec");
  }
  return absl::OkStatus();
}

absl::StatusOr<ScoreReport> Score(const ScoreOptions& options,
                                  std::ostream* out) {
  RETURN_IF_ERROR(ValidateScoreOptions(options));
  ASSIGN_OR_RETURN(const StoredModel stored,
                   LoadVersion(options.model(), options.version(),
                               ModelStore(options.model_store())));
  ASSIGN_OR_RETURN(Scorer scorer, Scorer::Create(options, stored.model));
  ASSIGN_OR_RETURN(Output output, Output::Create(options, stored.model, out));
  ScoreReport report;
  report.model = options.model();
  report.version = stored.model.version();
  report.policy = PolicyKindName(stored.model.policy());
  report.probability_of =
      std::string(ProbabilityName(scorer.policy().action_kind()));
  const std::vector<std::string> files = SplitEntries(options.data());
  ReadProgress progress(files);
  uint64_t bytes_before = 0;  // Of the files before.
  StreamedShape shape = scorer.shape();
  shape.svmlight = ToSvmlightOptions(options.label_files());
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const auto stream,
                     OpenQueryStream(file, shape, NamesOf(options)));
    while (true) {
      StreamedQuery query;
      ASSIGN_OR_RETURN(const bool more, stream->Next(&query));
      progress.Show(bytes_before + stream->bytes_read());
      if (!more) break;
      RETURN_IF_ERROR(
          AtQuery(scorer.Score(query, output.scores()), file, query));
      RETURN_IF_ERROR(AtQuery(output.Write(query), file, query));
      ++report.queries;
      report.candidates += query.relevances.size();
    }
    bytes_before += stream->bytes_read();
    if (stream->extreme_values() > 0) {
      report.notes.push_back(ExtremeValuesNote(options.label_files(), file,
                                               stream->extreme_values()));
    }
  }
  RETURN_IF_ERROR(output.Close());
  report.largest_game_gap = scorer.largest_gap();
  return report;
}

std::string FormatScoreReport(const ScoreReport& report) {
  std::string text = absl::StrFormat(
      "%d queries, %d candidates scored by %s version %d (%s); probability: of "
      "being %s, %s\n",
      report.queries, report.candidates, report.model, report.version,
      report.policy, report.probability_of,
      report.largest_game_gap > 0
          ? absl::StrFormat(
                "exact for the strategy that was found (largest gap "
                "to the value of the game: %.3g)",
                report.largest_game_gap)
          : "exact");
  for (const std::string& note : report.notes) {
    absl::StrAppend(&text, note, "\n");
  }
  return text;
}

}  // namespace sortition
