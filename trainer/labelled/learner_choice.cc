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

// The one that learns from tuples, and the one that plays what it learns.
constexpr char kPoem[] = "poem";
constexpr char kMpg[] = "mpg";

// Options that are about one kind of data.
constexpr const char* kOfTuples[] = {"tuples",    "reward_min", "reward_max",
                                     "memory_mb", "versions",   "scratch",
                                     "scratch_mb"};
constexpr const char* kOfLabels[] = {
    "data",        "validation",          "test",         "game_policy",
    "rank_policy", "inverse_temperature", "trusted_order"};
// Of those, about one kind of policy.
constexpr const char* kOfGames[] = {"game_policy"};
constexpr const char* kOfScores[] = {"rank_policy", "inverse_temperature"};

template <size_t n>
bool Contains(const char* const (&names)[n], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::vector<LearnerInfo> LearnersOfTrain() {
  std::vector<LearnerInfo> learners = ListLearners();
  std::erase_if(learners, [](const LearnerInfo& learner) {
    return learner.make_labelled == nullptr && learner.name != kPoem;
  });
  return learners;
}

const FieldDescriptor* FieldOf(const LearnerInfo& learner) {
  const auto* descriptor = TrainOptions::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
        absl::string_view(field->message_type()->name()) == learner.options) {
      return field;
    }
  }
  CHECK(false);
  return nullptr;
}

// Whether `field` is the options of a learner that is not `learner`.
bool IsOfAnother(const FieldDescriptor* field, const LearnerInfo& learner,
                 const std::vector<LearnerInfo>& learners) {
  return field != FieldOf(learner) &&
         std::any_of(learners.begin(), learners.end(),
                     [field](const LearnerInfo& other) {
                       return field == FieldOf(other);
                     });
}

absl::Status CheckMeaning(const TrainOptions& options,
                          const LearnerInfo& learner) {
  const bool labelled = learner.make_labelled != nullptr;
  const std::vector<LearnerInfo> learners = LearnersOfTrain();
  std::vector<const FieldDescriptor*> set;
  options.GetReflection()->ListFields(options, &set);
  for (const FieldDescriptor* field : set) {
    const std::string& name = field->name();
    if (labelled ? Contains(kOfTuples, name) : Contains(kOfLabels, name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is set, must be unset for learner ",
                       learner.name, ", which learns from ", learner.data));
    }
    const bool game = learner.name == kMpg;
    if (labelled &&
        (game ? Contains(kOfScores, name) : Contains(kOfGames, name))) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is set, must be unset for learner ", learner.name, ": it is ",
          game ? "not of games, whose scores training calibrates"
               : "of games, which mpg learns"));
    }
    if (IsOfAnother(field, learner, learners)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "options of ", name, " are set, must be unset for learner ",
          learner.name, ", whose options are in ", FieldOf(learner)->name()));
    }
  }
  return absl::OkStatus();
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

const google::protobuf::Message& OwnOptions(const LearnerInfo& learner,
                                            const TrainOptions& options) {
  return options.GetReflection()->GetMessage(options, FieldOf(learner));
}

void SetOwnOptions(const LearnerInfo& learner,
                   const google::protobuf::Message& own,
                   TrainOptions* options) {
  options->GetReflection()
      ->MutableMessage(options, FieldOf(learner))
      ->CopyFrom(own);
}

}  // namespace sortition
