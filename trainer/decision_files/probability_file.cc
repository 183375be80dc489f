#include "trainer/decision_files/probability_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "trainer/decision_files/decision_rows.h"

namespace sortition {

class ProbabilityReader {
 public:
  explicit ProbabilityReader(const std::string& path) { file_.path_ = path; }

  absl::StatusOr<ProbabilityFile> Read() {
    ASSIGN_OR_RETURN(rows_, DecisionRows::Open(file_.path_));
    while (true) {
      ASSIGN_OR_RETURN(const bool has_row, rows_->Next());
      if (!has_row) break;
      RETURN_IF_ERROR(ReadRow());
      if (bytes() > ProbabilityFile::kMostBytes) {
        return rows_->Wrong(absl::StrCat("the file needs more than ",
                                         ProbabilityFile::kMostBytes,
                                         " bytes of memory"));
      }
    }
    RETURN_IF_ERROR(EndDocuments());
    return std::move(file_);
  }

 private:
  using Kind = ProbabilityFile::Kind;

  uint64_t bytes() const {
    return file_.values_.capacity() * sizeof(double) +
           file_.entries_.capacity() *
               (sizeof(Hash128) + sizeof(ProbabilityFile::Stored) + 1);
  }

  absl::Status ReadRow() {
    ASSIGN_OR_RETURN(const bool has_probabilities,
                     rows_->Numbers("probabilities", "p", &probabilities_));
    ASSIGN_OR_RETURN(const bool has_scores,
                     rows_->Numbers("scores", "s", &scores_));
    ASSIGN_OR_RETURN(const auto log_probability,
                     rows_->Number("log_probability"));
    ASSIGN_OR_RETURN(const auto probability, rows_->Number("probability"));
    const int given = (has_probabilities ? 1 : 0) + (has_scores ? 1 : 0) +
                      (log_probability ? 1 : 0) + (probability ? 1 : 0);
    if (given != 1) {
      return rows_->Wrong(absl::StrCat(
          "decision '", Shown(rows_->decision_id()), "' has ", given,
          " of probabilities, scores, log_probability and probability, must "
          "have one"));
    }
    if (probability) return AddDocument(*probability);
    RETURN_IF_ERROR(EndDocuments());
    if (has_scores) return Add(Kind::kScores, scores_);
    if (log_probability) return AddLogProbability(*log_probability);
    for (size_t i = 0; i < probabilities_.size(); ++i) {
      RETURN_IF_ERROR(CheckProbability(absl::StrCat("probabilities[", i, "]"),
                                       probabilities_[i]));
    }
    RETURN_IF_ERROR(CheckSum(probabilities_, rows_->line()));
    return Add(Kind::kProbabilities, probabilities_);
  }

  absl::Status AddLogProbability(double value) {
    constexpr double kRounding = 1e-9;
    if (value > kRounding) {
      return rows_->Wrong(
          absl::StrCat("log_probability is ", value, ", must be at most 0"));
    }
    scores_.assign(1, std::fmin(value, 0));
    file_.has_log_probabilities_ = true;
    return Add(Kind::kLogProbability, scores_);
  }

  absl::Status CheckProbability(absl::string_view name, double value) const {
    if (value >= 0 && value <= 1) return absl::OkStatus();
    return rows_->Wrong(
        absl::StrCat(name, " is ", value, ", must be in [0, 1]"));
  }

  absl::Status CheckSum(const std::vector<double>& values,
                        uint64_t line) const {
    constexpr double kTolerance = 1e-6;
    double sum = 0;
    for (const double value : values) sum += value;
    if (std::abs(sum - 1) <= kTolerance) return absl::OkStatus();
    return file_.Wrong({.line = line},
                       absl::StrCat("the probabilities sum to ", sum,
                                    ", must sum to 1 (within 1e-6)"));
  }

  // Takes a row of one candidate.
  absl::Status AddDocument(double probability) {
    ASSIGN_OR_RETURN(const auto document, rows_->Number("document_index"));
    constexpr double kMost = 1e6;
    if (!document.has_value()) {
      return rows_->Wrong("document_index is missing beside probability");
    }
    if (*document != std::floor(*document) || *document < -1 ||
        *document > kMost) {
      return rows_->Wrong(
          absl::StrCat("document_index is ", *document,
                       ", must be an integer in [-1, 1000000]"));
    }
    RETURN_IF_ERROR(CheckProbability("probability", probability));
    if (documents_of_ != rows_->decision_id()) {
      RETURN_IF_ERROR(EndDocuments());
      documents_of_ = std::string(rows_->decision_id());
      RETURN_IF_ERROR(CheckNew(documents_of_));
    }
    documents_line_ = rows_->line();
    const auto place = static_cast<size_t>(*document + 1);
    if (place >= documents_.size()) documents_.resize(place + 1, kAbsent);
    if (!std::isnan(documents_[place])) {
      return rows_->Wrong(absl::StrCat("document_index ", *document,
                                       " of decision '", Shown(documents_of_),
                                       "' is there twice"));
    }
    documents_[place] = probability;
    return absl::OkStatus();
  }

  // Stores the decision whose rows were read last.
  absl::Status EndDocuments() {
    if (documents_of_.empty()) return absl::OkStatus();
    for (double& value : documents_) {
      if (std::isnan(value)) value = 0;
    }
    RETURN_IF_ERROR(CheckSum(documents_, documents_line_));
    Store(Kind::kByDocument, documents_of_, documents_, documents_line_);
    documents_of_.clear();
    documents_.clear();
    return absl::OkStatus();
  }

  absl::Status CheckNew(absl::string_view decision_id) const {
    const auto found = file_.entries_.find(HashBytes(decision_id));
    if (found == file_.entries_.end()) return absl::OkStatus();
    return rows_->Wrong(absl::StrCat("decision_id is '", Shown(decision_id),
                                     "', which line ", found->second.line,
                                     " has, too"));
  }

  absl::Status Add(Kind kind, const std::vector<double>& values) {
    RETURN_IF_ERROR(CheckNew(rows_->decision_id()));
    Store(kind, rows_->decision_id(), values, rows_->line());
    return absl::OkStatus();
  }

  void Store(Kind kind, absl::string_view decision_id,
             const std::vector<double>& values, uint64_t line) {
    file_.entries_[HashBytes(decision_id)] = {
        .begin = file_.values_.size(),
        .line = line,
        .size = static_cast<uint32_t>(values.size()),
        .kind = kind};
    file_.values_.insert(file_.values_.end(), values.begin(), values.end());
  }

  static constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

  ProbabilityFile file_;
  std::unique_ptr<DecisionRows> rows_;
  std::vector<double> probabilities_;
  std::vector<double> scores_;
  // Of a decision with a row for each candidate.
  std::string documents_of_;
  std::vector<double> documents_;
  uint64_t documents_line_ = 0;
};

absl::StatusOr<ProbabilityFile> ProbabilityFile::Read(const std::string& path) {
  return ProbabilityReader(path).Read();
}

std::optional<ProbabilityFile::Entry> ProbabilityFile::Find(
    absl::string_view decision_id) const {
  const auto found = entries_.find(HashBytes(decision_id));
  if (found == entries_.end()) return std::nullopt;
  const Stored& stored = found->second;
  return Entry{
      stored.kind, {values_.data() + stored.begin, stored.size}, stored.line};
}

absl::Status ProbabilityFile::Wrong(const Entry& entry,
                                    absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ":", entry.line, ": ", what));
}

}  // namespace sortition
