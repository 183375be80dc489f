#include "client/commands/score_lists.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

struct Line {
  size_t number = 0;  // From 1.
  std::vector<absl::string_view> fields;
};

std::vector<Line> SplitLines(absl::string_view text) {
  const absl::string_view first = text.substr(0, text.find('\n'));
  const char separator = first.find('\t') == first.npos ? ',' : '\t';
  std::vector<Line> lines;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    lines.push_back({number, {}});
    for (const absl::string_view field : absl::StrSplit(line, separator)) {
      lines.back().fields.push_back(absl::StripAsciiWhitespace(field));
    }
  }
  return lines;
}

bool IsNumber(absl::string_view field) {
  double number = 0;
  return absl::SimpleAtod(field, &number);
}

absl::StatusOr<float> ParseScore(const Line& line, size_t column) {
  float score = 0;
  if (absl::SimpleAtof(line.fields[column], &score) && std::isfinite(score)) {
    return score;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("lists: line ", line.number, ", column ", column + 1,
                   " is '", line.fields[column], "', must be a finite number"));
}

}  // namespace

absl::StatusOr<ScoreTable> ParseScoreTable(absl::string_view text) {
  const std::vector<Line> lines = SplitLines(text);
  if (lines.empty()) {
    return absl::InvalidArgumentError(
        "lists is empty, must have a line for each candidate");
  }
  ScoreTable table;
  const std::vector<absl::string_view>& first = lines[0].fields;
  const bool has_names =
      !std::all_of(first.begin() + 1, first.end(), IsNumber) ||
      (first.size() == 1 && !IsNumber(first[0]));
  const auto begin = lines.begin() + (has_names ? 1 : 0);
  const bool has_ids = std::any_of(begin, lines.end(), [](const Line& line) {
    return !IsNumber(line.fields[0]);
  });
  const size_t skipped = has_ids ? 1 : 0;
  if (first.size() <= skipped) {
    return absl::InvalidArgumentError(
        absl::StrCat("lists: line ", lines[0].number,
                     " has no score, must have one for "
                     "each source"));
  }
  table.num_sources = first.size() - skipped;
  for (size_t s = skipped; has_names && s < first.size(); ++s) {
    table.sources.emplace_back(first[s]);
  }
  for (auto line = begin; line != lines.end(); ++line) {
    if (line->fields.size() != first.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "lists: line ", line->number, " has ", line->fields.size(),
          " columns, must have ", first.size(), ", as line ", lines[0].number));
    }
    if (has_ids) table.candidates.emplace_back(line->fields[0]);
    for (size_t column = skipped; column < first.size(); ++column) {
      ASSIGN_OR_RETURN(const float score, ParseScore(*line, column));
      table.scores.push_back(score);
    }
  }
  return table;
}

}  // namespace sortition
