#include "trainer/scoring/letor_stream.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/datasets/svmlight_line.h"
#include "io/text/input_lines.h"

namespace sortition {
namespace {

class LetorStream : public QueryStream {
 public:
  LetorStream(std::string path, std::unique_ptr<InputLines> lines,
              const StreamedShape& shape)
      : path_(std::move(path)),
        lines_(std::move(lines)),
        num_features_(shape.num_features),
        options_(shape.svmlight) {}

  absl::StatusOr<bool> Next(StreamedQuery* query) override {
    while (!at_end_) {
      InputLine line;
      ASSIGN_OR_RETURN(const bool more, lines_->Next(&line));
      at_end_ = !more;
      if (at_end_) break;
      absl::StatusOr<bool> is_whole = Add(line, query);
      if (!is_whole.ok()) {
        return absl::Status(
            is_whole.status().code(),
            absl::StrCat(path_, ": ", is_whole.status().message()));
      }
      if (*is_whole) return true;
    }
    if (building_.relevances.empty()) return false;
    Finish(query);
    return true;
  }
  uint64_t bytes_read() const override { return lines_->bytes_read(); }
  uint64_t extreme_values() const override { return extreme_values_; }

 private:
  // Adds a line to the query that is being built. Returns true if the line
  // begins another one; then writes the one before.
  absl::StatusOr<bool> Add(const InputLine& line, StreamedQuery* whole) {
    const absl::string_view text = line.text();
    const size_t first = text.find_first_not_of(" \t");
    if (first == absl::string_view::npos || text[first] == '#') return false;
    SvmlightLine tokens(text, line.number, options_);
    double label = 0;
    RETURN_IF_ERROR(tokens.ParseNumber(tokens.NextToken(), "label", &label));
    if (!(label >= 0 && label <= kMostRelevance) ||
        label != std::floor(label)) {
      return tokens.Error(absl::StrCat("label is ", label,
                                       ", must be an integer in [0, ",
                                       kMostRelevance, "]"));
    }
    absl::string_view id = tokens.NextToken();
    if (!absl::ConsumePrefix(&id, "qid:") || id.empty()) {
      return tokens.Error("the second field must be qid:<query>");
    }
    RETURN_IF_ERROR(tokens.ParseFeatures(&features_, &extreme_values_));
    if (!features_.empty() && features_.back().column >= num_features_) {
      const uint32_t offset = options_.first_feature;
      return tokens.Error(absl::StrCat(
          "has feature ", features_.back().column + offset, ", must be in [",
          offset, ", ", num_features_ + offset - 1, "]: the model has ",
          num_features_, " features"));
    }
    const bool is_other = building_.relevances.empty() || building_.id != id;
    const bool is_whole = is_other && !building_.relevances.empty();
    if (is_whole) Finish(whole);
    if (is_other) RETURN_IF_ERROR(Begin(id, line.number, tokens));
    const size_t comment = text.find('#');
    AddCandidate(static_cast<uint32_t>(label),
                 comment == absl::string_view::npos
                     ? absl::string_view()
                     : DocumentIdIn(text.substr(comment + 1)));
    return is_whole;
  }

  absl::Status Begin(absl::string_view id, uint64_t number,
                     const SvmlightLine& tokens) {
    if (!seen_.insert(HashBytes(id)).second) {
      return tokens.Error(
          absl::StrCat("query '", id,
                       "' comes back after another query; the "
                       "lines of a query must be adjacent: sort the file by "
                       "qid"));
    }
    building_.id = std::string(id);
    building_.line = number;
    building_.row_offsets = {0};
    return absl::OkStatus();
  }

  void AddCandidate(uint32_t relevance, absl::string_view document_id) {
    for (const SvmlightFeature& feature : features_) {
      if (std::isnan(feature.value)) continue;  // As if it were not stated.
      building_.columns.push_back(feature.column);
      building_.values.push_back(feature.value);
    }
    building_.row_offsets.push_back(
        static_cast<uint32_t>(building_.columns.size()));
    if (!document_id.empty()) {
      building_.candidate_ids.resize(building_.relevances.size());
      building_.candidate_ids.emplace_back(document_id);
    }
    building_.relevances.push_back(relevance);
  }

  void Finish(StreamedQuery* query) {
    if (!building_.candidate_ids.empty()) {
      building_.candidate_ids.resize(building_.relevances.size());
    }
    *query = std::exchange(building_, {});
  }

  const std::string path_;
  const std::unique_ptr<InputLines> lines_;
  const uint32_t num_features_;
  const SvmlightOptions options_;
  uint64_t extreme_values_ = 0;
  bool at_end_ = false;
  StreamedQuery building_;  // No candidates: none was begun.
  std::vector<SvmlightFeature> features_;
  absl::flat_hash_set<Hash128, Hash128Hasher> seen_;  // Of ids.
};

}  // namespace

absl::string_view DocumentIdIn(absl::string_view comment) {
  const size_t place = comment.find("docid");
  if (place == absl::string_view::npos) return "";
  absl::string_view rest = comment.substr(place + 5);
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, "=")) return "";
  rest = absl::StripLeadingAsciiWhitespace(rest);
  return rest.substr(0, rest.find_first_of(" \t\r"));
}

absl::StatusOr<std::unique_ptr<QueryStream>> OpenLetorStream(
    const std::string& path, const StreamedShape& shape) {
  ASSIGN_OR_RETURN(auto lines, InputLines::Open(path, false));
  return std::make_unique<LetorStream>(path, std::move(lines), shape);
}

}  // namespace sortition
