#include "trainer/decision_files/named_files.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "trainer/decision_files/reward_file.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

constexpr double kMostReward = RewardFile::kMostReward;

absl::Status Wrong(absl::string_view option, absl::string_view entry,
                   absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " has '", entry, "', must be ", permitted));
}

bool IsName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '-' || c == '.';
  });
}

template <typename Named>
absl::Status CheckNew(absl::string_view option, absl::string_view entry,
                      absl::string_view name, const std::vector<Named>& all) {
  for (const Named& other : all) {
    if (other.name == name) {
      return Wrong(option, entry, "the only one of its name");
    }
  }
  return absl::OkStatus();
}

bool IsTerm(absl::string_view text) {
  return text == "sparse" || absl::StartsWith(text, "from=") ||
         absl::StartsWith(text, "through=") ||
         absl::StartsWith(text, "horizon=");
}

// Splits "PATH@TERM@TERM" before the first term, and at each '@' after it. A
// path may have an '@'.
std::vector<absl::string_view> SplitTerms(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '@');
  const auto first = std::find_if(parts.begin() + 1, parts.end(), IsTerm);
  std::vector<absl::string_view> terms = {text};
  for (auto part = first; part != parts.end(); ++part) {
    terms[0].remove_suffix(part->size() + 1);
    terms.push_back(*part);
  }
  return terms;
}

absl::Status ReadTerm(absl::string_view term, OutcomePeriod* period) {
  if (!IsTerm(term)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'@", term, "' is unknown, must be ", kPeriodTerms));
  }
  if (term == "sparse") {
    period->is_sparse = true;
  } else if (absl::ConsumePrefix(&term, "horizon=")) {
    // Outcomes that are known at once have the horizon 0.
    ASSIGN_OR_RETURN(period->horizon_us, ParseAgeOrZero("horizon", term));
  } else if (absl::ConsumePrefix(&term, "from=")) {
    ASSIGN_OR_RETURN(period->from_us, ParseInstant("from", term));
  } else if (absl::ConsumePrefix(&term, "through=")) {
    ASSIGN_OR_RETURN(period->through_us, ParseInstant("through", term));
  }
  return absl::OkStatus();
}

// Reads path and terms, `text`, of an entry NAME=PATH@TERM.
absl::Status ReadFile(absl::string_view option, absl::string_view entry,
                      absl::string_view text, NamedFile* file) {
  const std::vector<absl::string_view> terms = SplitTerms(text);
  file->path = std::string(terms[0]);
  std::set<absl::string_view> seen;
  for (size_t i = 1; i < terms.size(); ++i) {
    const absl::string_view key = terms[i].substr(0, terms[i].find('='));
    if (!seen.insert(key).second) {
      return Wrong(option, entry, absl::StrCat("with one ", key));
    }
    const absl::Status status = ReadTerm(terms[i], &file->period);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " has '", entry, "': ", status.message()));
    }
  }
  if (seen.contains("horizon")) return absl::OkStatus();
  return Wrong(option, entry,
               absl::StrCat("with the longest time between a decision and its "
                            "outcome, as ",
                            file->name, "=", file->path, "@horizon=7d"));
}

absl::Status CheckIsReward(absl::string_view option, absl::string_view entry,
                           absl::string_view name,
                           const std::vector<NamedFile>& rewards) {
  for (const NamedFile& file : rewards) {
    if (file.name == name) return absl::OkStatus();
  }
  if (rewards.empty()) {
    return Wrong(option, entry,
                 absl::StrCat("of a reward, which rewards must name: ", name,
                              "=FILE@horizon=AGE"));
  }
  return Wrong(
      option, entry,
      absl::StrCat("of one of the rewards: ",
                   absl::StrJoin(rewards, ", ",
                                 [](std::string* out, const NamedFile& file) {
                                   out->append(file.name);
                                 })));
}

}  // namespace

std::vector<std::string> SplitEntries(
    const google::protobuf::RepeatedPtrField<std::string>& entries) {
  std::vector<std::string> all;
  for (const std::string& entry : entries) {
    for (const absl::string_view part : absl::StrSplit(entry, ',')) {
      all.emplace_back(absl::StripAsciiWhitespace(part));
    }
  }
  return all;
}

absl::StatusOr<std::vector<NamedFile>> ParseNamedFiles(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries) {
  std::vector<NamedFile> files;
  for (const std::string& entry : SplitEntries(entries)) {
    const size_t place = entry.find('=');
    if (place == std::string::npos || place + 1 == entry.size() ||
        !IsName(entry.substr(0, place))) {
      return Wrong(option, entry,
                   "NAME=FILE with a name of letters, digits, '_', '-', '.'");
    }
    NamedFile file{.name = entry.substr(0, place)};
    RETURN_IF_ERROR(CheckNew(option, entry, file.name, files));
    RETURN_IF_ERROR(ReadFile(
        option, entry, absl::string_view(entry).substr(place + 1), &file));
    files.push_back(std::move(file));
  }
  return files;
}

absl::StatusOr<std::vector<NamedRange>> ParseRanges(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries,
    const std::vector<NamedFile>& rewards) {
  std::vector<NamedRange> ranges;
  for (const std::string& entry : SplitEntries(entries)) {
    const std::vector<absl::string_view> parts = absl::StrSplit(entry, ':');
    NamedRange range;
    if (parts.size() != 3 || !ParseNumber(parts[1], &range.min) ||
        !ParseNumber(parts[2], &range.max) ||
        !(-kMostReward <= range.min && range.min <= 0 && range.max >= 0 &&
          range.max <= kMostReward && range.min < range.max)) {
      return Wrong(option, entry,
                   "NAME:MIN:MAX with numbers -1e9 <= MIN <= 0 <= MAX <= 1e9, "
                   "MIN < MAX");
    }
    range.name = std::string(parts[0]);
    RETURN_IF_ERROR(CheckIsReward(option, entry, range.name, rewards));
    RETURN_IF_ERROR(CheckNew(option, entry, range.name, ranges));
    ranges.push_back(std::move(range));
  }
  return ranges;
}

absl::StatusOr<std::vector<NamedLimit>> ParseLimits(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries,
    const std::vector<NamedFile>& rewards) {
  std::vector<NamedLimit> limits;
  for (const std::string& entry : SplitEntries(entries)) {
    const size_t place = entry.rfind(':');
    NamedLimit limit;
    if (place == std::string::npos ||
        !ParseNumber(absl::string_view(entry).substr(place + 1),
                     &limit.allowed) ||
        !std::isfinite(limit.allowed) || limit.allowed < 0) {
      return Wrong(option, entry, "NAME:ALLOWED with a number of at least 0");
    }
    limit.name = entry.substr(0, place);
    RETURN_IF_ERROR(CheckIsReward(option, entry, limit.name, rewards));
    RETURN_IF_ERROR(CheckNew(option, entry, limit.name, limits));
    limits.push_back(std::move(limit));
  }
  return limits;
}

}  // namespace sortition
