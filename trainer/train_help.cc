#include "trainer/train_help.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/learners/learners.h"
#include "process/command.h"
#include "process/options/options_help.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/command_help.h"
#include "trainer/labelled/learner_choice.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

constexpr char kAll[] = "all";

constexpr char kUsage[] =
    "usage: sortition-trainer train [--config=FILE] [--FLAG=VALUE …]\n\n";

constexpr char kShort[] =
    R"(Learns a better policy from logs or from labels, and publishes it as the next
version of the model if the gate lets it.

  sortition-trainer train --tuples=DIR --model_store=DIR
  sortition-trainer train --learner=ranksvm --data=FILE --model_store=DIR

)";

constexpr char kMore[] = R"(
  sortition-trainer train --help=LEARNER    what this learner uses, poem at first
  sortition-trainer train --help=all        everything

Exit status: 0 published (or would be, with --dry_run), 1 error, 2 called
wrongly, 3 the log has enough data and nothing better was found, 4 not enough
data yet (train again later), or a rollout is under way.
)";

// What a first call of train needs.
constexpr const char* kCommon[] = {
    "tuples", "data",     "model_store", "model",      "learner",
    "action", "features", "since",       "confidence", "clamp_rewards",
    "force",  "dry_run",  "report",      "threads"};

// What the arguments ask about.
struct HelpRequest {
  bool help = false;
  std::string topic;    // Of --help=.
  std::string learner;  // Of --learner.
};

HelpRequest ReadRequest(const std::vector<std::string>& arguments) {
  HelpRequest request;
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    absl::string_view argument = arguments[i];
    if (argument == "-h" || argument == "--help") {
      request.help = true;
    } else if (absl::ConsumePrefix(&argument, "--help=")) {
      request.help = true;
      request.topic = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "--learner=")) {
      request.learner = std::string(argument);
    } else if (argument == "--learner" && i + 1 < arguments.size()) {
      request.learner = arguments[i + 1];
    }
  }
  return request;
}

std::string ShortHelp() {
  const auto is_common = [](const internal::OptionField& option) {
    return std::find(std::begin(kCommon), std::end(kCommon), option.name) !=
           std::end(kCommon);
  };
  return absl::StrCat(kUsage, kShort, LearnerTable(LearnersListed::kOfTrain),
                      "\nCommon options:\n",
                      OptionEntries(TrainOptions::descriptor(), is_common),
                      "\n", kCheckConfigHelp, kMore);
}

std::string FullHelp() {
  return absl::StrCat(kUsage, TrainHelp(), "\n",
                      OptionsHelp(TrainOptions::descriptor()), "\n",
                      kCheckConfigHelp);
}

std::string LearnerHelp(const LearnerInfo& learner) {
  const auto* descriptor = TrainOptions::descriptor();
  const auto is_own = [&](const internal::OptionField& option) {
    return option.path.front()->number() == learner.options;
  };
  const auto is_shared = [&](const internal::OptionField& option) {
    return !is_own(option) && LearnerUses(learner, *option.path.front());
  };
  return absl::StrCat(kUsage, "Learner ", learner.name, ", from ", learner.data,
                      ": ", learner.help, ".\n",
                      OptionEntries(descriptor, is_own),
                      "\nOptions that other learners have, too:\n",
                      OptionEntries(descriptor, is_shared),
                      OptionsHelpEnd(descriptor), "\n", kCheckConfigHelp);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> TrainHelpFor(
    const std::vector<std::string>& arguments) {
  const HelpRequest request = ReadRequest(arguments);
  if (!request.help) return std::nullopt;
  const std::string& topic =
      request.topic.empty() ? request.learner : request.topic;
  if (topic.empty()) return ShortHelp();
  if (topic == kAll) return FullHelp();
  std::vector<absl::string_view> topics;
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.options == TrainOptions::LEARNER_OPTIONS_NOT_SET) continue;
    if (learner.name == topic) return LearnerHelp(learner);
    topics.push_back(learner.name);
  }
  topics.push_back(kAll);
  return UsageError(absl::StrCat(request.topic.empty() ? "--learner" : "--help",
                                 " is '", topic, "', must be one of ",
                                 absl::StrJoin(topics, ", ")));
}

}  // namespace sortition
