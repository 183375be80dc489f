#include "trainer/cluster/pair_file.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr double kMostWeight = 1e6;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

std::vector<absl::string_view> Fields(absl::string_view line) {
  const char separator = absl::StrContains(line, '\t') ? '\t' : ',';
  std::vector<absl::string_view> fields = absl::StrSplit(line, separator);
  for (absl::string_view& field : fields) {
    field = absl::StripAsciiWhitespace(field);
  }
  return fields;
}

bool IsHeading(absl::string_view line) {
  const std::vector<absl::string_view> fields = Fields(line);
  return fields.size() >= 2 && fields[0] == "better" && fields[1] == "worse";
}

}  // namespace

absl::StatusOr<CandidatePairs> CandidatePairs::Read(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("pairs: ", text.status().message()));
  }
  CandidatePairs pairs;
  size_t number = 0;
  absl::string_view lines = *text;
  absl::ConsumePrefix(&lines, kByteOrderMark);
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty() ||
        (number == 1 && IsHeading(line))) {
      continue;
    }
    const absl::Status status = pairs.AddLine(line);
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "pairs: ", path, ", line ", number, ": ", status.message()));
  }
  if (pairs.size() > 0) return pairs;
  return absl::InvalidArgumentError(
      absl::StrCat("pairs: ", path, " has 0 pairs, must have at least 1"));
}

absl::Status CandidatePairs::AddLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = Fields(line);
  if (fields.size() < 2 || fields.size() > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", fields.size(),
                     " fields, must be 2 or 3: better, worse, weight"));
  }
  if (fields[0].empty() || fields[1].empty() || fields[0] == fields[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("the candidates are '", fields[0], "' and '", fields[1],
                     "', must be two different ids"));
  }
  if (absl::StartsWith(fields[0], "\"")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the field ", fields[0], " is quoted, must be an id as it is"));
  }
  double weight = 1;
  if (fields.size() == 3 && (!absl::SimpleAtod(fields[2], &weight) ||
                             !(weight > 0 && weight <= kMostWeight))) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight is '", fields[2],
                     "', must be a number within (0, ", kMostWeight, "]"));
  }
  const uint32_t better = NumberOf(fields[0]);
  const uint32_t worse = NumberOf(fields[1]);
  if (!seen_.insert(std::minmax({better, worse})).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("the pair of '", fields[0], "' and '", fields[1],
                     "' is there again, must be there once"));
  }
  worse_[better].push_back({worse, weight});
  return absl::OkStatus();
}

uint32_t CandidatePairs::NumberOf(absl::string_view id) {
  const auto [entry, is_new] =
      numbers_.emplace(id, static_cast<uint32_t>(worse_.size()));
  if (is_new) worse_.emplace_back();
  return entry->second;
}

std::vector<CutFunction::Edge> CandidatePairs::Among(
    const std::vector<absl::string_view>& ids) {
  absl::flat_hash_map<uint32_t, uint32_t> items;  // By number.
  std::vector<std::optional<uint32_t>> numbers;   // By item.
  for (uint32_t item = 0; item < ids.size(); ++item) {
    const auto found = numbers_.find(ids[item]);
    numbers.emplace_back();
    if (found == numbers_.end()) continue;
    numbers.back() = found->second;
    items[found->second] = item;
  }
  std::vector<CutFunction::Edge> edges;
  for (uint32_t item = 0; item < ids.size(); ++item) {
    if (!numbers[item].has_value()) continue;
    for (const Worse& worse : worse_[*numbers[item]]) {
      const auto found = items.find(worse.candidate);
      if (found == items.end()) continue;
      found_.insert({*numbers[item], worse.candidate});
      edges.push_back({item, found->second, worse.weight});
    }
  }
  return edges;
}

}  // namespace sortition
