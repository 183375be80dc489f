#include "trainer/labelled/learner_choice.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using google::protobuf::FieldDescriptor;

// The learner whose policies are games.
constexpr char kMpg[] = "mpg";

// Options that apply to one kind of data only.
constexpr const char* kOfTuples[] = {
    "tuples",  "reward_min", "reward_max", "clamp_rewards", "versions",
    "scratch", "scratch_mb", "overrides",  "since",         "until",
    "decay",   "parts",      "baseline",   "rewards",       "guardrails",
    "ranks",   "look_now",   "look_growth"};
constexpr const char* kOfLabels[] = {"data",
                                     "validation",
                                     "test",
                                     "label_files",
                                     "groups",
                                     "validation_groups",
                                     "test_groups",
                                     "check_scores",
                                     "game_policy",
                                     "rank_policy",
                                     "inverse_temperature",
                                     "trusted_order"};
// Options that apply to one kind of policy only.
constexpr const char* kOfGames[] = {"game_policy"};
constexpr const char* kOfScores[] = {"rank_policy", "inverse_temperature"};

// More that only learning from tuples reads; set elsewhere, they do nothing.
constexpr const char* kReadOfTuples[] = {"mix_joins",    "allow_incomplete",
                                         "hidden_units", "prior_version",
                                         "rollout",      "plan"};

// Learners that can be pulled towards a trusted order.
constexpr const char* kTrusting[] = {"ranksvm", "hinge", "listnet",
                                     "regression"};

template <size_t n>
bool Contains(const char* const (&names)[n], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::vector<LearnerInfo> LearnersOfTrain() {
  std::vector<LearnerInfo> learners = ListLearners();
  std::erase_if(learners, [](const LearnerInfo& learner) {
    return learner.options == TrainOptions::LEARNER_OPTIONS_NOT_SET;
  });
  return learners;
}

// Returns the field of the learner's options. A case of a oneof is its field's
// number.
const FieldDescriptor* FieldOf(TrainOptions::LearnerOptionsCase group) {
  const FieldDescriptor* field =
      TrainOptions::descriptor()->FindFieldByNumber(group);
  CHECK(field != nullptr);
  return field;
}

absl::Status CheckGroup(const TrainOptions& options,
                        const LearnerInfo& learner) {
  const auto group = options.learner_options_case();
  if (group == TrainOptions::LEARNER_OPTIONS_NOT_SET ||
      group == learner.options) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "options of ", FieldOf(group)->name(),
      " are set, must be unset for learner ", learner.name,
      ", whose options are in ", FieldOf(learner.options)->name()));
}

absl::Status CheckMeaning(const TrainOptions& options,
                          const LearnerInfo& learner) {
  const bool labelled = learner.make_labelled != nullptr;
  const bool game = learner.name == kMpg;
  std::vector<const FieldDescriptor*> set;
  options.GetReflection()->ListFields(options, &set);
  for (const FieldDescriptor* field : set) {
    const std::string& name = field->name();
    if (labelled ? Contains(kOfTuples, name) : Contains(kOfLabels, name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is set, must be unset for learner ",
                       learner.name, ", which learns from ", learner.data));
    }
    if (labelled &&
        (game ? Contains(kOfScores, name) : Contains(kOfGames, name))) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is set, must be unset for learner ", learner.name, ": ",
          game ? "training calibrates the scores of games"
               : "it is for games, which mpg learns"));
    }
  }
  return CheckGroup(options, learner);
}

absl::Status CheckData(const TrainOptions& options,
                       const LearnerInfo& learner) {
  if (learner.make_labelled == nullptr) {
    if (!options.tuples().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "tuples is unset, must be a directory of tuple segments for learner ",
        learner.name));
  }
  if (options.data_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data is unset, must name a file of labelled queries for learner ",
        learner.name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LearnerInfo> ChooseLearner(const TrainOptions& options) {
  std::vector<absl::string_view> names;
  for (const LearnerInfo& learner : LearnersOfTrain()) {
    if (learner.name == options.learner()) {
      RETURN_IF_ERROR(CheckMeaning(options, learner));
      RETURN_IF_ERROR(CheckData(options, learner));
      return learner;
    }
    names.push_back(learner.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("learner is '", options.learner(), "', must be one of ",
                   absl::StrJoin(names, ", ")));
}

bool LearnerUses(const LearnerInfo& learner, const FieldDescriptor& option) {
  if (option.real_containing_oneof() != nullptr) {
    return option.number() == learner.options;
  }
  const std::string& name = option.name();
  if (learner.make_labelled == nullptr) return !Contains(kOfLabels, name);
  if (Contains(kOfTuples, name) || Contains(kReadOfTuples, name)) return false;
  if (name == "trusted_order") {
    return Contains(kTrusting, std::string(learner.name));
  }
  return learner.name == kMpg ? !Contains(kOfScores, name)
                              : !Contains(kOfGames, name);
}

void SetOwnOptions(const LearnerInfo& learner,
                   const google::protobuf::Message& own,
                   TrainOptions* options) {
  options->GetReflection()
      ->MutableMessage(options, FieldOf(learner.options))
      ->CopyFrom(own);
}

}  // namespace sortition
