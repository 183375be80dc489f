#include "client/upkeep/source_join.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {
namespace {

// Takes errors without printing them.
class NoErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

// Returns the options of the join with all defaults written out, or the whole
// text if no sidecar wrote it.
std::string JoinText(const std::string& options_text) {
  NoErrors errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);
  config::v1::SidecarOptions options;
  if (!parser.ParseFromString(options_text, &options) ||
      !options.has_tuples()) {
    return options_text;
  }
  const config::v1::JoinOptions& join = options.join();
  return absl::StrCat(
      "reward_wait_time_seconds: ", join.reward_wait_time_seconds(),
      " aggregation: ",
      config::v1::JoinOptions::Aggregation_Name(join.aggregation()),
      " default_reward: ", join.default_reward(),
      " only_if_shown: ", join.only_if_shown() ? "true" : "false",
      " reward_min: ", join.reward_min(), " reward_max: ", join.reward_max());
}

}  // namespace

absl::Status SourceJoin::Take(const std::string& path,
                              const std::string& options_text) {
  const std::string join = JoinText(options_text);
  if (!join_.has_value()) {
    join_ = join;
    path_ = path;
  }
  if (join != *join_) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " and ", path, " were joined in different ways (",
                     *join_, "; ", join, "): compact them one by one"));
  }
  options_text_ = options_text;
  return absl::OkStatus();
}

}  // namespace sortition
