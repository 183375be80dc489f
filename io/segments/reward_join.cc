#include "io/segments/reward_join.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {
namespace {

// Options of other programs are no error here.
class Silent : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
  void AddWarning(int, int, const std::string&) override {}
};

// Returns the options of a sidecar; nullopt if the text is of another program.
std::optional<config::v1::SidecarOptions> SidecarOptionsOf(
    const std::string& options_text) {
  // A newer sidecar has options that this program does not know.
  google::protobuf::TextFormat::Parser parser;
  Silent silent;
  parser.RecordErrorsTo(&silent);
  parser.AllowUnknownField(true);
  config::v1::SidecarOptions options;
  if (!parser.ParseFromString(options_text, &options)) return std::nullopt;
  if (!options.has_tuples()) return std::nullopt;
  return options;
}

}  // namespace

std::string RewardJoinText(const std::string& options_text) {
  const auto options = SidecarOptionsOf(options_text);
  if (!options.has_value()) return "";
  const config::v1::JoinOptions& join = options->join();
  std::string text = absl::StrFormat(
      "%s of %.15g s, default %.15g",
      config::v1::JoinOptions::Aggregation_Name(join.aggregation()),
      join.reward_wait_time_seconds(), join.default_reward());
  if (join.repeats() == config::v1::JoinOptions::ONCE_PER_RANK) {
    text += ", the last feedback of each rank";
  }
  if (join.only_if_shown()) text += ", only if shown";
  const config::v1::JoinOptions defaults;
  if (join.reward_min() != defaults.reward_min() ||
      join.reward_max() != defaults.reward_max()) {
    absl::StrAppendFormat(&text, ", rewards in [%.15g, %.15g]",
                          join.reward_min(), join.reward_max());
  }
  return text;
}

std::string RewardJoinText(const log::v1::SegmentHeader& header) {
  return header.kind() == log::v1::SegmentHeader::TUPLES
             ? RewardJoinText(header.options())
             : "";
}

double RewardWaitSeconds(const log::v1::SegmentHeader& header) {
  if (header.kind() != log::v1::SegmentHeader::TUPLES) return 0;
  const auto options = SidecarOptionsOf(header.options());
  return options.has_value() ? options->join().reward_wait_time_seconds() : 0;
}

}  // namespace sortition
