#include "client/control/serving_text.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace sortition {
namespace {

constexpr double kParts = 10'000;

std::string ShareText(uint32_t parts) {
  return absl::StrFormat("%g %%", 100 * parts / kParts);
}

uint32_t PartsOf(const model::v1::SplitArm& arm) {
  uint32_t parts = 0;
  for (const auto& range : arm.ranges()) parts += range.end() - range.begin();
  return parts;
}

}  // namespace

std::string OneLine(absl::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&line, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  return line;
}

std::string InputText(const v1::ModelStatus& status) {
  if (!status.has_schema()) return absl::StrCat(status.num_features());
  return absl::StrCat(status.schema().column_size(), " columns");
}

std::string IgnoredText(
    absl::string_view kind, absl::string_view folder,
    const google::protobuf::RepeatedPtrField<v1::IgnoredEntry>& ignored) {
  std::string text;
  for (const v1::IgnoredEntry& entry : ignored) {
    absl::StrAppend(&text, "not a ", kind, ": ", folder, OneLine(entry.name()),
                    ": ", OneLine(entry.reason()), "\n");
  }
  return text;
}

std::string ServingText(const model::v1::Serving& serving) {
  std::vector<std::string> parts;
  parts.push_back(serving.pinned_version() == 0
                      ? "newest version"
                      : absl::StrCat("pinned to ", serving.pinned_version()));
  for (const auto& arm : serving.split().arms()) {
    parts.push_back(absl::StrCat("version ", arm.version(), " has ",
                                 ShareText(PartsOf(arm))));
  }
  if (serving.has_interleave()) {
    parts.push_back(absl::StrCat(
        "interleaved with ", serving.interleave().version(), " for ",
        ShareText(serving.interleave().parts()), " (",
        model::v1::Interleave::Method_Name(serving.interleave().method()),
        ")"));
  }
  for (const auto& label : serving.labels()) {
    parts.push_back(
        absl::StrCat("label ", label.name(), " is ", label.version()));
  }
  for (const auto& shadow : serving.shadows()) {
    parts.push_back(shadow.every() == 1
                        ? absl::StrCat("shadow ", shadow.version())
                        : absl::StrCat("shadow ", shadow.version(), " of 1 in ",
                                       shadow.every()));
  }
  if (serving.mode() != model::v1::ONLINE) {
    parts.push_back(
        absl::StrCat("mode ", model::v1::LearningMode_Name(serving.mode())));
    if (serving.explore_parts() > 0) {
      absl::StrAppend(&parts.back(), " ", ShareText(serving.explore_parts()));
    }
  }
  if (!serving.protected_versions().empty()) {
    parts.push_back(absl::StrCat(
        "protected ", absl::StrJoin(serving.protected_versions(), ", ")));
  }
  if (!serving.rolled_back_versions().empty()) {
    parts.push_back(
        absl::StrCat("rolled back from ",
                     absl::StrJoin(serving.rolled_back_versions(), ", ")));
  }
  return absl::StrJoin(parts, "; ");
}

std::string ChangeText(const model::v1::Serving& serving) {
  return absl::StrCat(
      "change ", serving.change(), ", ", OneLine(serving.time()), ", ",
      serving.caller().empty() ? "?" : OneLine(serving.caller()), ": ",
      OneLine(serving.reason()));
}

std::string TimeText(int64_t time_us) {
  if (time_us == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixMicros(time_us),
                          absl::UTCTimeZone());
}

absl::StatusOr<uint32_t> ParseShare(absl::string_view text) {
  absl::string_view number = text;
  double percent = 0;
  if (absl::ConsumeSuffix(&number, "%") &&
      absl::SimpleAtod(absl::StripAsciiWhitespace(number), &percent)) {
    const double parts = percent * kParts / 100;
    if (parts > 0.5 && parts < kParts + 0.5 &&
        std::abs(parts - std::round(parts)) < 1e-6) {
      return static_cast<uint32_t>(std::round(parts));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "share is '", text,
      "', must be a multiple of 0.01% in [0.01%, 100%], such as 1%"));
}

}  // namespace sortition
